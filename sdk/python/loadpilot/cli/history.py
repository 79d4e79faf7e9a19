"""``loadpilot runs``, ``loadpilot report`` and ``loadpilot runs prune``: past runs, from logs.

Everything shown here comes out of a log; nothing is kept beside it.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import json
import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _native
from ..compile.problem import Refused
from ..local import debts
from ..local.folders import ROOT, forget_remains, log_dirs, reading, running
from ..local.stack import StackFault
from . import results
from .exit_code import ExitCode
from .figures import seconds
from .fleet import Server, ServerFlags, read_server
from .options import pairs_of
from .signals import Interruptions
from .spoken import pairs
from .terminal import safe, say, write_product

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..compile.problem import Problem

NOTHING_DONE = "nothing was done"
"""How a command ends that was wrong and would have started nothing."""
NEWEST = "last"
"""What names the newest run."""
OVER = frozenset({"sealed", "refused"})
"""States of a run that is over."""
ERRORS = (StackFault, _native.Fault, OSError)


Log = Path | Server
"""Where runs are: a folder, or a fleet."""


@dataclass(frozen=True, slots=True)
class Past:
    """One run and the log that holds it."""

    log: Log
    facts: dict[str, Any]

    @property
    def run(self) -> str:
        """Its id; ids sort by creation."""
        return str(self.facts["run"])

    @property
    def is_over(self) -> bool:
        """Whether nothing happens to it any more."""
        return self.facts["state"] in OVER or (not self.facts["asked"] and not self.owes)

    @property
    def owes(self) -> bool:
        """Whether its teardown is owed, by a command that lives or by the next one that can."""
        return bool(self.facts["teardown"] == "owed")

    @property
    def has_no_rest(self) -> bool:
        """Whether there is no load to go on with."""
        return self.facts["state"] in OVER or not self.facts["asked"]

    @property
    def stands(self) -> str:
        """How it ended, else where it stands."""
        return str(self.facts["ending"] or self.facts["state"]) if self.facts["asked"] else "set up"


class Asked(Exception):
    """The user asked for something that there is not."""


def runs(tags: list[str], server: ServerFlags) -> ExitCode:
    """List the runs of this directory or a fleet that have all of ``tags``, newest last."""
    problems: list[Problem] = []
    wanted = pairs_of("--tag", tags, "team=shop", problems)
    found = read_server(server, os.environ, problems)
    if problems:
        from .run import refuse

        return refuse(problems, NOTHING_DONE)
    with reporting() as (interruptions, outcome):
        every, where = every_run(interruptions, found), place_of(found)
        past = [one for one in every if wanted.items() <= one.facts["tags"].items()]
        if not every:
            say(f"no runs in {where}; start one with `loadpilot run`")
        elif not past:
            say(f"none of the {len(every)} runs in {where} has the tags {pairs(wanted)}")
        else:
            write_product("".join(f"{row}\n" for row in table(past)))
    return outcome[-1]


def report(
    name: str, *, as_json: bool, samples: str | None, server: ServerFlags, verbose: bool = False
) -> ExitCode:
    """Print one run again, from its log alone."""
    problems: list[Problem] = []
    found = read_server(server, os.environ, problems)
    if problems:
        from .run import refuse

        return refuse(problems, NOTHING_DONE)
    path = Path(samples) if samples is not None else None
    with reporting() as (interruptions, outcome):
        wrong = results.problems(path, "--samples") if path is not None else []
        if wrong:
            raise Asked("; ".join(map(str, wrong)))
        one = named(name, every_run(interruptions, found), place_of(found))
        if not one.facts["asked"]:
            raise Asked(f"run {one.run} was set up and never asked for: there is nothing to report")
        with opened(one.log, interruptions) as session:
            text = session.report(one.run)
            if path is not None:
                say(results.write_samples(path, session, one.run))
        if as_json:
            write_product(text + "\n")
        else:
            from .._generated.report import Report
            from .summary import summary

            write_product(summary(Report.model_validate_json(text), verbose=verbose))
    return outcome[-1]


def prune(
    names: list[str], *, everything: bool, keep: str | None, forget_teardowns: bool
) -> ExitCode:
    """Delete runs that are over; exactly one way to say which."""
    if sum((bool(names), everything, keep is not None)) != 1:
        say("error: say which runs to delete: their ids, or --all, or --keep N")
        return ExitCode.USAGE
    if keep is not None and not (keep.isascii() and keep.isdigit()):
        say(f"error: --keep: must be a whole number of at least 0 (got {keep!r})")
        return ExitCode.USAGE
    with reporting() as (interruptions, outcome):
        past = every_run(interruptions)
        if names:
            chosen = [named(name, past, place_of(None)) for name in names]
        else:
            chosen = past[: len(past) - int(keep or 0)] if len(past) > int(keep or 0) else []
        running = [one.run for one in chosen if not (one.is_over or one.has_no_rest)]
        if running and names:
            raise Asked(f"{', '.join(running)} is not over; stop it first")
        over = [one for one in chosen if one.is_over or (one.owes and one.has_no_rest)]
        owing = [] if forget_teardowns else [one.run for one in over if one.owes]
        if owing:
            what = f"{', '.join(owing)} still owes a teardown, which `loadpilot resume` plays"
            if names:
                raise Asked(f"{what}; --forget-teardowns gives it up")
            say(f"kept: {what}; --forget-teardowns gives it up")
            over = [one for one in over if one.run not in owing]
        deleted = 0
        for log in dict.fromkeys(one.log for one in over):
            ids = [one.run for one in over if one.log == log]
            with opened(log, interruptions) as session:
                deleted += session.prune(ids, forgets=forget_teardowns)
            if isinstance(log, Path):
                forget_remains(log, ids)
                debts.forget(log, ids)
        say(f"deleted {deleted} run{'s' if deleted != 1 else ''}")
    return outcome[-1]


def table(past: list[Past]) -> Iterator[str]:
    """Write the runs as rows."""
    heads = f"{'run':<28}{'created (UTC)':<21}{'ended':<12}{'planned':>10}"
    yield f"{heads}  {'scenario':<20}target, log, tags"
    for one in past:
        facts = one.facts
        owes = ", teardown owed" if one.owes and one.has_no_rest else ""
        yield (
            f"{safe(one.run):<28}{_instant(facts['created_at']):<21}{safe(one.stands):<12}"
            f"{seconds(facts['profile_us']):>10}  {safe(facts['scenario']):<20}"
            f"{safe(facts['target'])}, {safe(place_of(one.log))}"
            + (f", {pairs(facts['tags'])}" if facts["tags"] else "")
            + owes
        )


def every_run(
    interruptions: Interruptions, server: Server | None = None, folders: list[Path] | None = None
) -> list[Past]:
    """Read the runs of a fleet, else of these or all logs of this directory, newest last."""
    past: list[Past] = []
    here = log_dirs(ROOT) if folders is None else folders
    logs: list[Log] = [server] if server is not None else [*here]
    for log in logs:
        with opened(log, interruptions) as session:
            past += [Past(log, facts) for facts in json.loads(session.runs())]
    return sorted(past, key=lambda one: one.run)


@contextmanager
def opened(log: Log, interruptions: Interruptions) -> Iterator[_native.Session]:
    """Connect to a log."""
    if isinstance(log, Path):
        with reading(log, interruptions.any) as session:
            yield session
        return
    session = log.visit()
    try:
        yield session
    finally:
        session.close()


def place_of(log: Log | None) -> str:
    """Where a log is, or those of this directory are."""
    return log.place if isinstance(log, Server) else str(log or ROOT)


def fleet_of(flags: ServerFlags) -> Server | None:
    """Read which fleet is meant, if any; raises Refused."""
    problems: list[Problem] = []
    server = read_server(flags, os.environ, problems)
    if problems:
        raise Refused(problems)
    return server


def find(name: str, interruptions: Interruptions, server: Server | None) -> Past:
    """Find the run that a name means; of this directory rather one that is not over.

    Raises Asked.
    """
    if server is None:
        alive = [one for one in every_run(interruptions, None, running(ROOT)) if not one.is_over]
        with suppress(Asked):
            return named(name, alive, place_of(None))
    return named(name, every_run(interruptions, server), place_of(server))


def named(name: str, past: list[Past], where: str) -> Past:
    """Find the run that a name means; raises Asked."""
    if name == NEWEST and past:
        return past[-1]
    found = [one for one in past if one.run.startswith(name.lower())]
    exact = [one for one in found if one.run == name.lower()]
    if len(exact) == 1:
        return exact[0]
    if len(found) == 1:
        return found[0]
    if found:
        raise Asked(f"{name!r} may be any of {', '.join(one.run for one in found)}")
    raise Asked(f"there is no run {name!r} in {where}; `loadpilot runs` lists them")


@contextmanager
def reporting() -> Iterator[tuple[Interruptions, list[ExitCode]]]:
    """Turn what may go wrong into a message and the exit code."""
    outcome = [ExitCode.PASSED]
    with Interruptions() as interruptions:
        try:
            yield interruptions, outcome
        except Refused as refused:
            from .run import refuse

            outcome.append(refuse(refused.problems, NOTHING_DONE))
        except (Asked, _native.Refused) as asked:
            say(f"error: {safe(str(asked))}")
            outcome.append(ExitCode.USAGE)
        except ERRORS as fault:
            say(f"error: {safe(str(fault))}")
            outcome.append(ExitCode.INFRASTRUCTURE)
        except KeyboardInterrupt:
            outcome.append(interruptions.first or ExitCode.INTERRUPTED)


def _instant(at_us: int) -> str:
    return datetime.fromtimestamp(at_us // 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
