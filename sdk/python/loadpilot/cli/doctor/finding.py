"""The result of a check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """Whether runs work."""

    OK = "ok"
    WARNING = "warning"
    """Runs work, with a limit."""
    PROBLEM = "problem"
    """Runs do not work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    check: str
    state: State
    what: str
    """The fact, in one line; without secrets."""
    mend: str | None = None
    """The command or change that mends it."""


def ok(check: str, what: str) -> Finding:
    """Build the result of a check that found nothing wrong."""
    return Finding(check, State.OK, what)


def warning(check: str, what: str, mend: str) -> Finding:
    """Build the result of a check that found a limit."""
    return Finding(check, State.WARNING, what, mend)


def problem(check: str, what: str, mend: str) -> Finding:
    """Build the result of a check that found a problem that keeps runs from working."""
    return Finding(check, State.PROBLEM, what, mend)
