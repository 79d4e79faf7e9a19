"""``loadpilot verdict``: runs judged by other gates, or over another part of their time.

The engine judges; this command finds the runs, opens each log once and prints a line for each run.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ... import _native
from ...compile.scenario.thresholds import Measurable, assigned, threshold, unknown
from ...control.exit_code import ExitCode
from ...control.nats_settings import read_server
from ...control.run_list import (
    OpenLogs,
    every_run,
    indexed,
    is_file,
    match_run,
    past_run,
    place_of,
    read_all,
)
from ...control.signals import FirstEnds
from ...control.terminal import say, write_product
from ...inputs.units import Wrong, duration_us
from ...problem import Problem, Refused
from ..configuration.sources import current
from ..flags.options import pairs_of
from ..output.plan_summary import pairs
from ..output.verdict import Judgement, verdict_line
from .history import UsageError, reporting

if TYPE_CHECKING:
    from ...control.nats_settings import Server
    from ...control.run_list import PastRun
    from ..flags.verdict_flags import VerdictFlags

PLACES = {"from_us": "--from", "to_us": "--to", "warm_up_us": "--warm-up"}
"""Flags of the fields of a question."""


def verdict(names: list[str], flags: VerdictFlags) -> ExitCode:
    """Judge the runs with these names, or all runs that the flags select."""
    with reporting(FirstEnds) as (interruptions, outcome), OpenLogs(interruptions) as logs:
        problems: list[Problem] = []
        question = Question.of(flags, problems)
        tags = pairs_of("--tag", flags.tag, "team=shop", problems)
        server = read_server(flags.server, current().environ, problems)
        if names and (flags.all or tags):
            what = f"selects runs, and {names[0]} names one; drop either"
            problems.append(Problem("--all" if flags.all else "--tag", what))
        if problems:
            raise Refused(problems)
        if flags.all or tags:
            chosen = _with_tags(tags, logs, server)
        else:
            chosen = _named(names or ["last"], logs, server)
        judgements = read_all(chosen, logs, partial(_judge, question))
        if flags.json:
            write_product(json.dumps([one.as_json() for one in judgements]) + "\n")
        else:
            write_product("".join(f"{verdict_line(one)}\n" for one in judgements))
        passed = sum(one.code is ExitCode.PASSED for one in judgements)
        say(f"{passed} of {len(judgements)} passed")
        outcome.append(max(one.code for one in judgements))
    return outcome[-1]


@dataclass(frozen=True, slots=True)
class Question:
    """The gates and times that the runs are judged by; all else is as in their plans."""

    gates: list[tuple[str, str]]
    task: str | None
    times: dict[str, int]

    @classmethod
    def of(cls, flags: VerdictFlags, problems: list[Problem]) -> Question:
        """Read the flags."""
        times = {}
        texts = {"from_us": flags.from_, "to_us": flags.to, "warm_up_us": flags.warm_up}
        for field, text in texts.items():
            try:
                if text is not None:
                    times[field] = duration_us(PLACES[field], text)
            except Wrong as wrong:
                problems.append(wrong.problem)
        if flags.task is not None and not flags.threshold:
            problems.append(
                Problem("--task", "needs a gate of the task; add --threshold KEY=LIMIT")
            )
        return cls(assigned("--threshold", flags.threshold, problems), flags.task, times)

    def about(self, tasks: list[str]) -> str:
        """Write the question about a run with these tasks; raises Refused."""
        if not self.gates:
            return json.dumps(self.times)
        problems = []
        if self.task is not None and self.task not in tasks:
            problems.append(unknown("--task", "task", self.task, tasks))
        of_task = {} if self.task is None else {"task": self.task}
        gates = []
        for key, limit in self.gates:
            built, wrong = threshold("--threshold", key, limit, Measurable.in_log(tasks))
            problems += wrong
            gates.append(of_task | (built or {}))
        if problems:
            raise Refused(problems)
        return json.dumps({**self.times, "thresholds": gates})


def _with_tags(tags: dict[str, str], logs: OpenLogs, server: Server | None) -> list[PastRun]:
    every = every_run(logs, server)
    chosen = [one for one in every if tags.items() <= one.facts["tags"].items()]
    if not chosen:
        what = f"none of the {len(every)} runs has the tags {pairs(tags)}" if every else "no runs"
        raise UsageError(f"{what} in {place_of(server)}")
    return chosen


def _named(names: list[str], logs: OpenLogs, server: Server | None) -> list[PastRun]:
    every = [] if all(map(is_file, names)) else every_run(logs, server)
    chosen = [
        past_run(name, logs, server) if is_file(name) else match_run(name, every, place_of(server))
        for name in names
    ]
    return list({one.run: one for one in chosen}.values())


def _judge(question: Question, session: _native.Session, one: PastRun) -> Judgement:
    """Judge one run; a run that is not sealed cannot be judged. Raises Refused."""
    if one.facts["state"] != "sealed":
        return Judgement(one.run, one.facts["scenario"], f"its state is {one.state}")
    reading = indexed(session, one)
    report = json.loads(reading.report_without_series())
    try:
        what_if = question.about([task["name"] for task in report["tasks"]])
        answer = json.loads(reading.verdict(what_if))
    except _native.Refused as refused:
        raise Refused([_problem(one, wrong) for wrong in json.loads(refused.problems)]) from None
    return Judgement.of(one.facts, report, answer)


def _problem(one: PastRun, wrong: dict[str, str]) -> Problem:
    """Name the flag of a problem that the engine found."""
    place = PLACES.get(wrong["field"], "--threshold")
    return Problem(place, f"{wrong['field']} {wrong['rule']} (got {wrong['value']}; run {one.run})")
