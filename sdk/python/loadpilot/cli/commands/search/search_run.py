"""``loadpilot search``: probes, one run after the other, until the engine has found the rate.

The command keeps nothing: each probe is a run with the tags of the search, and the engine folds
them. A search that was interrupted goes on from its runs.
"""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from .... import _native
from ....control.exit_code import ExitCode, ending_code
from ....control.figures import number, seconds
from ....control.nats_settings import Server
from ....control.run_list import OpenLogs, UnknownRun
from ....control.signals import Interruptions
from ....control.terminal import note, safe, say, write_result
from ....inputs.units import duration_us
from ....local.folders import ROOT, running
from ....local.stack import LogUnavailable, StackFault, is_running, relay_events
from ....problem import Problem, Refused
from ...configuration.option import SECRET
from ...flags.options import SEED_MAX
from ...output.live import PlanInfo, is_redrawable
from ...output.log_unavailable import report_log_unavailable
from ...output.opening import agents_text
from ...output.refusal import refuse
from ...output.run_end import Case, Kind, RunEnd
from ...output.verdict import ending_lines
from ..run import Run, execute, product
from .probe_plan import probe_plan
from .probe_view import ProbeView, StepView
from .search_list import find_search, judge
from .search_text import GENERATOR, conclusion, gate_text, probe_line, rate, result_lines

if TYPE_CHECKING:
    from ....compile.plan import Compiled
    from ....control.protocols import Session, View
    from ....local.stack import LocalStack
    from ...flags.options import Options
    from .search_flags import SearchFlags, SearchOptions
    from .search_list import PastSearch

POLL_SECS = 0.2
"""Maximum delay until an interruption is handled in a pause."""
STACK_ENDS_SECS = 5.0
"""Timeout for the stack of a command that was killed to end."""
FOUND = "Maximum working rate"
"""Name of the case of the result."""
RESUME = "--resume"
SECRET_FLAGS = frozenset(f"--{name.replace('_', '-')}" for name in SECRET)
"""Flags whose values no message may show."""
ELIDED = "…"
URL_SUFFIX = "-url"
"""End of flags whose values may have a password."""


def search(file: str | None, flags: SearchFlags) -> ExitCode:
    """Search, and print the probes and the result."""
    if not file:
        what = "no scenario file was named; write `loadpilot search scenario.py --slo p95_ms=200`"
        if flags.resume is not None:
            what = f"is needed: write the command that began search {flags.resume}, and {RESUME}"
        return refuse([Problem("FILE", what)])
    with product(flags) as stdout:
        return execute((file,), flags, stdout, _prepare)


def _prepare(options: Options, problems: list[Problem]) -> tuple[Options, Compiled]:
    """Compile the first probe, of a search that goes on with its id; raises Refused."""
    wanted = options.search
    assert wanted is not None, "the flags are those of a search"  # noqa: S101
    if problems:
        # A rate or a duration that is invalid must not be refused a second time.
        raise Refused([])
    probes: list[dict[str, Any]] = []
    if wanted.resume is not None:
        wanted, probes = _resumed(wanted, wanted.resume, options)
    options = replace(options, search=wanted, probes=tuple(probes))
    return options, probe_plan(options, wanted, wanted.settings["start_urps"])


def _resumed(
    wanted: SearchOptions, name: str, options: Options
) -> tuple[SearchOptions, list[dict[str, Any]]]:
    """Read the probes of the search to go on with; raises Refused."""
    fleet = options.fleet.server if options.fleet is not None else None
    server = fleet if isinstance(fleet, Server) else None
    past, probes = _past(name, server)
    wanted = replace(wanted, id=past.id)
    for one in probes:
        if one["settings"] != wanted.settings:
            raise Refused([Problem(RESUME, _other_settings(one["settings"], wanted))])
        plan = probe_plan(options, wanted, one["probe"]["rate_urps"])
        facts = json.loads(_native.plan_facts(plan.plan_json(), options.seed))
        if facts["hash"] != one["plan_hash"]:
            what = (
                f"search {past.id} probes another plan than this command: scenario, target and "
                "flags must be those of its begin"
            )
            raise Refused([Problem(RESUME, what)])
    return wanted, [one["probe"] for one in probes]


def _past(name: str, server: Server | None) -> tuple[PastSearch, list[dict[str, Any]]]:
    """Read a search and its probes; raises Refused for one that goes on.

    The stack of a command that was killed ends first.
    """
    deadline = monotonic() + STACK_ENDS_SECS
    while True:
        # Reading a log starts a stack, too: those that run are listed before.
        alive = [log for log in running(ROOT) if is_running(log)]
        with Interruptions() as interruptions, OpenLogs(interruptions) as logs:
            try:
                past = find_search(name, logs, server)
            except UnknownRun as unknown:
                raise Refused([Problem(RESUME, str(unknown))]) from None
            probes = past.probes(logs)
        going = [one.run for one in past.runs if not one.is_over and one.log in alive]
        if not going:
            return past, probes
        if monotonic() > deadline:
            what = f"search {past.id} goes on: its probe {going[0]} is not over"
            raise Refused([Problem(RESUME, what)])
        sleep(POLL_SECS)


