"""Locks of owed teardowns: a file for each run of this directory, locked by the owing command.

The record of a teardown is in the log. A file only names a run to check. The kernel releases the
lock when the process ends, so a locked file shows that the command lives.
"""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDER = "owed"
"""Folder of the files, in the folder of a log."""


class TeardownLock:
    """The locked file of one run, held by this process until it is released."""

    def __init__(self, path: Path, handle: int) -> None:
        """Hold a file that :func:`acquire` has locked."""
        self._path = path
        self._handle = handle

    def remove(self) -> None:
        """Delete the file: the teardown is no longer owed. Raises OSError."""
        self._path.unlink(missing_ok=True)
        self.release()

    def release(self) -> None:
        """Release the lock; another command may play the teardown."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def acquire(log_dir: Path, run: str) -> TeardownLock | None:
    """Lock the file of a run, creating it if absent; None when a living process holds it.

    The file is on disk on return, so that a teardown recorded later is found. Raises OSError.
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
        # The previous holder may have removed the file between open and lock.
        if path.exists() and path.stat().st_ino == os.fstat(handle).st_ino:
            break
        os.close(handle)
    os.fsync(handle)
    for directory in (folder, log_dir):
        entry = os.open(directory, os.O_RDONLY)
        os.fsync(entry)
        os.close(entry)
    return TeardownLock(path, handle)


def owed_runs(log_dirs: list[Path]) -> Iterator[tuple[Path, str]]:
    """List the runs with a file, as log and run."""
    for log_dir in log_dirs:
        folder = log_dir / FOLDER
        if folder.is_dir():
            for path in sorted(folder.iterdir()):
                yield log_dir, path.name


def forget(log_dir: Path, runs: list[str]) -> None:
    """Delete the files of deleted runs; raises OSError."""
    for run in runs:
        (log_dir / FOLDER / run).unlink(missing_ok=True)
