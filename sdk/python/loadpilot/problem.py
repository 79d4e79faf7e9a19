"""Mistakes in a scenario or a flag: place, rule and fix, and the name nearest to a typo.

Callers must never quote the value of a secret header: a problem is printed and may end up in a CI
log.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

VALUE_CHARS_MAX = 120
"""Maximum length of a quoted value, in characters; the native checker has the same limit."""
LETTERS_PER_EDIT = 4
"""Number of letters of the longer name for which one edit is allowed; at least one edit is."""
PREFIX_CHARS_MIN = 3
"""Minimum length of a prefix that suggests the only name with that prefix."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One mistake."""

    place: str
    """A file and line, a field, or a flag."""
    what: str
    """The value, the rule that it breaks and the fix, as a sentence."""

    def __str__(self) -> str:
        return f"{self.place}: {self.what}"


class Reason(Problem):
    """Not a mistake, but a reason why a scenario has to run in Python."""


class Refused(Exception):
    """All problems found, at least one; nothing was started."""

    def __init__(self, problems: list[Problem]) -> None:
        """Take the problems."""
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


def rule(place: str, must: str, value: Any) -> Problem:
    """Build the problem of a value that breaks a rule; the value is quoted and shortened."""
    return Problem(place, f"{must} (got {shown(value)})")


def one_of(place: str, choices: Iterable[str], value: Any) -> Problem:
    """Build the problem of a value that is none of a closed set; it names the nearest one."""
    known = list(choices)
    near = nearest(value, known) if isinstance(value, str) else None
    hint = f"; did you mean {near}?" if near is not None else ""
    return rule(place, f"must be one of {', '.join(known)}{hint}", value)


def shown(value: Any) -> str:
    """Quote a value as ``repr`` does, so that its type shows; shortened."""
    text = repr(value)
    return text if len(text) <= VALUE_CHARS_MAX else text[:VALUE_CHARS_MAX] + "…"


def without_user(text: str) -> str:
    """Hide user and password of a URL; a password may hold any character."""
    return re.sub(r"^([^/@]*//)?.*@", r"\1…@", text, flags=re.DOTALL)


def without(flags: dict[str, str | None], what: str) -> list[Problem]:
    """List a problem for each flag that is set although it has no effect here; ``what`` is why."""
    return [Problem(place, what) for place, value in flags.items() if value is not None]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the nearest of the known names; None when none is near enough.

    The limits are strict because a wrong suggestion is worse than the list of known names.
    """
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
