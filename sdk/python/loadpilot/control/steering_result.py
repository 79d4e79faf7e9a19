"""What became of a wish to steer a run, in words and as a code: the same wherever it was said.

Must never say that something was done which no decision says.
"""

from __future__ import annotations

import json
from typing import Any

from .. import _native
from ..problem import Problem, Refused, rule
from .exit_code import ExitCode
from .figures import number
from .timeouts import ANSWER_TIMEOUT_SECS

RATE_MAX_URPS = 10_000_000_000_000
"""Highest rate, in millionths of an arrival per second."""
IDEMPOTENT = frozenset({"already_paused", "not_paused"})
"""Refusals that say that the run is as it was wanted."""


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

    The kill switch is no event. A run that stops already is not asked to stop again by `steer`:
    that request is stored here, for its author.
    """
    author = f"{by} (halt)"
    answer: dict[str, Any] = json.loads(session.steer(run, "stop", author, ANSWER_TIMEOUT_SECS))
    if answer["answer"] == "stopping" and author not in answer["because"]:
        session.stop(run, author)
    return answer


def told(answer: dict[str, Any], wish: str) -> tuple[str, ExitCode]:
    """Put what became of a wish into words."""
    match answer:
        case {"answer": "rate_changed", "was_rps": was, "rps": rps, "from_secs": begin, **rest}:
            soon = f", in {number(round(rest['in_secs'], 1))} s" if rest["in_secs"] > 0 else ""
            words = f"rate {number(was)} -> {number(rps)}/s from second {number(begin)} on{soon}"
        case {"answer": "paused", "at_secs": at}:
            words = f"paused at second {_at(at)}: nothing is started, its time goes on"
        case {"answer": "resumed", "at_secs": at}:
            words = f"resumed at second {_at(at)}: what was due meanwhile stays dropped"
        case {"answer": "stopping", "at_secs": at, "because": because} if wish == "stop":
            since = f" after second {_at(at)}" if at is not None else ""
            words = f"stops: nothing is started{since} ({because}); what is in flight ends"
        case {"answer": "refused", "why": why, "words": words} if why in IDEMPOTENT:
            words = f"{words}; nothing was changed"
        case _:
            return _refused(answer, wish)
    return words, ExitCode.PASSED


def _refused(answer: dict[str, Any], wish: str) -> tuple[str, ExitCode]:
    code = ExitCode.USAGE
    match answer:
        case {"answer": "refused", "words": str(words)}:
            pass
        case {"answer": "stopping", "because": because}:
            words = f"it stops already ({because}); there is nothing to {wish}"
        case {"answer": "not_started", "state": state}:
            words = f"it has not started yet ({state}); ask again when it runs"
        case {"answer": "over", "ending": ending}:
            words = f"it is over ({str(ending or 'refused').replace('_', ' ')})"
        case {"answer": "silent", "no_agent": True}:
            words = "no agent of it is left, or no coordinator answered within "
            words += f"{ANSWER_TIMEOUT_SECS:.0f} s"
            words += "; the request stands in its log and holds when both are back"
            code = ExitCode.INFRASTRUCTURE
        case _:
            words = f"no coordinator answered within {ANSWER_TIMEOUT_SECS:.0f} s"
            words += "; the request stands in its log and holds when one is back"
            code = ExitCode.INFRASTRUCTURE
    return words, code


def _at(secs: float) -> str:
    return number(round(secs, 1))
