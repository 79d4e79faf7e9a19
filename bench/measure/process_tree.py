"""Cost of a program: processor seconds and memory of its tree of processes.

The processor time is the kernel's account of the whole tree after its end (wait4). The share and
the maximum memory of each process come from /proc, sampled ten times a second while the tree runs;
the last sample of a process counts. Processor time in no sample is a figure of its own
(`unseen_secs`), so that the samples can be compared with wait4. Memory is not taken from wait4:
`ru_maxrss` begins with the pages of the forking process, and covers one process only. Only one
measurement runs at a time, and only processes that it started are ended.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.measure import procfs

if TYPE_CHECKING:
    from pathlib import Path

    from bench.measure.procfs import Look

LOOK_SECS = 0.1
"""Interval of samples of the tree."""
SAMPLE_SECS = 1.0
"""Interval of samples that are kept."""
ORPHAN_SECS = 5.0
"""Maximum life of an orphan of a tool before it is killed."""
PR_SET_CHILD_SUBREAPER = 36
"""prctl(2): orphans below this process become its children, so that their time is counted."""


class ToolFault(Exception):
    """A tool did not start, did not end in time, or left no result."""


@dataclass(frozen=True)
class Sample:
    """The tree at one moment."""

    at_us: int
    """µs of CLOCK_REALTIME."""
    looks: dict[int, Look]
    """The last sample of every process so far, by pid."""
    living: frozenset[int]
    """Processes alive at that moment."""


@dataclass(frozen=True)
class Ran:
    """One run of a program."""

    argv: list[str]
    exit_code: int
    stdout: str
    stderr: str
    wall_secs: float
    user_secs: float
    sys_secs: float
    processes: dict[int, Look] = field(repr=False)
    """The last sample of every process of the tree, by pid."""
    samples: list[Sample] = field(default_factory=list, repr=False)
    """The tree, second by second."""

    @property
    def cpu_secs(self) -> float:
        """Processor seconds of the whole tree."""
        return self.user_secs + self.sys_secs

    @property
    def unseen_secs(self) -> float:
        """Processor seconds of the tree that are in no sample."""
        return self.cpu_secs - sum(process.cpu_secs for process in self.processes.values())

    @property
    def rss_max_bytes(self) -> int:
        """Sum of the most memory that each process of the tree had."""
        return sum(process.rss_max_bytes for process in self.processes.values())


def run(
    argv: list[str], core: int | None, folder: Path, environ: dict[str, str], patience_secs: float
) -> Ran:
    """Run a program to its end, on one core if one is named; raises ToolFault."""
    return Running(argv, core, folder, environ, patience_secs).wait()


class Running:
    """A program that runs; `wait` must follow.

    Its output goes to files in `folder`: a full pipe would stop it.
    """

    def __init__(
        self,
        argv: list[str],
        core: int | None,
        folder: Path,
        environ: dict[str, str],
        patience_secs: float,
    ) -> None:
        """Start it; raises ToolFault."""
        self._argv = argv if core is None else ["taskset", "-c", str(core), *argv]
        self._out, self._err = folder / "stdout", folder / "stderr"
        self._patience_secs = patience_secs
        self._before = set(procfs.children(os.getpid()))
        self._began = time.monotonic()
        _adopt(orphans=True)
        try:
            with self._out.open("wb") as stdout, self._err.open("wb") as stderr:
                self._process = subprocess.Popen(
                    self._argv,
                    cwd=folder,
                    env=environ,
                    stdout=stdout,
                    stderr=stderr,
                    stdin=subprocess.DEVNULL,
                )
        except OSError as fault:
            _adopt(orphans=False)
            raise ToolFault(f"{self._argv[0]} did not start: {fault}") from fault
        self.pid = self._process.pid
        self._watch = _Watch(self.pid, self._began + patience_secs)
        self._watch.start()

    def wait(self) -> Ran:
        """Wait for its end and that of its orphans; raises ToolFault."""
        _, status, usage = os.wait4(self.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        wall_secs = time.monotonic() - self._began
        self._watch.stop()
        user_secs, sys_secs = usage.ru_utime, usage.ru_stime
        while orphans := set(procfs.children(os.getpid())) - self._before:
            late = _reap(orphans.pop())
            user_secs, sys_secs = user_secs + late[0], sys_secs + late[1]
        _adopt(orphans=False)
        if self._watch.ended_it:
            patience = f"{self._patience_secs:.0f} s"
            raise ToolFault(f"{self._argv[0]} did not end within {patience}")
        return Ran(
            self._argv,
            self._process.returncode,
            self._out.read_text(errors="replace"),
            self._err.read_text(errors="replace"),
            wall_secs,
            user_secs,
            sys_secs,
            self._watch.processes,
            self._watch.samples,
        )

    def end(self) -> None:
        """End the whole tree at once; `wait` then raises nothing for it."""
        for pid in procfs.tree(self.pid):
            _end(pid)


def _adopt(*, orphans: bool) -> None:
    """Be the parent of orphans below this process, for as long as something is measured."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(orphans), 0, 0, 0)


class _Watch(threading.Thread):
    """Samples a tree until `stop`; kills the tree after its timeout."""

    def __init__(self, root: int, give_up: float) -> None:
        super().__init__(daemon=True)
        self.processes: dict[int, Look] = {}
        self.samples: list[Sample] = []
        self.ended_it = False
        self._root = root
        self._give_up = give_up
        self._over = threading.Event()

    def run(self) -> None:
        """Sample at each interval."""
        keep_at = time.monotonic()
        while not self._over.wait(LOOK_SECS):
            living = self._look()
            if time.monotonic() >= keep_at:
                keep_at += SAMPLE_SECS
                at_us = time.time_ns() // 1_000
                self.samples.append(Sample(at_us, dict(self.processes), living))
            if time.monotonic() > self._give_up and not self.ended_it:
                self.ended_it = True
                for pid in procfs.tree(self._root):
                    _end(pid)

    def stop(self) -> None:
        """End the sampling."""
        self._over.set()
        self.join()

    def _look(self) -> frozenset[int]:
        living = set()
        for pid in procfs.tree(self._root):
            seen = procfs.look(pid)
            if seen is not None:
                self.processes[pid] = seen
                living.add(pid)
        return frozenset(living)


def _reap(pid: int) -> tuple[float, float]:
    """Wait for an orphan, kill it after a timeout; returns its user and system seconds."""
    give_up = time.monotonic() + ORPHAN_SECS
    while True:
        done, _, usage = os.wait4(pid, os.WNOHANG)
        if done:
            return usage.ru_utime, usage.ru_stime
        if time.monotonic() > give_up:
            _end(pid)
        time.sleep(LOOK_SECS / 10)


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
