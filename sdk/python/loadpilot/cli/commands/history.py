"""``loadpilot runs``, ``loadpilot report`` and ``loadpilot runs prune``: past runs, from logs.

Everything shown here is read from a log; nothing is kept beside it.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import json
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ... import _native
from ...control.exit_code import ExitCode
from ...control.figures import millis, number, percent, plural, seconds
from ...control.nats_settings import Server, ServerFlags, read_server
from ...control.run_list import (
    OpenLogs,
    PastRun,
    UnknownRun,
    every_run,
    indexed,
    match_run,
    open_log,
    past_run,
    place_of,
)
from ...control.signals import FirstEnds, Interruptions
from ...control.terminal import safe, say, write_product
from ...library.tables.extras import MissingPackage
from ...local import teardown_locks
from ...local.folders import RUN_FILE, forget_caches, forget_remains
from ...local.stack import StackFault
from ...problem import Problem, Refused
from ..configuration.sources import current
from ..flags.options import pairs_of
from ..output import results
from ..output.plan_summary import pairs
from ..output.refusal import refuse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...control.outcome import RunOutcome
    from ..flags.result_flags import ResultFlags

NOTHING_DONE = "nothing was done"
"""Last line of a refused command that would not have started anything."""
NONE = "—"
"""Placeholder of an absent figure."""
NO_FIGURES = f"{NONE:>11}{NONE:>9}{NONE:>9}"
SCENARIO_WIDTH = 13
"""Width of a scenario's name in a row of 100 columns."""
FAULTS = (StackFault, _native.Fault, OSError)


class UsageError(Exception):
    """The command cannot be executed as written; exit code 2."""


def runs(tags: list[str], last: int, server: ServerFlags, *, verbose: bool) -> ExitCode:
    """List the newest runs of this directory or a fleet that have all of ``tags``, newest last."""
    with reporting(FirstEnds) as (interruptions, outcome), OpenLogs(interruptions) as logs:
        problems: list[Problem] = []
        if last < 1:
            problems.append(Problem("--last", f"must be at least 1 (got {last})"))
        wanted = pairs_of("--tag", tags, "team=shop", problems)
        found = read_server(server, current().environ, problems)
        if problems:
            raise Refused(problems)
        every, where = every_run(logs, found), place_of(found)
        past = [one for one in every if wanted.items() <= one.facts["tags"].items()]
        if not every:
            say(f"no runs in {where}; start one with `loadpilot run`")
        elif not past:
            say(f"none of the {len(every)} runs in {where} has the tags {pairs(wanted)}")
        else:
            shown = past[-last:]
            rows = table(shown, outcomes(shown, logs), verbose=verbose)
            write_product("".join(f"{row}\n" for row in rows))
            if len(shown) < len(past):
                older = plural(len(past) - len(shown), "older run")
                say(f"{older} not shown; --last {len(past)} shows all")
    return outcome[-1]


def report(
    name: str,
    *,
    as_json: bool,
    samples: str | None,
    server: ServerFlags,
    flags: ResultFlags,
    verbose: bool = False,
) -> ExitCode:
    """Print one run again, from its log alone, and write its files again."""
    path = Path(samples) if samples is not None else None
    with reporting(FirstEnds) as (interruptions, outcome), OpenLogs(interruptions) as logs:
        found = fleet_of(server)
        problems: list[Problem] = []
        files = flags.read(problems, samples)
        if problems:
            raise UsageError("; ".join(map(str, problems)))
        one = past_run(name, logs, found)
        if not one.facts["asked"]:
            raise UsageError(f"run {one.run} was set up and never asked for; it has no report")
        has_files = files != results.ResultFiles()
        with open_log(one.log, logs) as session:
            read = indexed(session, one)
            text = read.report() if as_json or has_files else read.report_without_series()
            if path is not None:
                say(results.write_samples(path, session, one.run))
            parsed = json.loads(text)
            is_full = verbose and not as_json
            examples = json.loads(read.errors("{}")).get("examples", []) if is_full else []
            if has_files:
                from ..output.run_end import RunEnd

                end = RunEnd.of(parsed, None, strict=False)
                if files.write(end, results.Reported(text, session, one.run)) != end:
                    outcome.append(ExitCode.INFRASTRUCTURE)
        if as_json:
            write_product(text + "\n")
        else:
            from ..output.summary import failed_calls, summary

            write_product(summary(parsed, verbose=verbose) + failed_calls(parsed, examples))
    return outcome[-1]


