"""Processor time, memory, threads and children of a process, from /proc.

An ended process has no figures, instead of zeros. Nothing here waits.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_SEC = os.sysconf("SC_CLK_TCK")
NS = 1e-9


@dataclass(frozen=True)
class Look:
    """A process at one moment."""

    name: str
    """Its command line."""
    user_secs: float
    sys_secs: float
    rss_bytes: int
    rss_max_bytes: int

    @property
    def cpu_secs(self) -> float:
        """Compute the seconds of all its threads so far, ended ones included, in steps of 10 ms."""
        return self.user_secs + self.sys_secs


def look(pid: int) -> Look | None:
    """Sample a process; absent if it ended, also as a zombie."""
    spent = _spent(pid)
    try:
        name = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    if spent is None or not name or "VmHWM" not in fields:
        return None
    now, most = (int(fields[key].split()[0]) * 1024 for key in ("VmRSS", "VmHWM"))
    return Look(name, *spent, now, most)


def cpu_secs(pid: int) -> float:
    """Read the processor seconds of a process so far, all threads together; 0 if it has ended."""
    return sum(_spent(pid) or (0.0,))


def threads(pid: int) -> dict[int, tuple[str, float]]:
    """Read name and seconds of each living thread, to the ns.

    Raises OSError where the kernel keeps no such account, or the process is gone.
    """
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            name = (task / "comm").read_text(encoding="utf-8").strip()
            spent_ns = int((task / "schedstat").read_text(encoding="ascii").split()[0])
        except ProcessLookupError:
            continue  # it ended between the list and the reading
        found[int(task.name)] = (name, spent_ns * NS)
    return found


def children(pid: int) -> list[int]:
    """List the processes that any thread of this one started."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(child) for child in task.read_text(encoding="ascii").split()]
        except OSError:
            continue
    return found


def tree(root: int) -> list[int]:
    """List a process and all below it."""
    found, rest = [], [root]
    while rest:
        pid = rest.pop()
        found.append(pid)
        rest += children(pid)
    return found


def _spent(pid: int) -> tuple[float, float] | None:
    """Read user and system seconds."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return None
    fields = text.rpartition(") ")[2].split()
    return int(fields[11]) / TICKS_PER_SEC, int(fields[12]) / TICKS_PER_SEC
