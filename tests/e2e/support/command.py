"""The `loadpilot` command as a user starts it: a process in a folder of its own.

    finished = loadpilot.run(SHOP, oracle.url, "--agents", "3")
    assert finished.report["arrivals"]["started"] == 4500

Must never read the product's state except from its output and its results file.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tests.e2e.support.processes import Part, Process, children, still_alive

if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence
    from types import TracebackType
    from typing import IO

COMMAND = Path(sys.executable).with_name("loadpilot")
"""The console script of the environment that runs the tests."""
SCENARIOS = Path(__file__).with_name("scenarios")
SEED = "20261120"
END_S = 100.0
"""Timeout of the end of a command, after everything that the test waited for."""
ID_HEADER = "x-request-id"
UNTRUSTED = 3
BUSY_MACHINE = frozenset({"schedule_lag", "agent_cpu", "clock_bound"})
"""Findings of a certificate when other processes used the machine's cores."""
NEVER_BUSY = frozenset({"fenced", "unowned", "no_slot"})
"""Reasons of drops that the certificate blames on the generator, too, and that are not lateness.
With one of them, dropped arrivals are no sign of a busy machine."""
VOID = "VOID: the gates hold, but an INVALID run proves nothing"
"""The verdict of a run whose gates hold and whose certificate is INVALID."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that has ended."""

    code: int
    stdout: str
    stderr: str
    results: Path

    @property
    def report(self) -> dict[str, Any]:
        """The content of the results file."""
        assert self.results.is_file(), f"no results file; standard error:\n{self.stderr}"
        report: dict[str, Any] = json.loads(self.results.read_text(encoding="utf-8"))
        return report

    @property
    def judged(self) -> int:
        """The exit code that the command would have on a quiet machine. Tests of wiring run beside
        compilers, which can make the certificate INVALID; the certificate has tests of its own. A 3
        for any other reason stays a 3."""
        if self.code != UNTRUSTED:
            return self.code
        report = self.report
        if report["run"].get("unanswered") or set(report["calls"]["outcomes"]) == {"connect"}:
            return self.code
        if not _invalid(report) <= _busy(report):
            return self.code
        ended = report["run"]["ending"] in {"completed", "stopped"}
        return (0 if report["verdict"]["passed"] else 1) if ended else self.code

    @property
    def is_void(self) -> bool:
        """Whether the gates hold, and a busy machine alone makes the certificate INVALID."""
        report = self.report
        invalid = _invalid(report)
        is_busy = bool(invalid) and invalid <= _busy(report)
        return is_busy and report["verdict"]["passed"] is True

    @property
    def run(self) -> str:
        """The id of the run, from the line that announces it."""
        return _announced(self.stderr)


