"""Result of steering a run, as text and exit code: the same for command line and gateway.

Must never claim that something was done without a decision.
"""

from __future__ import annotations

import json
from typing import Any

from .. import _native
from ..problem import Problem, Refused, rule
from .exit_code import ExitCode
from .figures import number
from .protocols import ANSWER_TIMEOUT_SECS

RATE_MAX_URPS = 10_000_000_000_000
"""Maximum rate, in millionths of an arrival per second."""
IDEMPOTENT = frozenset({"already_paused", "not_paused"})
"""Refusals for a run that is already in the requested state."""


def rate_urps(place: str, text: str) -> int:
    """Read a rate, in millionths of an arrival per second; raises Refused."""
    try:
        urps = _native.parse_rate_urps(place, text)
    except ValueError as error:
        raise Refused([Problem("", str(error))]) from None
    if not 0 < urps <= RATE_MAX_URPS:
        must = "must be above 0 and at most 10,000,000/s; to offer nothing, pause it"
        raise Refused([rule(place, must, text)])
    return urps


def stop_halted(session: _native.Session, run: str, by: str) -> dict[str, Any]:
    """Stop a run whose kill switch was thrown, and store its author; raises Refused, Fault.

    The kill switch is not an event. `steer` does not ask a stopping run to stop again, so that
    request is stored here, for its author.
    """
    author = f"{by} (halt)"
    answer: dict[str, Any] = json.loads(session.steer(run, "stop", author, ANSWER_TIMEOUT_SECS))
    if answer["answer"] == "stopping" and author not in answer["because"]:
        session.stop(run, author)
    return answer


def describe(answer: dict[str, Any], action: str) -> tuple[str, ExitCode]:
    """Write the result of an action, with its exit code."""
    match answer:
        case {"answer": "rate_changed", "was_rps": was, "rps": rps, "from_secs": begin, **rest}:
            soon = f", in {number(round(rest['in_secs'], 1))} s" if rest["in_secs"] > 0 else ""
            text = f"rate {number(was)} -> {number(rps)}/s from second {number(begin)} on{soon}"
        case {"answer": "paused", "at_secs": at}:
            text = f"paused at second {_at(at)}: nothing is started, its time goes on"
        case {"answer": "resumed", "at_secs": at}:
            text = f"resumed at second {_at(at)}: what was due meanwhile stays dropped"
        case {"answer": "stopping", "at_secs": at, "because": because} if action == "stop":
            since = f" after second {_at(at)}" if at is not None else ""
            text = f"stops: nothing is started{since} ({because}); what is in flight ends"
        case {"answer": "refused", "why": why, "words": text} if why in IDEMPOTENT:
            text = f"{text}; nothing was changed"
        case _:
            return _refused(answer, action)
    return text, ExitCode.PASSED


def _refused(answer: dict[str, Any], action: str) -> tuple[str, ExitCode]:
    code = ExitCode.USAGE
    match answer:
        case {"answer": "refused", "words": str(text)}:
            pass
        case {"answer": "stopping", "because": because}:
            text = f"it stops already ({because}); there is nothing to {action}"
        case {"answer": "not_started", "state": state}:
            text = f"it has not started yet ({state}); ask again when it runs"
        case {"answer": "over", "ending": ending}:
            text = f"it is over ({str(ending or 'refused').replace('_', ' ')})"
        case {"answer": "silent", "no_agent": True}:
            text = "no agent of it is left, or no coordinator answered within "
            text += f"{ANSWER_TIMEOUT_SECS:.0f} s"
            text += "; the request stands in its log and holds when both are back"
            code = ExitCode.INFRASTRUCTURE
        case _:
            text = f"no coordinator answered within {ANSWER_TIMEOUT_SECS:.0f} s"
            text += "; the request stands in its log and holds when one is back"
            code = ExitCode.INFRASTRUCTURE
    return text, code


def _at(secs: float) -> str:
    return number(round(secs, 1))
