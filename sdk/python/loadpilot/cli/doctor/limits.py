"""Limits of this machine: open files, memory, disk, ports, cores."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from ...control.figures import count
from ..preflight import TIME_WAIT_SECS, Machine
from .finding import ok, problem, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .finding import Finding

MIB = 1 << 20
DISK_MIN, DISK_FULL = 100 * MIB, 2_640 * MIB
"""Free disk below which no log can be created, and from which on a log has its full size."""
MEMORY_MIN, MEMORY_LOW = 128 * MIB, 512 * MIB
FILES_MIN, FILES_LOW = 256, 10_000
PORTS_LOW = 20_000
MEMORY = Path("/proc/meminfo")
CGROUP_MEMORY = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current"))
FILES_MEND = "raise the hard limit: `ulimit -Hn` as root, or nofile in /etc/security/limits.conf"
PORTS_MEND = "sysctl -w net.ipv4.ip_local_port_range='10000 65535'"


def limits() -> Iterator[Finding]:
    """Check the limits of this machine that a run needs."""
    machine = Machine.this("http://localhost")
    yield ok("cores", f"{len(os.sched_getaffinity(0))} for this process")
    yield _files(machine.files)
    yield _memory()
    yield _disk(Path.cwd())
    yield _ports(machine.ports)


def _files(files: int | None) -> Finding:
    if files is None:
        return ok("open files", "no limit")
    what = f"at most {count(files)} of a process"
    if files < FILES_MIN:
        return problem("open files", what, FILES_MEND)
    if files < FILES_LOW:
        return warning("open files", f"{what}: each connection is one", FILES_MEND)
    return ok("open files", what)


def _memory() -> Finding:
    free = free_memory()
    if free is None:
        return ok("memory", "the system does not tell")
    what = f"{count(free // MIB)} MiB available"
    mend = "end other processes, or raise the memory limit of the container"
    if free < MEMORY_MIN:
        return problem("memory", what, mend)
    return warning("memory", what, mend) if free < MEMORY_LOW else ok("memory", what)


def free_memory() -> int | None:
    """Return the available memory in bytes, at most that of the container."""
    try:
        lines = MEMORY.read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvail"))
    except (OSError, ValueError, StopIteration):
        return None
    try:
        most, used = (path.read_text(encoding="ascii").strip() for path in CGROUP_MEMORY)
        return free if most == "max" else min(free, int(most) - int(used))
    except (OSError, ValueError):
        return free


def _disk(folder: Path) -> Finding:
    if not os.access(folder, os.W_OK):
        what = f"{folder} cannot be written to, and logs of runs are created there"
        return problem("disk", what, "run in a directory of your own")
    free = shutil.disk_usage(folder).free
    what = f"{count(free // MIB)} MiB free in {folder}"
    mend = "delete files, or old runs: loadpilot runs prune --keep 5"
    if free < DISK_MIN:
        return problem("disk", f"{what}; a log needs {DISK_MIN // MIB} MiB", mend)
    if free < DISK_FULL:
        return warning("disk", f"{what}; logs of long runs may fill it", mend)
    return ok("disk", what)


def _ports(ports: int | None) -> Finding:
    try:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
    except OSError as error:
        what = f"no port of 127.0.0.1 can be listened at: {error.strerror}"
        return problem("ports", what, "ip link set lo up")
    if ports is None:
        return ok("ports", "the system does not tell")
    each = ports // TIME_WAIT_SECS
    what = (
        f"{count(ports)} to connect from: as many connections to one address, and about "
        f"{count(each)} new ones a second without reuse"
    )
    return warning("ports", what, PORTS_MEND) if ports < PORTS_LOW else ok("ports", what)