def prune(
    names: list[str], *, everything: bool, keep: str | None, forget_teardowns: bool
) -> ExitCode:
    """Delete runs that are over; exactly one of ids, ``everything`` and ``keep`` selects them."""
    if sum((bool(names), everything, keep is not None)) != 1:
        say("error: runs prune: give the ids of runs, or --all, or --keep INT")
        return ExitCode.USAGE
    if keep is not None and not (keep.isascii() and keep.isdigit()):
        say(f"error: --keep: must be a whole number of at least 0 (got {keep!r})")
        return ExitCode.USAGE
    with reporting() as (interruptions, outcome):
        past = every_run(interruptions)
        if names:
            chosen = [match_run(name, past, place_of(None)) for name in names]
        else:
            chosen = past[: len(past) - int(keep or 0)] if len(past) > int(keep or 0) else []
        running = [one for one in chosen if not (one.is_over or one.has_no_load_left)]
        if running and names:
            raise UsageError(_not_over(running[0]))
        over = [
            one for one in chosen if one.is_over or (one.owes_teardown and one.has_no_load_left)
        ]
        owing = [] if forget_teardowns else [one.run for one in over if one.owes_teardown]
        if owing:
            what = f"{', '.join(owing)} still owes a teardown, which `loadpilot resume` plays"
            if names:
                raise UsageError(f"{what}; --forget-teardowns gives it up")
            say(f"kept: {what}; --forget-teardowns gives it up")
            over = [one for one in over if one.run not in owing]
        deleted = 0
        for log in dict.fromkeys(one.log for one in over):
            ids = [one.run for one in over if one.log == log]
            if isinstance(log, Path) and log.suffix == RUN_FILE:
                log.unlink()
                forget_caches(log, ids)
                deleted += 1
                continue
            with open_log(log, interruptions) as session:
                deleted += session.prune(ids, forgets=forget_teardowns)
            if isinstance(log, Path):
                forget_remains(log, ids)
                teardown_locks.forget(log, ids)
        say(f"deleted {deleted} run{'s' if deleted != 1 else ''}")
    return outcome[-1]


def _not_over(one: PastRun) -> str:
    if one.has_stack:
        return f"{one.run} is not over; stop it first"
    ends = f"`loadpilot resume {one.run}` continues it, or ends it if its time is over"
    return f"{one.run} is not over, and its processes are gone; {ends}"


def outcomes(past: list[PastRun], logs: OpenLogs) -> dict[str, RunOutcome]:
    """Read the outcomes of the runs that ended, by id."""
    from ...control.outcome import outcome

    found = {}
    ended = [one for one in past if one.facts["ending"] is not None]
    for log in dict.fromkeys(one.log for one in ended):
        with open_log(log, logs) as session:
            for one in ended:
                if one.log == log:
                    read = indexed(session, one)
                    found[one.run] = outcome(json.loads(read.report_without_series()))
    return found


def table(
    past: list[PastRun], outcomes: Mapping[str, RunOutcome], *, verbose: bool = False
) -> Iterator[str]:
    """Write the runs as rows of at most 100 columns; ``verbose`` adds a line to each.

    Tags and an owed teardown add a line, too.
    """
    figures = f"{'p99':>11}{'req/s':>9}{'errors':>9}"
    yield f"{'run':<27}{'UTC':<12}{'state':<10}{'verdict':<7}{figures}  scenario"
    for one in past:
        facts = one.facts
        outcome = outcomes.get(one.run)
        verdict, figures = (outcome.verdict, _figures(outcome)) if outcome else (NONE, NO_FIGURES)
        yield (
            f"{safe(one.run):<27}{_instant(facts['created_at']):<12}{safe(one.state):<10}"
            f"{verdict:<7}{figures}  {shortened(safe(facts['scenario']), SCENARIO_WIDTH)}"
        )
        notes = ["baseline"] if facts["is_baseline"] else []
        if facts["tags"]:
            notes.append(pairs(facts["tags"]))
        if facts["notes"]:
            notes.append(plural(facts["notes"], "note"))
        if one.owes_teardown and one.has_no_load_left:
            notes.append("teardown owed")
        if verbose:
            planned = f"{seconds(facts['profile_us'])} planned"
            notes = [safe(facts["target"]), planned, safe(place_of(one.log)), *notes]
            if len(safe(facts["scenario"])) > SCENARIO_WIDTH:
                notes.insert(0, safe(facts["scenario"]))
        if notes:
            yield f"  {' · '.join(notes)}"


def _figures(outcome: RunOutcome) -> str:
    p99 = NONE if outcome.p99_us is None else f"{millis(outcome.p99_us)} ms"
    rate = NONE if outcome.requests_per_sec is None else number(outcome.requests_per_sec)
    errors = NONE if outcome.error_rate_pct is None else percent(outcome.error_rate_pct)
    return f"{p99:>11}{rate:>9}{errors:>9}"


def shortened(text: str, width: int) -> str:
    """Cut a text to ``width`` columns."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def fleet_of(flags: ServerFlags) -> Server | None:
    """Read the server of a fleet, if flags name one; raises Refused."""
    problems: list[Problem] = []
    server = read_server(flags, current().environ, problems)
    if problems:
        raise Refused(problems)
    return server


@contextmanager
def reporting(
    kind: type[Interruptions] = Interruptions,
) -> Iterator[tuple[Interruptions, list[ExitCode]]]:
    """Turn refusals, faults and interruptions into a message and the exit code."""
    _native.use_one_malloc_arena()
    outcome = [ExitCode.PASSED]
    with kind() as interruptions:
        try:
            yield interruptions, outcome
        except Refused as refused:
            outcome.append(refuse(refused.problems, NOTHING_DONE))
        except (UsageError, UnknownRun, MissingPackage, _native.Refused) as error:
            say(f"error: {safe(str(error))}")
            outcome.append(ExitCode.USAGE)
        except BrokenPipeError:
            raise  # the reader of the output wants no more
        except FAULTS as fault:
            say(f"error: {safe(str(fault))}")
            outcome.append(ExitCode.INFRASTRUCTURE)
        except KeyboardInterrupt:
            outcome.append(interruptions.first or ExitCode.INTERRUPTED)


def _instant(at_us: int) -> str:
    return datetime.fromtimestamp(at_us // 1_000_000, UTC).strftime("%m-%d %H:%M")
