"""Teardowns owed by a command that is gone: the next command that can plays them.

The scenario is the one that was set up, from the archive that its command stored in the object
store; its file may have changed. Must never play the teardown of a run that goes on, or can.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from ... import _native
from ...control.exit_code import ExitCode
from ...control.identity import new_claimant
from ...control.run_list import open_log
from ...control.teardown_ledger import Ledger
from ...control.terminal import safe, safe_lines, say
from ...control.trust import Untrusted, check
from ...local import teardown_locks
from ...local.folders import ROOT, log_dirs
from ...local.stack import StackFault, is_running
from ...problem import Refused
from ..configuration.sources import current

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...control.run_list import PastRun
    from ...control.signals import Interruptions
    from ...play.local_runner import SetupState

SEAL_SECS = 30.0
"""Timeout of a new stack to seal the runs of an earlier one."""
WATCH_SECS = 0.2
"""Interval at which interruptions are noticed."""
FOLDER = "loadpilot-teardown-"
"""Prefix of the folders in which scenarios are unpacked."""
RESUME = "import sys; from loadpilot.cli import main; sys.exit(main())"


class Unplayable(Exception):
    """A teardown that cannot be played here, for the reason in the message. It stays owed."""


def play_owed_teardown(
    session: _native.Session, one: PastRun, interruptions: Interruptions, trusted: str | None = None
) -> ExitCode:
    """Play the teardown that a run owes; the teardown of a run that is not over stays owed.

    In a log of this directory, a locked file shows that the owing command lives; in a fleet, its
    signs of life do. ``trusted`` is the hash of a bundle that may be executed though this user did
    not submit it from this machine.
    """
    lock = None
    is_local = isinstance(one.log, Path)
    if isinstance(one.log, Path):
        lock = teardown_locks.acquire(one.log, one.run)
        if lock is None:
            say(f"the teardown of run {one.run} is left to the command that plays it")
            return ExitCode.USAGE
    claimant = new_claimant()
    store = session.ledger(one.run, claimant)
    ledger = Ledger(store, one.run, claimant, lock, is_begun=True, is_gone=is_local)
    return play_and_report(ledger, interruptions, trusted)


def play_and_report(
    ledger: Ledger, interruptions: Interruptions, trusted: str | None = None
) -> ExitCode:
    """Play a teardown and print what prevents it."""
    try:
        return _play(ledger, interruptions, trusted)
    except Untrusted as error:
        say(f"error: the teardown of run {ledger.run} stays owed: {safe_lines(str(error))}")
        return ExitCode.USAGE
    except (Unplayable, _native.Refused) as error:
        say(f"error: the teardown of run {ledger.run} stays owed: {safe_lines(str(error))}")
        say(f"`loadpilot runs prune {ledger.run} --forget-teardowns` gives it up")
        return ExitCode.INFRASTRUCTURE
    finally:
        ledger.release()


def _play(ledger: Ledger, interruptions: Interruptions, trusted: str | None) -> ExitCode:
    from ...compile.plan import Compiled
    from ...compile.scenario.hooks import Hook, SubmitterHooks
    from ..hooks import HookPlayer, RequestedRun

    owed = ledger.owed()
    setup = owed["setup"]
    if not owed["is_owed"]:
        ledger.is_begun = False
        return ExitCode.PASSED
    say(f"owed       the teardown of run {ledger.run}, which {safe(setup['by'])} set up")
    plan = setup["plan"]
    bundle = ledger.read_object(states=False)
    _check(ledger.run, setup, bundle, trusted)
    means = ledger.means()
    secrets = _secrets(plan, means["secrets"])
    left = _left(ledger, means)
    with _unpacked(bundle, setup, secrets) as (cls, root):
        place = str(setup["file"])
        hooks = SubmitterHooks(
            cls,
            root,
            (),
            tuple(Hook(name, place) for name in setup["teardowns"]),
            Hook("on_start", place) if left is not None and left.users is not None else None,
            None,
        )
        try:
            requested = RequestedRun(ledger.run, setup["seed"], current().allow_target)
            compiled = Compiled(plan, secrets)
            player = HookPlayer(compiled, hooks, requested, interruptions, ledger, left)
        except (ValueError, RuntimeError) as error:
            raise Unplayable(str(error)) from None
        try:
            failed = player.after()
        finally:
            player.close()
    if failed or ledger.owed()["is_owed"]:
        return ExitCode.INCOMPLETE
    say(f"settled    run {ledger.run} owes no teardown any more")
    return ExitCode.PASSED


def _check(run: str, setup: Mapping[str, Any], bundle: bytes, trusted: str | None) -> None:
    """Raise Untrusted or Unplayable unless the archive may be executed and holds its file."""
    try:
        check(run, setup, bundle, trusted)
        with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile as error:
        raise Unplayable(f"its files cannot be unpacked: {error}") from None
    if setup["file"] not in names:
        raise Unplayable(f"its files lack {setup['file']!r}, the scenario file")


def _secrets(plan: Mapping[str, Any], stored: dict[str, str] | None) -> dict[str, str]:
    """Take the stored secrets; expired ones are read from the environment again."""
    if stored is not None:
        return stored
    found = {}
    for name, value in plan.get("parameters", {}).items():
        if isinstance(value, dict):
            if name not in os.environ:
                what = "the stored secrets have expired; set this one in the environment again"
                raise Unplayable(f"env({name!r}): {what}")
            found[value["secret"]] = os.environ[name]
    return found


def _parameters(plan: Mapping[str, Any], secrets: Mapping[str, str]) -> dict[str, str]:
    parameters = plan.get("parameters", {}).items()
    return {
        name: secrets[value["secret"]] if isinstance(value, dict) else value
        for name, value in parameters
    }


def _left(ledger: Ledger, means: Mapping[str, Any]) -> SetupState | None:
    """Open the state that the setup stored; None if it was killed before it stored any."""
    from ...play.local_runner import SetupState

    if not means["left"]:
        say("note: the setup was not finished: its attributes on self are missing")
        return None
    if means["key"] is None:
        say("note: the stored attributes of the setup have expired: they are missing")
        return None
    try:
        left = SetupState(*_native.open_states(ledger.read_object(states=True), means["key"]))
    except ValueError as error:
        raise Unplayable(str(error)) from None
    for flaw in json.loads(left.shared)["flaws"]:
        say(f"note: {safe_lines(flaw)}, which could not be stored: it is missing")
    return left


@contextmanager
def _unpacked(
    bundle: bytes, setup: Mapping[str, Any], secrets: Mapping[str, str]
) -> Iterator[tuple[type, Path]]:
    """Load the scenario that was set up from a temporary folder; raises Unplayable."""
    from ...inputs.params import ParameterSource, masked
    from ...scenario_file.load import choose, load

    root = Path(tempfile.mkdtemp(prefix=FOLDER)).resolve()
    try:
        with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
            archive.extractall(root)
        try:
            given = ParameterSource(_parameters(setup["plan"], secrets), is_playing=True)
            loaded = load(root / setup["file"], given)
            cls = choose(loaded, setup["plan"]["scenario"])
        except Refused as refused:
            text = "\n".join(map(str, refused.problems)).replace(f"{root}/", "")
            raise Unplayable(masked(text, secrets.values())) from None
        yield cls, root
    finally:
        shutil.rmtree(root, ignore_errors=True)


def play_earlier_teardowns(
    session: _native.Session, own: Path, interruptions: Interruptions
) -> None:
    """Play the teardowns that are owed by earlier commands of this directory.

    ``session`` is on the log ``own``, whose coordinator seals the runs of an earlier stack.
    """
    for log, run in teardown_locks.owed_runs(log_dirs(ROOT)):
        if interruptions.any():
            return
        is_own = log.resolve() == own.resolve()
        if not is_own and is_running(log):
            continue
        lock = teardown_locks.acquire(log, run)
        if lock is None:
            continue
        try:
            with nullcontext(session) if is_own else open_log(log, interruptions) as log_session:
                owed = json.loads(log_session.ledger(run, new_claimant()).owed())
        except (StackFault, _native.Fault) as fault:
            lock.release()
            if is_own:
                raise
            say(f"note: {log} cannot be read; its teardown is still owed: {safe(str(fault))}")
            continue
        if not owed["is_owed"]:
            lock.remove()
            continue
        lock.release()
        if owed["asked"] and not owed["over"]:
            if not is_own:
                say(f"note: run {run} is not over; `loadpilot resume {run}` ends it")
                continue
            _await_end(session, run, interruptions)
        _in_own_process(run, interruptions)


def _await_end(session: _native.Session, run: str, interruptions: Interruptions) -> None:
    """Wait until the coordinator has sealed a run of an earlier stack."""
    watch = session.watch(run)
    deadline = monotonic() + SEAL_SECS
    while monotonic() < deadline and not interruptions.any():
        if "sealed" in json.loads(watch.next(WATCH_SECS) or "{}"):
            return


def _in_own_process(run: str, interruptions: Interruptions) -> None:
    """Play one teardown in its own process: two scenarios may have modules of the same name."""
    argv = [sys.executable, "-P", "-c", RESUME, "resume", run, "--teardown"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=sys.stderr) as child:
        is_terminated = False
        while True:
            try:
                child.wait(WATCH_SECS)
            except subprocess.TimeoutExpired:
                # The terminal sends Ctrl-C to the child as well.
                if interruptions.first is ExitCode.TERMINATED and not is_terminated:
                    child.terminate()
                    is_terminated = True
            else:
                return
