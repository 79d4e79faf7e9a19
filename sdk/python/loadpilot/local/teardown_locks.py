"""Which runs of this directory owe a teardown: a file for each, locked by the command that owes it.

The log says what is owed; a file only says where to look, and by its lock, which the kernel lets go
with the process, whether somebody is at it. Must never be taken for the debt itself.
"""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDER = "owed"
"""Where they lie, in the folder of a log."""


class Mark:
    """The file of one debt, held by this process until it is let go."""

    def __init__(self, path: Path, handle: int) -> None:
        """Take what :func:`hold` has locked."""
        self._path = path
        self._handle = handle

    def remove(self) -> None:
        """Nothing is owed any more; raises OSError."""
        self._path.unlink(missing_ok=True)
        self.release()

    def release(self) -> None:
        """Let others look after it."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def hold(log_dir: Path, run: str) -> Mark | None:
    """Lock the file of a debt, making it if need be; None when a living process holds it.

    It is on disk when this returns: a debt that is stored after it can be found. Raises OSError.
    """
    folder = log_dir / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / run
    while True:
        handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        # Whoever held it may have removed it between the opening and the lock.
        if path.exists() and path.stat().st_ino == os.fstat(handle).st_ino:
            break
        os.close(handle)
    os.fsync(handle)
    for directory in (folder, log_dir):
        entry = os.open(directory, os.O_RDONLY)
        os.fsync(entry)
        os.close(entry)
    return Mark(path, handle)


def marked(log_dirs: list[Path]) -> Iterator[tuple[Path, str]]:
    """List the debts that a file tells of: log and run."""
    for log_dir in log_dirs:
        folder = log_dir / FOLDER
        if folder.is_dir():
            for path in sorted(folder.iterdir()):
                yield log_dir, path.name


def forget(log_dir: Path, runs: list[str]) -> None:
    """Delete the files of runs that are removed; raises OSError."""
    for run in runs:
        (log_dir / FOLDER / run).unlink(missing_ok=True)
