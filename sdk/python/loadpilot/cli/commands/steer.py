"""``loadpilot stop``, ``rate``, ``pause`` and ``halt``: act on a run that runs.

Each is a request in the log with its author; what is printed is what a coordinator decided. Must
never say that something was done which no decision says.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from ...control.exit_code import ExitCode
from ...control.identity import author
from ...control.steering_result import rate_urps, stop_halted, told
from ...control.terminal import safe, say, write_product
from ...control.timeouts import ANSWER_TIMEOUT_SECS
from .history import find, fleet_of, opened, reporting

if TYPE_CHECKING:
    from ...control.nats_settings import ServerFlags
    from ...control.signals import Interruptions
    from .history import Past


def stop(name: str, server: ServerFlags) -> ExitCode:
    """Let a run start nothing more."""
    return _steer(name, "stop", server)


def pause(name: str, server: ServerFlags) -> ExitCode:
    """Let a run start nothing for now."""
    return _steer(name, "pause", server)


def rate(name: str, text: str, server: ServerFlags) -> ExitCode:
    """Change the rate of a run from now on."""
    return _steer(name, "rate", server, text)


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
                answer = stop_halted(session, one.run, author())
            outcome.append(say_told(one, answer, "stop"))
    return outcome[-1]


def _steer(name: str, wish: str, server: ServerFlags, rate: str | None = None) -> ExitCode:
    with reporting() as (interruptions, outcome):
        urps = None if rate is None else rate_urps("RATE", rate)
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
            session.steer(one.run, wish, author(), ANSWER_TIMEOUT_SECS, urps)
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


def _confirmed(one: Past) -> bool:
    """Ask whether to cut a run off; no without a terminal to ask."""
    facts = one.facts
    what = f"run {safe(one.run)} of {safe(facts['scenario'])} against {safe(facts['target'])}"
    if not sys.stdin.isatty():
        say(f"error: {what}: halting cuts off what is in flight; say so with --yes")
        return False
    say(f"halt {what}: every agent cuts off what is in flight. Sure? [y/N] ")
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
