"""Processes as /proc shows them: children, command lines, and when a process has ended.

Must never signal a process that the caller did not name by its id.
"""

from __future__ import annotations

import os
import select
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from time import monotonic

PROC = Path("/proc")


class Part(StrEnum):
    """The processes of a local stack, by a text that is in their command line only."""

    SUPERVISOR = "import supervisor"
    SERVER = "nats-server"
    COORDINATOR = "import coordinator"
    AGENT = "import agent"


@dataclass(frozen=True, slots=True)
class Process:
    """A process at the time when /proc was read."""

    pid: int
    command: str

    @property
    def part(self) -> Part | None:
        """The part of a stack that the process is. A supervisor's command line names all other
        parts, too."""
        parts = (Part.SUPERVISOR, Part.COORDINATOR, Part.AGENT, Part.SERVER)
        return next((part for part in parts if part in self.command), None)


def children(pid: int) -> list[Process]:
    """The children of a process, by process id."""
    return [
        Process(number, command_line(number))
        for number in sorted(int(one.name) for one in PROC.iterdir() if one.name.isdigit())
        if _parent(PROC / str(number)) == pid
    ]


def descendants(pid: int) -> list[Process]:
    """All processes below a process."""
    found = children(pid)
    return found + [below for child in found for below in descendants(child.pid)]


def command_line(pid: int) -> str:
    """The command line of a process; empty if the process has ended."""
    with suppress(OSError):
        return (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


def still_alive(processes: list[Process], within_s: float) -> list[Process]:
    """The processes that have not ended within a time; returns as soon as all have ended."""
    deadline = monotonic() + within_s
    return [one for one in processes if not _ends(one.pid, deadline)]


def _ends(pid: int, deadline: float) -> bool:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        ready, _, _ = select.select([handle], [], [], max(0.0, deadline - monotonic()))
        return bool(ready)
    finally:
        os.close(handle)


def _parent(folder: Path) -> int | None:
    with suppress(OSError, ValueError):
        # The name in brackets may hold blanks and brackets: the fields follow the last one.
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        return int(fields[1]) if fields[0] != "Z" else None
    return None
