"""Mistakes in a scenario or a flag, with their place, the rule and the fix.

Callers must never quote the value of a secret header: a problem is printed and may end up in a CI
log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

VALUE_CHARS_MAX = 120
"""Maximum length of a quoted value, in characters; the native checker has the same limit."""


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


def shown(value: Any) -> str:
    """Quote a value as ``repr`` does, so that its type shows; shortened."""
    text = repr(value)
    return text if len(text) <= VALUE_CHARS_MAX else text[:VALUE_CHARS_MAX] + "…"


def without(flags: dict[str, str | None], what: str) -> list[Problem]:
    """List a problem for each flag that is set although it has no effect here; ``what`` is why."""
    return [Problem(place, what) for place, value in flags.items() if value is not None]
