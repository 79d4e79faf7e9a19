"""Files for their owner only: created, replaced at once, and changed by one process at a time.

Must never leave a file that is half written, readable by users who could not read it before, or
unreadable for its owner.
"""

from __future__ import annotations

import fcntl
import grp
import os
import pwd
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..problem import Problem, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator

MODE = 0o600
MODE_BITS = 0o777
OTHERS = 0o077
OTHERS_OF_ROOT = 0o037
"""A file of root may be readable by its group: so Kubernetes mounts a Secret for a pod's group."""


def is_open_to_others(file: os.stat_result) -> bool:
    """Whether users beside the owner may read or change a file."""
    return bool(file.st_mode & (OTHERS if file.st_uid else OTHERS_OF_ROOT))


def create(file: Path, text: str, like: Path | None = None) -> None:
    """Write a new file, with owner and mode of another one.

    Raises Refused if this user may not set them, FileExistsError, OSError.
    """
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
    with os.fdopen(handle, "w", encoding="utf-8") as opened:
        if like is not None:
            try:
                _give(handle, like)
            except PermissionError:
                raise Refused([_foreign(like, "must keep its owner")]) from None
            os.fchmod(handle, like.stat().st_mode & MODE_BITS)
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())


def replace(file: Path, text: str) -> None:
    """Write a file so that readers see the old or the new text; owner and mode stay.

    Raises Refused if this user may not set them, OSError.
    """
    target = Path(os.path.realpath(file))
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    try:
        create(fresh, text, like=target if target.exists() else None)
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
    """Wait until no other process changes the file; the lock is a file beside it.

    Raises Refused if this user may not open the lock, OSError.
    """
    lock = _lock_of(Path(os.path.realpath(file)))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _lock_of(target: Path) -> int:
    """Open the lock of a file; a new one belongs to the file's owner, who may change it later."""
    lock, flags = target.with_name(f"{target.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        with suppress(FileExistsError):
            handle = os.open(lock, flags | os.O_EXCL, MODE)
            with suppress(FileNotFoundError, PermissionError):
                _give(handle, target)
            return handle
        return os.open(lock, flags, MODE)
    except PermissionError:
        place = lock if lock.exists() else lock.parent
        raise Refused([_foreign(place, "must be writable")]) from None


def _give(handle: int, like: Path) -> None:
    """Give an open file the owner and group of another one; raises PermissionError."""
    own, wanted = os.fstat(handle), like.stat()
    if (own.st_uid, own.st_gid) != (wanted.st_uid, wanted.st_gid):
        os.fchown(handle, wanted.st_uid, wanted.st_gid)


def _foreign(place: Path, must: str) -> Problem:
    """Build the problem of a file or folder that another user owns."""
    found = place.stat()
    user, group = str(found.st_uid), str(found.st_gid)
    with suppress(KeyError):
        user = pwd.getpwuid(found.st_uid).pw_name
    with suppress(KeyError):
        group = grp.getgrgid(found.st_gid).gr_name
    return Problem(str(place), f"{must}, and belongs to {user}:{group}; run the command as root")
