"""Files for their owner only: created, replaced at once, and changed by one process at a time.

Must never leave a file that is half written, or readable by others.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MODE = 0o600
OTHERS = 0o077
OTHERS_OF_ROOT = 0o037
"""A file of root may be readable by its group: so Kubernetes mounts a Secret for a pod's group."""


def is_open_to_others(file: os.stat_result) -> bool:
    """Whether users beside the owner may read or change a file."""
    return bool(file.st_mode & (OTHERS if file.st_uid else OTHERS_OF_ROOT))


def create(file: Path, text: str) -> None:
    """Write a new file; raises FileExistsError, OSError."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
    with os.fdopen(handle, "w", encoding="utf-8") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())


def replace(file: Path, text: str) -> None:
    """Write a file so that readers see the old or the new text; raises OSError."""
    target = Path(os.path.realpath(file))
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    try:
        create(fresh, text)
        fresh.replace(target)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Wait until no other process changes the file. The lock is a file beside it."""
    lock = os.open(f"{os.path.realpath(file)}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, MODE)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
