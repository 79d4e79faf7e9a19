"""The hottest symbols of an agent, by perf in one run.

A goal that is missed is published with such a list. Recording costs time itself, so the run that is
recorded is in no figure. Without a profile the page shows the reason.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
from typing import TYPE_CHECKING, Self

from bench.measure import procfs
from bench.tools.loadpilot import FIRING, agent_pids

if TYPE_CHECKING:
    from pathlib import Path

LOOK_SECS = 0.05
END_SECS = 10.0
"""Timeout for perf to write its file after the agent has ended."""
HERTZ = 499
"""Samples per second: a prime, so that they do not coincide with periodic work."""
LINES_MAX = 25
MISSING = "NO PROFILE: perf is not installed (apt-get install linux-perf)"


class Recorder:
    """Records the first agent that appears below this process while the block lasts."""

    def __init__(self, folder: Path) -> None:
        """Record into a file in `folder`."""
        self.result = MISSING
        """The list, or why there is none."""
        self._perf = shutil.which("perf")
        self._file = folder / "perf.data"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._record, daemon=True)

    def __enter__(self) -> Self:
        """Begin to look for an agent."""
        if self._perf is not None:
            self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Read the recording."""
        self._over.set()
        if self._perf is not None:
            self._thread.join()

    def _record(self) -> None:
        agent = self._agent()
        if agent is None or self._perf is None:
            self.result = "NO PROFILE: no agent was seen to fire"
            return
        # cpu-clock: virtual machines seldom have the counters of a processor.
        how = ["-e", "cpu-clock", "-F", str(HERTZ), "-p", str(agent), "-o", str(self._file)]
        with subprocess.Popen(
            [self._perf, "record", "--quiet", *how],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:  # it ends with the agent
            self._over.wait()
            try:
                _, complaint = process.communicate(timeout=END_SECS)
            except subprocess.TimeoutExpired:
                process.kill()
                _, complaint = process.communicate()
        if not self._file.is_file():
            self.result = f"NO PROFILE: perf recorded nothing: {complaint.strip()}"
            return
        what = ["--stdio", "--no-children", "-F", "overhead,sym,dso", "--percent-limit", "0.5"]
        done = subprocess.run(
            [self._perf, "report", *what, "-i", str(self._file)],
            capture_output=True,
            text=True,
            check=False,
        )
        self.result = top(done.stdout) or f"NO PROFILE: perf report: {done.stderr.strip()}"

    def _agent(self) -> int | None:
        """Wait for an agent that has begun to fire; none if the block ends first.

        perf does not reliably follow threads that start later, such as the firing threads.
        """
        while not self._over.wait(LOOK_SECS):
            looks = {pid: procfs.look(pid) for pid in procfs.tree(os.getpid())}
            agents = agent_pids({pid: look for pid, look in looks.items() if look is not None})
            for pid in agents:
                if any(name.startswith(FIRING) for name in _names(pid)):
                    return pid
        return None


def _names(pid: int) -> list[str]:
    """List the threads of a process; none if it has just ended."""
    try:
        return [name for name, _ in procfs.threads(pid).values()]
    except OSError:
        return []


def top(report: str) -> str:
    """Extract the list from the output of perf report."""
    lines = [re.sub(" {2,}", "  ", line.strip()) for line in report.splitlines()]
    hot = [line for line in lines if line and not line.startswith("#")]
    return "\n".join(hot[:LINES_MAX])
