"""Suggestion for an unknown name: the nearest known one, if it is near enough.

The limits are strict because a wrong suggestion is worse than the list of known names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LETTERS_PER_EDIT = 4
"""Number of letters of the longer name for which one edit is allowed; at least one edit is."""
PREFIX_CHARS_MIN = 3
"""Minimum length of a prefix that suggests the only name with that prefix."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the nearest of the known names; None when none is near enough."""
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
    """Return the Damerau-Levenshtein distance (optimal string alignment) of two names."""
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
