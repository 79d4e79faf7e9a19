"""What a program cost: processor seconds and memory of it and all that it started.

The processor time is the kernel's account of the whole tree after its end (wait4). Who in the tree
spent it, and how much memory each process had at most, is read from /proc while it runs. Memory is
not taken from wait4: `ru_maxrss` begins with the pages of whoever forked, and knows one process
only. Must never run beside another measurement, and ends nothing but what it started.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLE_SECS = 0.1
"""How often the tree is looked at."""
ORPHAN_SECS = 5.0
"""How long what a tool leaves behind may go on before it is ended."""
PR_SET_CHILD_SUBREAPER = 36
"""Makes orphans below this process its children, so that their time is not lost (prctl(2))."""
TICKS_PER_SEC = os.sysconf("SC_CLK_TCK")


class ToolFault(Exception):
    """A tool did not start, did not end in time, or left no result."""


@dataclass
class Process:
    """One process of the tree, as it was last seen."""

    name: str
    cpu_secs: float
    rss_max_bytes: int


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
    processes: dict[int, Process] = field(repr=False)

    @property
    def cpu_secs(self) -> float:
        """Processor seconds of the whole tree."""
        return self.user_secs + self.sys_secs

    @property
    def rss_max_bytes(self) -> int:
        """Sum of the most memory that each process of the tree had."""
        return sum(process.rss_max_bytes for process in self.processes.values())

    def of(self, word: str) -> list[Process]:
        """Choose the processes whose command has this word."""
        return [process for process in self.processes.values() if word in process.name]


def run(
    argv: list[str], core: int | None, folder: Path, environ: dict[str, str], patience_secs: float
) -> Ran:
    """Run a program to its end, on one core if one is named; raises ToolFault.

    What it prints goes to files in `folder`: a pipe that nobody empties would stop it.
    """
    pinned = argv if core is None else ["taskset", "-c", str(core), *argv]
    out, err = folder / "stdout", folder / "stderr"
    before = set(children(os.getpid()))
    began = time.monotonic()
    with out.open("wb") as stdout, err.open("wb") as stderr, _adopting():
        try:
            process = subprocess.Popen(
                pinned,
                cwd=folder,
                env=environ,
                stdout=stdout,
                stderr=stderr,
                stdin=subprocess.DEVNULL,
            )
        except OSError as fault:
            raise ToolFault(f"{pinned[0]} did not start: {fault}") from fault
        watch = _Watch(process.pid, began + patience_secs)
        watch.start()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall_secs = time.monotonic() - began
        watch.stop()
        user_secs, sys_secs = usage.ru_utime, usage.ru_stime
        while orphans := set(children(os.getpid())) - before:
            late = _reap(orphans.pop())
            user_secs, sys_secs = user_secs + late[0], sys_secs + late[1]
    if watch.ended_it:
        raise ToolFault(f"{argv[0]} did not end within {patience_secs:.0f} s")
    return Ran(
        pinned,
        process.returncode,
        out.read_text(errors="replace"),
        err.read_text(errors="replace"),
        wall_secs,
        user_secs,
        sys_secs,
        watch.processes,
    )


@contextmanager
def _adopting() -> Iterator[None]:
    """Be the parent of orphans below this process, for as long as something is measured."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def cpu_secs(pid: int) -> float:
    """Read what a process has spent so far, all its threads together; 0 if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    fields = text.rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SEC


def children(pid: int) -> list[int]:
    """List the processes that any thread of this one started."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(child) for child in task.read_text(encoding="ascii").split()]
        except OSError:
            continue
    return found


class _Watch(threading.Thread):
    """Looks at a tree until it is told to stop; ends the tree when its time is over."""

    def __init__(self, root: int, give_up: float) -> None:
        super().__init__(daemon=True)
        self.processes: dict[int, Process] = {}
        self.ended_it = False
        self._root = root
        self._give_up = give_up
        self._over = threading.Event()

    def run(self) -> None:
        """Look, wait, look again."""
        while not self._over.wait(SAMPLE_SECS):
            tree = self._look()
            if time.monotonic() > self._give_up and not self.ended_it:
                self.ended_it = True
                for pid in tree:
                    _end(pid)

    def stop(self) -> None:
        """Take no further look."""
        self._over.set()
        self.join()

    def _look(self) -> list[int]:
        tree, rest = [], [self._root]
        while rest:
            pid = rest.pop()
            tree.append(pid)
            rest += children(pid)
            seen = _process(pid)
            if seen is not None:
                self.processes[pid] = seen
        return tree


def _process(pid: int) -> Process | None:
    try:
        name = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return None
    peak = next((line for line in status.splitlines() if line.startswith("VmHWM:")), None)
    if peak is None or not name:
        return None  # it ended, and nobody has waited for it yet
    return Process(name, cpu_secs(pid), int(peak.split()[1]) * 1024)


def _reap(pid: int) -> tuple[float, float]:
    """Wait for an orphan of the tree, not for ever, and say what it spent."""
    give_up = time.monotonic() + ORPHAN_SECS
    while True:
        done, _, usage = os.wait4(pid, os.WNOHANG)
        if done:
            return usage.ru_utime, usage.ru_stime
        if time.monotonic() > give_up:
            _end(pid)
        time.sleep(SAMPLE_SECS / 10)


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
