"""Reads how long users of a closed loop stay before others take their places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...problem import Problem, rule

if TYPE_CHECKING:
    from ...problem import Reason
    from .hooks import Hook
    from .settings import Settings

UNIFORM = "between"
"""Name of a uniform distribution of lengths in a plan."""


def session_of(settings: Settings, users: int | None) -> dict[str, Any] | None:
    """Read the length of the sessions; None when users stay for the whole run.

    Without ``users`` arrivals are due on schedule: sessions are refused.
    """
    place, flag = settings.place("session"), settings.overrides.session
    value = settings.value("session")
    if value is None:
        return None
    if users is None:
        what = "is for users= without a rate: arrivals on schedule have no sessions"
        if flag is not None:
            what = "is for a closed loop: arrivals of a rate have no sessions; add --users"
        settings.problems.append(rule(place, what, value))
        return None
    if flag is not None:
        return settings.flagged_times("session", flag, UNIFORM)
    return settings.times("session", value, UNIFORM)


def prepared_once(settings: Settings, start: Hook, why: Reason | None) -> Problem:
    """Return the problem that the submitter prepares the users, before the run alone."""
    place = start.place if why is None else why.place
    what = (
        f"is run by this command ({place}), once for each user of the run, and users of "
        "sessions come during the run"
    )
    advice = 'set prepare="agents"' if why is None else "set nothing that all users share in it"
    return Problem(
        settings.place("session"), f"cannot be used here: {start.name}() {what}; {advice}"
    )
