"""A file of the operator that is read again when it changes; an invalid one counts as empty.

Must never answer from the content of a file before it became invalid.
"""

from __future__ import annotations

import logging
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

from loadpilot.problem import Refused

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LOG = logging.getLogger("loadpilot_gateway")
T = TypeVar("T")


class WatchedFile(Generic[T]):
    """One file, and its current content."""

    def __init__(self, file: Path, read: Callable[[Path], T], empty: T) -> None:
        """Take the reader, which raises Refused or OSError, and the value of an invalid file."""
        self.file = file
        self._read = read
        self._empty = empty
        self._content = empty
        self._stamp: object = None
        self._is_read = False
        self._lock = Lock()

    def now(self) -> T:
        """Return the content of the file; a mistake is logged once for each change."""
        with self._lock:
            stamp = stamp_of(self.file)
            if not self._is_read or stamp != self._stamp:
                self._stamp, self._is_read = stamp, True
                self._content = self._empty
                try:
                    self._content = self._read(self.file)
                except (Refused, OSError) as error:
                    # Without a traceback, which would add nothing.
                    LOG.error("no caller is accepted by %s: %s", self.file, error)  # noqa: TRY400
            return self._content


def stamp_of(file: Path) -> object:
    """Return a value that changes when a file is written or replaced; None if it is unreadable."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_dev, found.st_mtime_ns, found.st_ctime_ns, found.st_size
