"""What is wrong with a scenario, in words that name the place, the rule and the way out.

Must never quote the value of a secret header: a problem is printed and may end up in a CI log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

VALUE_CHARS_MAX = 120
"""Longest value that a problem quotes, in characters: as the native checker shortens."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One mistake."""

    place: str
    """A file and line, a field, or a flag."""
    what: str
    """What was found and why it cannot be, as a sentence."""

    def __str__(self) -> str:
        return f"{self.place}: {self.what}"


class Reason(Problem):
    """No mistake, but a reason why a scenario has to run in Python."""


class Refused(Exception):
    """Everything that is wrong, at once; nothing was started."""

    def __init__(self, problems: list[Problem]) -> None:
        """Take at least one problem."""
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


def rule(place: str, must: str, value: Any) -> Problem:
    """Build the problem of a value that breaks a rule; the value is quoted, shortened."""
    return Problem(place, f"{must} (got {shown(value)})")


def shown(value: Any) -> str:
    """Quote a value for people, shortened; the quotes follow repr so that types show."""
    text = repr(value)
    return text if len(text) <= VALUE_CHARS_MAX else text[:VALUE_CHARS_MAX] + "…"


def without(said: dict[str, str | None], what: str) -> list[Problem]:
    """Name the flags that were given although they mean nothing here; ``what`` says why."""
    return [Problem(place, what) for place, value in said.items() if value is not None]
