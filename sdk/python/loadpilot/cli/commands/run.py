"""``loadpilot run``: from a scenario file to a summary and an exit code.

Flags and scenario are read and compiled before anything is started, so that a mistake costs
nothing. Modules that only the end needs are imported while the stack starts.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import json
import sys
from contextlib import contextmanager, redirect_stdout
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

from ... import _native
from ...control.exit_code import ExitCode, exit_code
from ...control.figures import plural
from ...control.identity import author, new_claimant
from ...control.signals import Interruptions
from ...control.terminal import (
    Notes,
    drop_output,
    note,
    safe,
    safe_lines,
    say,
    write_product,
    write_result,
)
from ...local import teardown_locks
from ...local.folders import ROOT, log_dirs
from ...local.log_readers import connect
from ...local.stack import LocalStack, LogUnavailable, StackFault
from ...problem import Problem, Refused
from ..configuration.sources import current
from ..flags import allow
from ..flags.options import MISSING, read
from ..flags.run_flags import TEXT
from ..output.log_unavailable import report_log_unavailable
from ..output.opening import (
    opening,
)
from ..output.refusal import refuse
from ..plan_check import check, of_files
from ..scenario_selection import is_interactive, select
from ..sinks.outs import end_scrapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ..._generated.report import Report
    from ...compile.plan import Compiled
    from ...control.coordinator_address import Api
    from ...control.nats_settings import Server
    from ...control.protocols import Session, View
    from ...control.teardown_ledger import Ledger
    from ..flags.options import Options
    from ..flags.run_flags import RunFlags
    from ..output.run_end import RunEnd


Prepare: TypeAlias = "Callable[[Options, list[Problem]], tuple[Options, Compiled]]"
"""Compiles the scenarios that the options name; gets the problems found so far. Raises Refused."""
DETACH_SECS = 15.0
"""Timeout of a detached run for a coordinator to take it."""
DETACH_POLL_SECS = 0.2


def run(file: str | None, flags: RunFlags, more: Sequence[str] = ()) -> ExitCode:
    """Run the command; if the result is JSON, output of the scenario goes to standard error."""
    with product(flags) as stdout:
        if not file and is_interactive():
            # Mistakes in flags are reported before the user is asked for anything.
            _, problems = read(None, flags, current().environ)
            mistakes = [problem for problem in problems if problem.what != MISSING]
            chosen = refuse(mistakes) if mistakes else select(flags)
            if isinstance(chosen, ExitCode):
                return chosen
            file, flags = chosen
        return execute((file, *more), flags, stdout, of_files)


def run_prepared(name: str, flags: RunFlags, prepare: Prepare) -> ExitCode:
    """Run what ``prepare`` compiles in place of scenario files; ``name`` stands for them."""
    with product(flags) as stdout:
        return execute((name,), flags, stdout, prepare)


@contextmanager
def product(flags: RunFlags) -> Iterator[TextIO]:
    """Yield standard output for the result; beside data a scenario prints to standard error."""
    Notes.are_shown = not flags.quiet
    stdout = sys.stdout
    with redirect_stdout(stdout if flags.output == TEXT else sys.stderr):
        yield stdout


def execute(
    files: Sequence[str | None], flags: RunFlags, stdout: TextIO, prepare: Prepare
) -> ExitCode:
    """Read the flags, compile, and run."""
    sources = current()
    for line in sources.warnings:
        note(f"warning: {line}")
    options, problems = read(files[0], flags, sources.environ, files[1:])
    if options is None:
        # There is no scenario file, which is among the problems.
        return refuse(problems)
    try:
        options, compiled = prepare(options, problems)
        check(compiled, options)
    except Refused as refused:
        return refuse([*problems, *refused.problems])
    if problems:
        return refuse(problems)
    if options.dry_run:
        from .project.dry_run import dry_run

        return dry_run(compiled, options, stdout)
    with Interruptions() as interruptions:
        if options.calls is not None:
            interruptions.watch_pipe(stdout)
        try:
            code = _kind(options)(compiled, options, interruptions, stdout).execute()
            end_scrapes(options.outs, interruptions)
        except KeyboardInterrupt:
            return interruptions.first or ExitCode.INTERRUPTED
        return code


def _kind(options: Options) -> type[Run]:
    if options.search is not None:
        from .search.search_run import SearchRun

        return SearchRun
    if options.sides is not None:
        from .comparison.versus import VersusRun

        return VersusRun
    return Run


class Run:
    """One run, on a local stack or on a fleet."""

    def __init__(
        self,
        compiled: Compiled,
        options: Options,
        interruptions: Interruptions,
        stdout: TextIO,
    ) -> None:
        """Keep the compiled scenario, the options and where the result is printed."""
        self.compiled = compiled
        self.options = options
        self.interruptions = interruptions
        self.stdout = stdout
        self.owner = new_claimant()
        """The id under which this command sends signs of life."""

    def execute(self) -> ExitCode:
        """Run and summarise; a stack that was started for the run is always stopped."""
        if self.options.fleet is not None:
            return self.on_fleet(self.options.fleet.server)
        try:
            listen = self.options.listen
            opened = allow.arguments(self.options.allow_target)
            listen_arguments = listen.arguments() if listen else ()
            local_agents = self.options.local_agents
            further = allow.proxy_arguments(self.compiled.plan)
            if self.compiled.row_folder is not None:
                further += ["--feeds", str(self.compiled.row_folder)]
            stack = LocalStack.for_run(ROOT, local_agents, listen_arguments, opened, further)
        except StackFault as fault:
            return self.failed(fault)
        try:
            return self.on(stack)
        except LogUnavailable as fault:
            return self.without_log(fault, stack.log_dir)
        except StackFault as fault:
            return self.failed(fault)
        except (_native.Fault, _native.Refused, OSError) as fault:
            return self.failed(fault, stack.log_dir)
        finally:
            stack.stop()

    def on_fleet(self, server: Server | Api) -> ExitCode:
        """Run on the agents of a fleet."""
        self.opening()
        try:
            return self.play(server.join(), None, server.place)
        except LogUnavailable as fault:
            return self.without_log(fault, None)
        except (_native.Fault, _native.Refused, StackFault, OSError) as fault:
            return self.failed(fault)

    def on(self, stack: LocalStack) -> ExitCode:
        """Run on a stack that is starting."""
        self.opening()
        for line in self.warnings():
            note(f"warning: {line}")
        address = stack.ready(self.interruptions.any)
        if address is None:
            return self.cancelled()
        if stack.listening is not None:
            from ..flags.listen_flags import invitation

            say(safe_lines(invitation(stack.listening)))
        session = connect(address)
        if any(teardown_locks.owed_runs(log_dirs(ROOT))):
            from .teardown import play_earlier_teardowns

            play_earlier_teardowns(session, address.log_dir, self.interruptions)
        return self.play(session, stack, str(stack.log_dir))

    def play(self, session: Session, stack: LocalStack | None, log: str) -> ExitCode:
        """Play the run, and close the session."""
        try:
            return self.played(session, stack, log)
        finally:
            session.close()

    def played(self, session: Session, stack: LocalStack | None, log: str) -> ExitCode:
        """Request the run with its hooks, follow it and summarise it."""
        if self.interruptions.any():
            return self.cancelled()
        run = _native.new_run_id()
        hooks = self.compiled.hooks
        fleet = self.options.fleet
        if fleet is not None and fleet.detach:
            return self.detach(session, run)
        if hooks is None:
            run = self.follow(self.compiled, run, session, (stack, log))
        else:
            from ..hooks import HookFailed, RequestedRun, play_hooks

            requested = RequestedRun(run, self.options.seed, self.options.allow_target)
            ledger = self.ledger(session, run, stack)
            try:
                with play_hooks(
                    self.compiled, hooks, requested, self.interruptions, ledger
                ) as compiled:
                    run = self.follow(compiled, run, session, (stack, log))
            except HookFailed as failed:
                return self.failed_before(failed)
        return self.end(session.report(run), session, run)

    def ledger(self, session: Session, run: str, stack: LocalStack | None) -> Ledger:
        """Open the record of the teardown that this command owes."""
        from ...control.teardown_ledger import Ledger

        lock = None
        if stack is not None and stack.log_dir is not None:
            lock = teardown_locks.acquire(stack.log_dir, run)
        return Ledger(session.ledger(run, self.owner), run, self.owner, lock)

    def follow(
        self,
        compiled: Compiled,
        run: str,
        session: Session,
        source: tuple[LocalStack | None, str],
    ) -> str:
        """Request the run and follow it to its end; returns its id."""
        from ...control.follow import Follower
        from ..sinks.live_sinks import live_sinks

        stack, log = source
        request = self.request(compiled.plan)
        run = session.submit(request, compiled.secrets, compiled.beside(), run)
        self.announce(run, log)
        options, verbose = self.options, self.options.verbose
        holds = bool(compiled.plan.get("hold"))
        with live_sinks(options.outs, session, run, self.stdout):
            screen = self.screen(session)
            try:
                follower = Follower(
                    session, run, screen, self.interruptions, verbose, options.aborts, holds=holds
                )
                follower.follow(stack)
            finally:
                screen.close()
        return run

    def announce(self, run: str, log: str) -> None:
        """Print the id of the run, and where its log is."""
        note(f"run {run}, log {log}")

    def screen(self, session: Session) -> View:
        """Open the live view."""
        from ..output.live import PlanInfo, view

        return view(PlanInfo.of(self.compiled.plan, judges=session.judges))

    def detach(self, session: Session, run: str) -> ExitCode:
        """Request the run, wait until a coordinator takes it, and print its id."""
        compiled = self.compiled
        request = self.request(compiled.plan)
        run = session.submit(request, compiled.secrets, compiled.beside(), run)
        watch = session.watch(run)
        deadline = monotonic() + DETACH_SECS
        while monotonic() < deadline and not self.interruptions.any():
            change = json.loads(watch.next(DETACH_POLL_SECS) or "{}")
            if "sealed" in change:
                return self.end(session.report(run), session, run)
            if "snapshot" in change:
                write_product(f"{run}\n")
                say(f"detached; see it: loadpilot watch {run}, end it: loadpilot stop {run}")
                return ExitCode.PASSED
        session.stop(run, author())
        say(f"error: no coordinator took run {run} within {DETACH_SECS:.0f} s; it was called off")
        return exit_code(None, self.interruptions.first, strict=False, fault=True)

    def failed_before(self, failed: Exception) -> ExitCode:
        """Print why the run was not requested: a hook before it failed or was interrupted."""
        if self.interruptions.any():
            return self.cancelled()
        say(f"error: {safe_lines(str(failed))}")
        say("the run was not asked for; no agent sent anything")
        return self.without_report(ExitCode.INCOMPLETE, str(failed))

    def request(self, plan: dict[str, Any]) -> str:
        """Write the request for the run."""
        agents, fleet = self.options.agents, self.options.fleet
        is_detached = fleet is not None and fleet.detach
        request = {
            "plan": plan,
            "seed": self.options.seed,
            "agents": {"want": agents.want, "min": agents.least, "wait_us": agents.wait_us},
            "owner": None if is_detached else self.owner,
            "lead_us": agents.lead_us,
            "needs": list(agents.needs),
        }
        # Coordinators of an earlier version refuse the key.
        if self.options.no_early_abort:
            request["no_early_abort"] = True
        return json.dumps(request, ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    def opening(self) -> None:
        """Print the opening, and a note about settings that slow the requests of the plan down."""
        from ...compile.json_tensors import note_of

        note(opening(self.compiled, self.options))
        compiled = self.compiled
        slow = note_of(compiled.plan, compiled.bodies, compiled.json_tensors)
        if slow is not None:
            note(f"note: {safe(slow)}")

    def warnings(self) -> list[str]:
        """List warnings about limits of this machine and rows of feeds, while agents start."""
        from ..preflight import Machine, feeds_of, repeated_rows, warnings

        plan, agents = self.compiled.plan, max(1, self.options.local_agents)
        lines = warnings(plan, agents, Machine.this(plan["target"]))
        if feeds_of(plan):
            facts = json.loads(_native.plan_facts(self.compiled.plan_json(), self.options.seed))
            lines += repeated_rows(plan, facts["planned_per_task"])
        return lines

    def end(self, report_json: str, session: Session, run: str) -> ExitCode:
        """Print the summary, write the requested files, choose the code."""
        from ..output.results import Reported
        from ..output.run_end import RunEnd

        options = self.options
        report = json.loads(report_json)
        end = self.ended(
            RunEnd.of(report, self.interruptions.first, strict=options.strict), session
        )
        if not self.write_samples(session, run):
            end = end.lacking("--samples")
        if not self.write_calls(session, run):
            end = end.lacking("--output")
        if not self.save_baseline(session, run):
            end = end.lacking("--save-baseline")
        end = options.files.publish(end, Reported(report_json, session, run))
        # Rows of an output are all of standard output.
        has_rows = options.calls is not None or any(out.is_standard_output for out in options.outs)
        product = sys.stderr if has_rows else self.stdout
        write_result(self.result(report_json, report), product)
        return end.code

    def ended(self, end: RunEnd, session: Session) -> RunEnd:  # noqa: ARG002  (for subclasses)
        """Return the end of the run, with the results of further judgements."""
        return end

    def result(self, report_json: str, report: Report) -> str:
        """Write the result in the requested form."""
        from ..output.summary import summary
        from ..output.verdict import head

        if self.options.prints_report:
            return f"{report_json}\n"
        return head(report) if self.options.quiet else summary(report, verbose=self.options.verbose)

    def save_baseline(self, session: Session, run: str) -> bool:
        """Save the parts of the run if --save-baseline is set; False when that failed."""
        from ...local.baseline import BASELINE, NoBaseline, text_of, unfit, with_run
        from ..output import results

        if not self.options.save_baseline:
            return True
        try:
            parts = json.loads(session.parts(run))
            reason = unfit(parts)
            if reason is not None:
                say(f"baseline not saved: {reason}")
                return True
            runs = with_run(BASELINE, parts, append=self.options.append)
            with results.draft(BASELINE) as file:
                file.write_text(text_of(runs), encoding="utf-8")
        except (OSError, _native.Fault, _native.Refused, NoBaseline) as error:
            say(f"error: --save-baseline: {safe_lines(str(error))}")
            return False
        say(f"baseline {BASELINE}: {plural(len(runs), 'run')}")
        return True

    def write_samples(self, session: Session, run: str) -> bool:
        """Write the table of calls if --samples is set; False when that failed."""
        from ..output import results

        path = self.options.samples
        if path is None:
            return True
        try:
            note(results.write_samples(path, session, run))
        except (OSError, _native.Fault, _native.Refused) as error:
            say(f"error: --samples: {path} could not be written: {safe_lines(str(error))}")
            return False
        return True

    def write_calls(self, session: Session, run: str) -> bool:
        """Write the calls to standard output if --output wants them; False when that failed."""
        from ..output import results

        form = self.options.calls
        if form is None:
            return True
        try:
            note(results.write_calls(self.stdout, session, run, form))
        except BrokenPipeError:
            # The reader of standard output has closed it, and needs no more.
            drop_output(self.stdout)
        except (OSError, _native.Fault, _native.Refused) as error:
            say(f"error: --output: the calls could not be written: {safe_lines(str(error))}")
            return False
        return True

    def cancelled(self) -> ExitCode:
        """End before the run is requested."""
        why = "interrupted before the run was started"
        say(why)
        code = exit_code(None, self.interruptions.first, strict=self.options.strict)
        return self.without_report(code, why)

    def failed(self, fault: Exception, log_dir: Path | None = None) -> ExitCode:
        """Print the fault and the folder of its logs."""
        where = f" (logs: {log_dir})" if log_dir is not None else ""
        say(f"error: {safe_lines(str(fault))}{where}")
        return self.without_report(ExitCode.INFRASTRUCTURE, str(fault))

    def without_log(self, fault: LogUnavailable, log_dir: Path | None) -> ExitCode:
        """Print that the log cannot be written to."""
        return self.without_report(report_log_unavailable(fault, log_dir), str(fault))

    def without_report(self, code: ExitCode, why: str) -> ExitCode:
        """Write the files of a run that has no report; returns its exit code."""
        from ..output.run_end import RunEnd

        end = RunEnd.without_report(self.compiled.plan["scenario"], code, why)
        return self.options.files.publish(end, None).code
