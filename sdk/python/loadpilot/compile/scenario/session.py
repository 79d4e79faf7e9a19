"""Reads how long users of a closed loop stay before others take their places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...inputs.distribution import EXAMPLES, FLAG_EXAMPLES, Distribution, of_flag
from ...inputs.units import Wrong
from ...problem import Problem, rule

if TYPE_CHECKING:
    from ...problem import Reason
    from .hooks import Hook
    from .settings import Settings

FOREVER = "0"
"""Value of ``--session`` with which users stay for the whole run."""


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
    return _length(settings, place, value) if flag is None else _flagged(settings, place, flag)


def _flagged(settings: Settings, place: str, text: str) -> dict[str, Any] | None:
    """Read ``--session``, which replaces the scenario's length."""
    if text.strip()[:1].isalpha():
        try:
            return _length(settings, place, of_flag(place, text))
        except Wrong as wrong:
            settings.problems.append(wrong.problem)
            return None
    least, comma, most = text.partition(",")
    if comma:
        return _length(settings, place, (least.strip(), most.strip()))
    return None if text.strip() == FOREVER else _length(settings, place, text)


def _length(settings: Settings, place: str, value: object) -> dict[str, Any] | None:
    """Read a length: a duration, the shortest and the longest, or a distribution."""
    match value:
        case Distribution():
            examples = EXAMPLES if settings.overrides.session is None else FLAG_EXAMPLES
            try:
                return value.in_plan(place, examples)
            except Wrong as wrong:
                settings.problems.append(wrong.problem)
                return None
        case (least, most):
            from_us = settings.duration_of(place, least)
            to_us = settings.duration_of(place, most)
        case _:
            from_us = to_us = settings.duration_of(place, value, least_us=1)
    return {"between": {"from_us": from_us, "to_us": to_us}}


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
