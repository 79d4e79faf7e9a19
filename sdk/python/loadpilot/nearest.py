"""The known name that an unknown one was meant to be, if one is near enough to suggest it.

Must never suggest what only looks alike: a wrong suggestion is worse than the list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LETTERS_PER_EDIT = 4
"""One slip is allowed for so many letters of the longer name; one at least."""
PREFIX_CHARS_MIN = 3
"""A beginning of this length suggests the one name that begins so."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Find the nearest of the known names; None when all are far from it."""
    known = list(known)
    written = name.strip("-")
    found = [(edit_distance(written, one.strip("-")), one) for one in known]
    near = [
        (distance, one)
        for distance, one in found
        if distance <= max(1, max(len(written), len(one.strip("-"))) // LETTERS_PER_EDIT)
        and distance < min(len(written), len(one.strip("-")))
    ]
    if near:
        return min(near, key=lambda pair: pair[0])[1]
    begun = [one for one in known if one.strip("-").startswith(written)]
    return begun[0] if len(written) >= PREFIX_CHARS_MIN and len(begun) == 1 else None


def edit_distance(one: str, other: str) -> int:
    """Count letters added, left out, replaced or swapped with the next (Damerau's distance)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        last, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                best = min(best, last[j - 2] + 1)
            row.append(best)
    return row[-1]