def _other_settings(before: dict[str, int], wanted: SearchOptions) -> str:
    now = wanted.settings
    before_text, now_text = _settings_text(before), _settings_text(now)
    other = [f"{flag} was {text}" for flag, text in before_text.items() if now_text[flag] != text]
    return f"must have the settings with which search {wanted.id} began: {', '.join(other)}"


def _settings_text(settings: dict[str, int]) -> dict[str, str]:
    """Write the settings of a search by their flags."""
    return {
        "--start": rate(settings["start_urps"]),
        "--limit": rate(settings["limit_urps"]),
        "--precision": f"{settings['precision_ppm'] / 10_000:g}",
        "--confirm": str(settings["confirm"]),
    }


class SearchRun(Run):
    """Many runs, one for each probe, on one stack or fleet."""

    probes: list[dict[str, Any]]
    """The probes so far."""
    _purpose = ""

    @property
    def wanted(self) -> SearchOptions:
        """The settings of the search."""
        assert self.options.search is not None  # noqa: S101
        return self.options.search

    def play(self, session: Session, stack: LocalStack | None, log: str) -> ExitCode:
        """Probe until the rate is known."""
        self.probes = list(self.options.probes)
        for place, probe in enumerate(self.probes, 1):
            self._print(probe_line(place, "before", probe))
        try:
            while True:
                found = self.judged()
                if found["next"] is None:
                    return self.finish(found, self._code(found))
                if not self._rest(stack):
                    return self.finish(found, self.interruptions.first or ExitCode.INTERRUPTED)
                code = self._probe(found["next"], session, stack, log)
                if code is not None:
                    return self.finish(self.judged(), code)
        except Refused as refused:
            # The scenario, or a file that it reads, is another than at the begin.
            return self.finish(self.judged(), refuse(refused.problems, "the search ends here"))
        except LogUnavailable as fault:
            folder = stack.log_dir if stack is not None else None
            return self.finish(self.judged(), report_log_unavailable(fault, folder))
        except (StackFault, _native.Fault, _native.Refused, OSError) as fault:
            return self.finish(self.judged(), self.failed(fault))
        finally:
            session.close()

    def judged(self) -> dict[str, Any]:
        """Judge the search by its probes."""
        wanted, plan = self.wanted, self.compiled.plan
        head = {"id": wanted.id, "settings": wanted.settings}
        named = {"scenario": plan["scenario"], "target_url": plan["target"]}
        return judge({**head, **named}, self.probes)

    def _probe(
        self, wanted: dict[str, Any], session: Session, stack: LocalStack | None, log: str
    ) -> ExitCode | None:
        """Make one probe; returns a code where the search cannot go on."""
        # A confirmation must not repeat the arrivals of the probe that it confirms.
        seed = (self.options.seed + 1) % (SEED_MAX + 1)
        self.options = replace(self.options, seed=seed)
        self.compiled = probe_plan(self.options, self.wanted, wanted["rate_urps"])
        self._purpose, before = wanted["purpose"], len(self.probes)
        code = self.played(session, stack, log)
        if len(self.probes) == before:
            return code
        probe = self.probes[-1]
        self._print(probe_line(len(self.probes), self._purpose, probe))
        match probe["verdict"]:
            case "no_server":
                return ExitCode.INCOMPLETE
            case "unjudged":
                return code if code is not ExitCode.PASSED else ExitCode.INCOMPLETE
            case _:
                return self.interruptions.first

    def end(self, report_json: str, session: Session, run: str) -> ExitCode:  # noqa: ARG002
        """Read the result of a probe from its run."""
        probe = json.loads(_native.search_probe(report_json))["probe"]
        self.probes.append(probe)
        report = json.loads(report_json)
        if probe["verdict"] == "unjudged":
            for label, text in ending_lines(report):
                note(f"{label} {text}".strip())
        return ending_code(report, self.interruptions.first, fault=False)

    def screen(self, session: Session) -> View:
        """Show a probe in one line at a terminal, and elsewhere only lines that users must know."""
        info = PlanInfo.of(self.compiled.plan, judges=session.judges)
        if is_redrawable() and not self.options.quiet:
            return ProbeView(info, note, sys.stderr)
        return StepView(info, note)

    def announce(self, run: str, log: str) -> None:
        """Print the run of a probe with --verbose only: the line of the probe names it."""
        if self.options.verbose:
            note(f"run {run}, log {log}")

    def opening(self) -> None:
        """Print the settings of the search, and the command that continues it."""
        wanted, plan = self.wanted, self.compiled.plan
        gates = json.loads(_native.plan_gates(self.compiled.plan_json()))
        start, limit = rate(wanted.settings["start_urps"]), rate(wanted.settings["limit_urps"])
        precise = f"to {wanted.settings['precision_ppm'] / 10_000:g} %"
        probe_us = duration_us("--probe", wanted.probe)
        warm_up = f", of which warm-up {seconds(plan['warm_up_us'])}" if plan["warm_up_us"] else ""
        confirm = number(wanted.settings["confirm"])
        pause = f"{seconds(wanted.cooldown_us)} of pause after a failure"
        note(f"LoadPilot  search of {safe(plan['scenario'])} → {safe(plan['target'])}")
        note(f"  rates      from {start} on, at most {limit}, {precise}; confirmed {confirm} times")
        note(f"  probes     {seconds(probe_us)} each{warm_up}; {pause}")
        note(f"  works with {gate_text(gates)}")
        note(f"  on         {agents_text(self.options)}")
        note(f"search {wanted.id}; if it is interrupted: {self._resume_command()}")

    def without_report(self, code: ExitCode, why: str) -> ExitCode:
        """Keep the code of a run without a report; the end of the search writes the files."""
        if self._purpose:
            return code
        return super().without_report(code, why)

    def finish(self, found: dict[str, Any], code: ExitCode) -> ExitCode:
        """Print the result and write the files; returns the exit code."""
        end = self.options.files.publish(self._end_of(found, code), None)
        if self.options.prints_report:
            write_result(f"{json.dumps(found, ensure_ascii=False)}\n", self.stdout)
        elif self.options.quiet:
            write_result(f"{conclusion(found)}\n", self.stdout)
        else:
            lines = "".join(f"{line}\n" for line in result_lines(found))
            write_result(lines, self.stdout)
        if found["next"] is not None:
            say(f"go on with it: {self._resume_command()}")
        return end.code

    def _code(self, found: dict[str, Any]) -> ExitCode:
        """Choose the code of a search that is over."""
        is_generators = found["limited_by"] == GENERATOR
        if found["state"] == "unsettled":
            return ExitCode.INCOMPLETE
        if is_generators and self.options.strict:
            return ExitCode.INCOMPLETE
        least = self.wanted.at_least_urps
        if found["state"] != "no_rate" and (
            least is None or round(found["max_rate_rps"] * 1e6) >= least
        ):
            return ExitCode.PASSED
        return ExitCode.INCOMPLETE if is_generators else ExitCode.GATE_FAILED

    def _end_of(self, found: dict[str, Any], code: ExitCode) -> RunEnd:
        """Describe the search as test cases: its result, then its probes."""
        kinds = {ExitCode.PASSED: Kind.PASSED, ExitCode.GATE_FAILED: Kind.FAILURE}
        kind = kinds.get(code, Kind.ERROR)
        if kind is Kind.PASSED and found["limited_by"] == GENERATOR:
            kind = Kind.DOUBTFUL
        lines = [conclusion(found), *map(safe, found["remarks"])]
        least = self.wanted.at_least_urps
        if least is not None:
            lines.append(f"must be at least {rate(least)}")
        probes = [
            Case(
                f"Probe {place}: {rate(probe['rate_urps'])}",
                Kind.PASSED,
                probe_line(place, "", probe),
            )
            for place, probe in enumerate(found["probes"], 1)
        ]
        cases = (Case(FOUND, kind, "\n".join(lines)), *probes)
        return RunEnd(found["scenario"], None, code, cases)

    def _rest(self, stack: LocalStack | None) -> bool:
        """Wait after a probe that failed; False when the user interrupts."""
        is_failed = bool(self.probes) and self.probes[-1]["verdict"] == "failed"
        deadline = monotonic() + (self.wanted.cooldown_us / 1e6 if is_failed else 0.0)
        while monotonic() < deadline and not self.interruptions.any():
            wait_secs = min(POLL_SECS, max(0.001, deadline - monotonic()))
            if stack is None:
                sleep(wait_secs)
            else:
                relay_events(stack, say, wait_secs)
        return not self.interruptions.any()

    def _print(self, line: str) -> None:
        """Print the line of a probe: the result for people, else a note."""
        if self.options.prints_report or self.options.quiet:
            note(line)
        else:
            write_result(f"{line}\n", self.stdout)

    def _resume_command(self) -> str:
        """Write the command that goes on with the search."""
        words = sys.argv[1:] if sys.argv[1:2] == ["search"] else ["search", ELIDED]
        return resume_command(words, self.wanted.id)


def _public(flag: str, value: str) -> str:
    """Write the value of a flag without secrets in it."""
    if flag in SECRET_FLAGS:
        return ELIDED
    return _native.shown_address(value) if flag.endswith(URL_SUFFIX) else value


def resume_command(words: list[str], search: str) -> str:
    """Write the command that goes on with a search that these words began; without secrets."""
    kept: list[str] = []
    flag = ""
    for word in words:
        name, equals, value = word.partition("=")
        if flag:
            kept.append(_public(flag, word))
        else:
            kept.append(f"{name}={_public(name, value)}" if equals else word)
        opens = not flag and (word in SECRET_FLAGS or word.endswith(URL_SUFFIX))
        flag = word if opens else ""
    if RESUME not in kept:
        kept += [RESUME, search]
    return safe(f"loadpilot {shlex.join(kept)}".replace(f"'{ELIDED}'", ELIDED))
