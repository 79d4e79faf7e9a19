"""``loadpilot stop``, ``rate``, ``pause`` and ``halt``: steer a run under way.

Each is a request in the log with its author; the command prints the decision of a coordinator. Must
never print that something was done without a decision.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

from ... import _native
from ...control.exit_code import ExitCode
from ...control.identity import author
from ...control.protocols import ANSWER_TIMEOUT_SECS
from ...control.run_list import UnknownRun, find_run, open_log
from ...control.steering_result import describe, rate_urps, stop_halted
from ...control.terminal import safe, say, write_product
from .history import fleet_of, reporting

if TYPE_CHECKING:
    from ...control.nats_settings import Server, ServerFlags
    from ...control.run_list import PastRun
    from ...control.signals import Interruptions

RUN_ID = re.compile(r"[0-9a-z]{26}")
"""A whole id of a run."""
KILL_SWITCH = "the kill switch is thrown; agents obey it without a coordinator"


def stop(name: str, server: ServerFlags) -> ExitCode:
    """Stop a run: nothing more is started."""
    return _steer(name, "stop", server)


def pause(name: str, server: ServerFlags) -> ExitCode:
    """Pause a run: nothing is started until it is resumed."""
    return _steer(name, "pause", server)


def rate(name: str, text: str, server: ServerFlags) -> ExitCode:
    """Change the rate of a run from now on."""
    return _steer(name, "rate", server, text)


def halt(name: str, server: ServerFlags, *, yes: bool) -> ExitCode:
    """Throw the kill switch of a run; of one with its whole id also when its log is lost."""
    with reporting() as (interruptions, outcome):
        place = fleet_of(server)
        try:
            one = find_run(name, interruptions, place)
        except (UnknownRun, _native.Refused, _native.Fault) as unread:
            if place is None or not RUN_ID.fullmatch(name.lower()):
                raise
            outcome.append(_halt_unread(name.lower(), place, unread, yes=yes))
            return outcome[-1]
        if one.is_over:
            outcome.append(
                print_result(one, {"answer": "over", "ending": one.facts["ending"]}, "halt")
            )
        elif not yes and not _confirmed(_of(one)):
            say("nothing was done")
            outcome.append(ExitCode.USAGE)
        else:
            one.require_stack()
            with open_log(one.log, interruptions) as session:
                session.halt(one.run)
                say(KILL_SWITCH)
                answer = stop_halted(session, one.run, author())
            outcome.append(print_result(one, answer, "stop"))
    return outcome[-1]


def _steer(name: str, action: str, server: ServerFlags, rate: str | None = None) -> ExitCode:
    with reporting() as (interruptions, outcome):
        urps = None if rate is None else rate_urps("RATE", rate)
        place = fleet_of(server)
        one = find_run(name, interruptions, place)
        answer = request(one, action, interruptions, urps)
        outcome.append(print_result(one, answer, action))
    return outcome[-1]


def request(
    one: PastRun, action: str, interruptions: Interruptions, urps: int | None = None
) -> dict[str, Any]:
    """Request an action with the user as author, and wait for the decision.

    Raises StackFault, and requests nothing, when the stack of the run is gone.
    """
    one.require_stack()
    with open_log(one.log, interruptions) as session:
        answer: dict[str, Any] = json.loads(
            session.steer(one.run, action, author(), ANSWER_TIMEOUT_SECS, urps)
        )
    return answer


def print_result(one: PastRun, answer: dict[str, Any], action: str) -> ExitCode:
    """Print the result of an action, and choose the exit code."""
    words, code = describe(answer, action)
    line = f"run {safe(one.run)}: {safe(words)}"
    if code is ExitCode.PASSED:
        write_product(f"{line}\n")
    else:
        say(f"error: {line}")
    return code


def _halt_unread(run: str, place: Server, unread: Exception, *, yes: bool) -> ExitCode:
    """Throw the kill switch of a run of which no log is read, because of ``unread``."""
    say(f"{safe(str(unread))}; the kill switch needs no log")
    if not yes and not _confirmed(f"run {run}"):
        say("nothing was done")
        return ExitCode.USAGE
    session = place.reach()
    try:
        session.halt(run)
    finally:
        session.close()
    say(KILL_SWITCH)
    say(f"error: run {run}: no log holds it, so that no stop of it is stored or confirmed")
    return ExitCode.INFRASTRUCTURE


def _of(one: PastRun) -> str:
    facts = one.facts
    return f"run {safe(one.run)} of {safe(facts['scenario'])} against {safe(facts['target'])}"


def _confirmed(what: str) -> bool:
    """Ask for confirmation; without a terminal the answer is no."""
    if not sys.stdin.isatty():
        say(f"error: {what}: halt cuts off calls in flight; confirm with --yes")
        return False
    say(f"halt {what}: every agent cuts off calls in flight. Sure? [y/N] ")
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