class Running:
    """A running command. It is killed at the end of its `with` block."""

    started: ClassVar[list[Running]] = []
    """All commands of this session, or since the list was cleared. Fixtures store their output."""

    def __init__(self, argv: Sequence[str], folder: Path, results: Path) -> None:
        self.results = results
        self.argv = list(argv)
        self.started.append(self)
        outside = ("LOADPILOT_TARGET", "LOADPILOT_TEST_", "GITHUB_")
        environ = {k: v for k, v in os.environ.items() if not k.startswith(outside)}
        # The tests must not write to the home folder of their user.
        environ.setdefault("XDG_STATE_HOME", str(folder.resolve() / ".state"))
        self._process = subprocess.Popen(
            argv,
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._stderr = ""
        self._stdout = ""
        self._readers = [
            threading.Thread(target=self._read_stderr, args=(self._process.stderr,), daemon=True),
            threading.Thread(target=self._read_stdout, args=(self._process.stdout,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        self.end()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def output(self) -> str:
        """Standard error and standard output so far."""
        return self._stderr + self._stdout

    def until(self, text: str, timeout_s: float = 30.0) -> str:
        """Waits for a line of standard error that contains `text`, and returns it. Each call begins
        after the line at which the call before ended."""
        deadline = monotonic() + timeout_s
        while True:
            try:
                line = self._lines.get(timeout=max(0.001, deadline - monotonic()))
            except queue.Empty:
                line = None
            assert line is not None, (
                f"standard error has no line with {text!r} in time:\n{self._stderr}"
            )
            if text in line:
                return line

    def run_id(self) -> str:
        """Waits until the run is announced."""
        return _announced(self.until("run 0", 30.0))

    def supervisor(self) -> Process:
        """The supervisor, which is a child of the command."""
        (supervisor,) = [p for p in children(self.pid) if p.part is Part.SUPERVISOR]
        return supervisor

    def parts(self, part: Part) -> list[Process]:
        """The running processes of one kind, in the order of their start."""
        return [p for p in children(self.supervisor().pid) if p.part is part]

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to the command alone, as a terminal does, since the stack has a session of
        its own."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kills the command by SIGKILL."""
        self._process.kill()

    def end(self, timeout_s: float = END_S) -> Finished:
        """Waits for the end of the command."""
        code = self._process.wait(timeout_s)
        for reader in self._readers:
            reader.join(10.0)
        return Finished(code, self._stdout, self._stderr, self.results)

    def _read_stderr(self, lines: IO[bytes]) -> None:
        with lines:
            for line in map(bytes.decode, lines):
                self._stderr += line
                self._lines.put(line)
        self._lines.put(None)

    def _read_stdout(self, text: IO[bytes]) -> None:
        with text:
            self._stdout = text.read().decode()


class Loadpilot:
    """The `loadpilot` command in one folder, in which it stores its logs."""

    def __init__(self, folder: Path, entry: Sequence[str] = (str(COMMAND),)) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._entry = list(entry)
        self._starts = 0

    @property
    def log(self) -> Path:
        """Folder of its logs."""
        return self.folder / ".loadpilot"

    def start(self, scenario: Path | str, target: str, *flags: str) -> Running:
        """Starts a run of a scenario file, or of the text of one."""
        self._starts += 1
        if isinstance(scenario, str):
            path = self.folder / f"scene_{self._starts}.py"
            path.write_text(scenario, encoding="utf-8")
        else:
            path = scenario
        results = self.folder / f"results-{self._starts}.json"
        argv = ["run", str(path), "--target", target, "--results-json", str(results)]
        argv += [] if "--id-header" in flags else ["--id-header", ID_HEADER]
        argv += [] if "--seed" in flags else ["--seed", SEED]
        return Running([*self._entry, *argv, *flags], self.folder, results)

    def run(self, scenario: Path | str, target: str, *flags: str) -> Finished:
        """Runs a scenario to its end."""
        with self.start(scenario, target, *flags) as running:
            return running.end()

    def begin(self, *argv: str) -> Running:
        """Starts any other command."""
        return Running([*self._entry, *argv], self.folder, self.folder / "none.json")

    def call(self, *argv: str) -> Finished:
        """Runs any other command to its end."""
        with self.begin(*argv) as running:
            return running.end()


def assert_ended(processes: list[Process], within_s: float) -> None:
    """Asserts that all of these processes end within a time."""
    alive = still_alive(processes, within_s)
    assert alive == [], f"still alive after {within_s} s"


def _invalid(report: dict[str, Any]) -> set[str]:
    """The kinds of findings that make the certificate INVALID."""
    findings = report["certificate"]["findings"]
    return {finding["kind"] for finding in findings if finding["grade"] == "INVALID"}


def _busy(report: dict[str, Any]) -> frozenset[str]:
    """The kinds of findings that a busy machine explains: dropped arrivals when all that count as
    the generator's were late."""
    dropped = {reason for reason, count in report["arrivals"]["dropped"].items() if count}
    return BUSY_MACHINE if dropped & NEVER_BUSY else BUSY_MACHINE | {"generator_drops"}


def _announced(text: str) -> str:
    return next(
        line.split()[1].rstrip(",") for line in text.splitlines() if line.startswith("run 0")
    )
