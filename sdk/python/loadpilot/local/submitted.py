"""Record of the scenarios that this user submitted from this machine: their files may run here.

The log of a fleet names files for a teardown, and every user of that log could have put them there.
A line of the record is the hash of a bundle and the hash of the plan submitted with it. A record
that another user can write must never be read.
"""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

STATE_VARIABLE = "XDG_STATE_HOME"
STATE_DEFAULT = Path(".local/state")
"""The user's state, in the home directory, when the environment names no other."""
FILE = Path("loadpilot/submitted")
"""Path of the record in the user's state."""
LINES_MAX = 10_000
"""Maximum number of lines; the oldest are dropped."""


def submitted_file() -> Path:
    """Return the path of the list of submissions; raises RuntimeError without a home directory."""
    named = os.environ.get(STATE_VARIABLE, "")
    state = Path(named) if Path(named).is_absolute() else Path.home() / STATE_DEFAULT
    return state / FILE


def record(bundle: str, plan: str) -> None:
    """Add a bundle and its plan, by their hashes; raises OSError, RuntimeError."""
    path = submitted_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with _locked(handle, fcntl.LOCK_EX) as file:
        _check(handle, path)
        lines = file.read().splitlines()
        line = _line(bundle, plan)
        if line in lines:
            return
        if len(lines) >= LINES_MAX:
            lines = lines[len(lines) - LINES_MAX + 1 :]
            file.seek(0)
            file.truncate()
            file.writelines(f"{old}\n" for old in lines)
        file.write(f"{line}\n")
        file.flush()
        os.fsync(handle)


def is_recorded(bundle: str, plan: str) -> bool:
    """Whether this user submitted the bundle with this plan from this machine; raises OSError."""
    try:
        path = submitted_file()
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (FileNotFoundError, RuntimeError):
        return False
    with _locked(handle, fcntl.LOCK_SH) as file:
        _check(handle, path)
        return _line(bundle, plan) in file.read().splitlines()


@contextmanager
def _locked(handle: int, how: int) -> Iterator[IO[str]]:
    mode = "r+" if how == fcntl.LOCK_EX else "r"
    with os.fdopen(handle, mode, encoding="ascii", errors="replace") as file:
        fcntl.flock(handle, how)
        yield file


def _check(handle: int, path: Path) -> None:
    """Refuse a file that another user owns or may write; raises PermissionError."""
    found = os.fstat(handle)
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"{path}: must be owned and writable by the current user only")


def _line(bundle: str, plan: str) -> str:
    return f"{bundle} {plan}"
