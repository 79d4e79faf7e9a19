"""``loadpilot stop``, ``rate``, ``pause`` and ``halt``: act on a run that runs.

Each is a request in the log with its author; what is printed is what a coordinator decided. Must
never say that something was done which no decision says.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from .. import _native
from ..compile.problem import Problem, Refused, rule
from .author import author
from .exit_code import ExitCode
from .figures import number
from .history import find, fleet_of, opened, reporting
from .terminal import safe, say, write_product

if TYPE_CHECKING:
    from .fleet import ServerFlags
    from .history import Past
    from .signals import Interruptions

PATIENCE_SECS = 15.0
"""How long a decision is waited for: longer than another coordinator takes to step in."""
RATE_MAX_URPS = 10_000_000_000_000
"""Highest rate, in millionths of an arrival per second."""
IDEMPOTENT = frozenset({"already_paused", "not_paused"})
"""Refusals that say that the run is as it was wanted."""


def stop(name: str, server: ServerFlags) -> ExitCode:
    """Let a run start nothing more."""
    return _steer(name, "stop", server)


def pause(name: str, server: ServerFlags) -> ExitCode:
    """Let a run start nothing for now."""
    return _steer(name, "pause", server)


def rate(name: str, text: str, server: ServerFlags) -> ExitCode:
    """Change the rate of a run from now on."""
    return _steer(name, "rate", server, text)


def _urps(text: str) -> int:
    """Read a rate, in millionths of an arrival per second; raises Refused."""
    try:
        urps = _native.parse_rate_urps("RATE", text)
    except ValueError as error:
        raise Refused([Problem("", str(error))]) from None
    if not 0 < urps <= RATE_MAX_URPS:
        must = "must be above 0 and at most 10,000,000/s; to offer nothing: loadpilot pause"
        raise Refused([rule("RATE", must, text)])
    return urps


def halt(name: str, server: ServerFlags, *, yes: bool) -> ExitCode:
    """Throw the kill switch of a run."""
    with reporting() as (interruptions, outcome):
        place = fleet_of(server)
        one = find(name, interruptions, place)
        if one.is_over:
            outcome.append(say_told(one, {"answer": "over", "ending": one.facts["ending"]}, "halt"))
        elif not yes and not _confirmed(one):
            say("nothing was done")
            outcome.append(ExitCode.USAGE)
        else:
            with opened(one.log, interruptions) as session:
                session.halt(one.run)
                say("the kill switch is thrown; agents obey it without a coordinator")
                answer = json.loads(session.steer(one.run, "stop", author(), PATIENCE_SECS))
            outcome.append(say_told(one, answer, "stop"))
    return outcome[-1]


def _steer(name: str, wish: str, server: ServerFlags, rate: str | None = None) -> ExitCode:
    with reporting() as (interruptions, outcome):
        urps = None if rate is None else _urps(rate)
        place = fleet_of(server)
        one = find(name, interruptions, place)
        answer = asked(one, wish, interruptions, urps)
        outcome.append(say_told(one, answer, wish))
    return outcome[-1]


def asked(
    one: Past, wish: str, interruptions: Interruptions, urps: int | None = None
) -> dict[str, Any]:
    """Ask for something in the user's name, and wait for what is decided."""
    with opened(one.log, interruptions) as session:
        answer: dict[str, Any] = json.loads(
            session.steer(one.run, wish, author(), PATIENCE_SECS, urps)
        )
    return answer


def say_told(one: Past, answer: dict[str, Any], wish: str) -> ExitCode:
    """Print what became of a wish, and choose the code."""
    words, code = told(answer, wish)
    line = f"run {safe(one.run)}: {safe(words)}"
    if code is ExitCode.PASSED:
        write_product(f"{line}\n")
    else:
        say(f"error: {line}")
    return code


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
            words = (
                f"no agent of it is left, or no coordinator answered within {PATIENCE_SECS:.0f} s"
            )
            words += "; the request stands in its log and holds when both are back"
            code = ExitCode.INFRASTRUCTURE
        case _:
            words = f"no coordinator answered within {PATIENCE_SECS:.0f} s"
            words += "; the request stands in its log and holds when one is back"
            code = ExitCode.INFRASTRUCTURE
    return words, code


def _at(secs: float) -> str:
    return number(round(secs, 1))


def _confirmed(one: Past) -> bool:
    """Ask whether to cut a run off; no without a terminal to ask."""
    facts = one.facts
    what = f"run {safe(one.run)} of {safe(facts['scenario'])} against {safe(facts['target'])}"
    if not sys.stdin.isatty():
        say(f"error: {what}: halting cuts off what is in flight; say so with --yes")
        return False
    say(f"halt {what}: every agent cuts off what is in flight. Sure? [y/N] ")
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
