"""Reading a log: through the stack that uses it, else through a stack for reading only.

Several commands may read one log at once. The first starts the server, and ends it after the
others: each of them holds a shared lock of a file of the log until it has read.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from time import monotonic, sleep
from typing import TYPE_CHECKING, Self, TypeVar

from .. import _native
from .stack import Address, LocalStack, StackFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LOCK_FILE = "readers"
"""File in the folder of a log that its readers lock."""
REOPEN_SECS = 30.0
"""Maximum time to open a log whose stacks of other commands end."""
OTHERS_SECS = 10.0
"""Maximum time that the command with the server waits for others that read."""
RETRY_SECS = 0.1
"""Retry delay of both."""

Joined = TypeVar("Joined")


class ReadersLock:
    """The lock file of a log: shared by commands that read through another command's server."""

    def __init__(self, log_dir: Path) -> None:
        """Open the file, creating it if absent; raises OSError."""
        flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC
        self._handle = os.open(log_dir / LOCK_FILE, flags, 0o600)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release it."""
        os.close(self._handle)

    def share(self) -> None:
        """Keep the server of another command; raises StackFault when it is about to end."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StackFault("the server of the log is about to end") from error

    def has_others(self) -> bool:
        """Whether other commands read; if not, none can begin until the file is closed."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False

    def wait_for_others(self) -> None:
        """Wait until no other command reads, for at most OTHERS_SECS."""
        give_up = monotonic() + OTHERS_SECS
        while self.has_others() and monotonic() < give_up:
            sleep(RETRY_SECS)


@contextmanager
def reading(log_dir: Path, interrupted: Callable[[], bool]) -> Iterator[_native.Session]:
    """Connect to a log: through the stack that uses it, else through one for reading only.

    The log of an imported run is its file, which needs no server.
    """
    if not log_dir.is_dir():
        session = _native.Session.on_file(log_dir)
        try:
            yield session
        finally:
            session.close()
        return
    with ReadersLock(log_dir) as lock:

        def join(stack: LocalStack, address: Address) -> _native.Session:
            if stack.has_other_owner:
                lock.share()
            return connect(address)

        stack, session = opened(log_dir, interrupted, join)
        try:
            yield session
        finally:
            try:
                session.close()
                if not stack.has_other_owner:
                    lock.wait_for_others()
            finally:
                stack.stop()


def opened(
    log_dir: Path, interrupted: Callable[[], bool], join: Callable[[LocalStack, Address], Joined]
) -> tuple[LocalStack, Joined]:
    """Start a stack for reading, or find the one that uses the log; returns it and `join`'s result.

    Another command's stack that ends meanwhile is replaced. Raises StackFault and Fault, and
    KeyboardInterrupt when the user interrupts.
    """
    give_up = monotonic() + REOPEN_SECS
    while True:
        stack = LocalStack.for_reading(log_dir)
        try:
            address = stack.ready(interrupted)
            if address is not None:
                return stack, join(stack, address)
        except (StackFault, _native.Fault):
            stack.stop()
            if not stack.has_other_owner or monotonic() > give_up:
                raise
            sleep(RETRY_SECS)
        except BaseException:
            stack.stop()
            raise
        else:
            stack.stop()
            raise KeyboardInterrupt


def connect(address: Address) -> _native.Session:
    """Open a session on a log."""
    return _native.Session(
        address.url,
        address.token,
        ctl_bytes=address.ctl_bytes,
        data_bytes=address.data_bytes,
        cacert=address.cacert,
    )
