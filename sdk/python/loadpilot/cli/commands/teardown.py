"""Teardowns that a command owed which is gone: played by the next one that can.

The scenario is the one that was set up, from the archive that its command left in the object store,
whatever became of its file. Must never play the teardown of a run that goes on, or can.
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
from ...control.teardown_ledger import Ledger
from ...control.terminal import safe, safe_lines, say
from ...control.trust import Untrusted, check
from ...local import teardown_locks
from ...local.folders import ROOT, log_dirs
from ...local.stack import is_running
from ...problem import Refused
from ..flags import allow
from .history import opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...control.signals import Interruptions
    from ...play.local_runner import SetupState
    from .history import Past

SEAL_SECS = 30.0
"""How long a new stack may take to seal what an earlier one left."""
WATCH_SECS = 0.2
"""How soon an interruption is noticed."""
FOLDER = "loadpilot-teardown-"
"""How the folders begin in which scenarios are unpacked."""
RESUME = "import sys; from loadpilot.cli import main; sys.exit(main())"


class Unplayable(Exception):
    """A teardown cannot be played here; the message says why. It stays owed."""


def settle(
    session: _native.Session, one: Past, interruptions: Interruptions, trusted: str | None = None
) -> ExitCode:
    """Play the teardown that a run owes; a run that is not over keeps it.

    Of a log of this directory the lock of its file tells whether the command that owes it is gone;
    of a fleet it is listened for. ``trusted`` is the hash of a bundle that may be executed though
    this user did not submit it from this machine.
    """
    mark = None
    is_here = isinstance(one.log, Path)
    if isinstance(one.log, Path):
        mark = teardown_locks.hold(one.log, one.run)
        if mark is None:
            say(f"the teardown of run {one.run} is left to the command that it is on")
            return ExitCode.USAGE
    claimant = new_claimant()
    books = session.ledger(one.run, claimant)
    ledger = Ledger(books, one.run, claimant, mark, is_begun=True, is_gone=is_here)
    return settle_debt(ledger, interruptions, trusted)


def settle_debt(
    ledger: Ledger, interruptions: Interruptions, trusted: str | None = None
) -> ExitCode:
    """Play it and say what became of it."""
    try:
        return _settled(ledger, interruptions, trusted)
    except Untrusted as error:
        say(f"error: the teardown of run {ledger.run} stays owed: {safe_lines(str(error))}")
        return ExitCode.USAGE
    except (Unplayable, _native.Refused) as error:
        say(f"error: the teardown of run {ledger.run} stays owed: {safe_lines(str(error))}")
        say(f"`loadpilot runs prune {ledger.run} --forget-teardowns` gives it up")
        return ExitCode.INFRASTRUCTURE
    finally:
        ledger.release()


def _settled(ledger: Ledger, interruptions: Interruptions, trusted: str | None) -> ExitCode:
    from ...compile.plan import Compiled
    from ...compile.scenario.hooks import Hook, SubmitterHooks
    from ..hooks import Asked, Company

    owed = ledger.owed()
    setup = owed["setup"]
    if not owed["is_owed"]:
        ledger.is_begun = False
        return ExitCode.PASSED
    say(f"owed       the teardown of run {ledger.run}, which {safe(setup['by'])} set up")
    plan = setup["plan"]
    bundle = ledger.kept(states=False)
    _check(ledger.run, setup, bundle, trusted)
    means = ledger.means()
    secrets = _secrets(plan, means["secrets"])
    left = _left(ledger, means)
    with _unpacked(bundle, setup, secrets) as (cls, root):
        place = str(setup["file"])
        aside = SubmitterHooks(
            cls,
            root,
            (),
            tuple(Hook(name, place) for name in setup["teardowns"]),
            Hook("on_start", place) if left is not None and left.users is not None else None,
            None,
        )
        try:
            asked = Asked(ledger.run, setup["seed"], allow.allowed((), os.environ))
            company = Company(Compiled(plan, secrets), aside, asked, interruptions, ledger, left)
        except (ValueError, RuntimeError) as error:
            raise Unplayable(str(error)) from None
        try:
            failed = company.after()
        finally:
            company.close()
    if failed or ledger.owed()["is_owed"]:
        return ExitCode.INCOMPLETE
    say(f"settled    run {ledger.run} owes nothing any more")
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
        raise Unplayable(f"its files lack {setup['file']!r}, which it was loaded from")


def _secrets(plan: Mapping[str, Any], kept: dict[str, str] | None) -> dict[str, str]:
    """Take the secrets that were kept; those that have ended come from the environment again."""
    if kept is not None:
        return kept
    found = {}
    for name, value in plan.get("parameters", {}).items():
        if isinstance(value, dict):
            if name not in os.environ:
                what = "its secrets have ended; set this one in the environment again"
                raise Unplayable(f"env({name!r}): {what}")
            found[value["secret"]] = os.environ[name]
    return found


def _parameters(plan: Mapping[str, Any], secrets: Mapping[str, str]) -> dict[str, str]:
    given = plan.get("parameters", {}).items()
    return {
        name: secrets[value["secret"]] if isinstance(value, dict) else value
        for name, value in given
    }


def _left(ledger: Ledger, means: Mapping[str, Any]) -> SetupState | None:
    """Open what the setup left; nothing when it was killed before it had left anything."""
    from ...play.local_runner import SetupState

    if not means["left"]:
        say("note: its setup was not finished: what it had set on self is not there")
        return None
    if means["key"] is None:
        say("note: what its setup set on self has ended and is not there")
        return None
    try:
        left = SetupState(*_native.open_states(ledger.kept(states=True), means["key"]))
    except ValueError as error:
        raise Unplayable(str(error)) from None
    for flaw in json.loads(left.shared)["flaws"]:
        say(f"note: {safe_lines(flaw)}, which could not be kept: it is not there")
    return left


@contextmanager
def _unpacked(
    bundle: bytes, setup: Mapping[str, Any], secrets: Mapping[str, str]
) -> Iterator[tuple[type, Path]]:
    """Load the scenario that was set up, in a folder of its own; raises Unplayable."""
    from ...params import ParameterSource, masked
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


def settled_before(session: _native.Session, own: Path, interruptions: Interruptions) -> None:
    """Have the teardowns played that commands of this directory owe which are gone.

    ``session`` is on the log ``own``, whose coordinator seals what an earlier stack left.
    """
    for log, run in teardown_locks.marked(log_dirs(ROOT)):
        if interruptions.any():
            return
        is_own = log.resolve() == own.resolve()
        if not is_own and is_running(log):
            continue
        mark = teardown_locks.hold(log, run)
        if mark is None:
            continue
        with nullcontext(session) if is_own else opened(log, interruptions) as its:
            owed = json.loads(its.ledger(run, new_claimant()).owed())
        if not owed["is_owed"]:
            mark.remove()
            continue
        mark.release()
        if owed["asked"] and not owed["over"]:
            if not is_own:
                say(f"note: run {run} is not over; `loadpilot resume {run}` ends it")
                continue
            _await_end(session, run, interruptions)
        _in_a_command_of_its_own(run, interruptions)


def _await_end(session: _native.Session, run: str, interruptions: Interruptions) -> None:
    """Wait until the coordinator has sealed what an earlier stack left."""
    watch = session.watch(run)
    deadline = monotonic() + SEAL_SECS
    while monotonic() < deadline and not interruptions.any():
        if "sealed" in json.loads(watch.next(WATCH_SECS) or "{}"):
            return


def _in_a_command_of_its_own(run: str, interruptions: Interruptions) -> None:
    """Play one teardown in a process of its own: two scenarios may have modules of one name."""
    argv = [sys.executable, "-P", "-c", RESUME, "resume", run, "--teardown"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=sys.stderr) as child:
        is_told = False
        while True:
            try:
                child.wait(WATCH_SECS)
            except subprocess.TimeoutExpired:
                # Ctrl-C reaches it by itself.
                if interruptions.first is ExitCode.TERMINATED and not is_told:
                    child.terminate()
                    is_told = True
            else:
                return
