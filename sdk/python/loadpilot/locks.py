"""Locks of a scenario: whoever waits for one lets the other users go on.

All users of an agent share a thread. A lock of the standard library that one of them holds while it
waits for an answer would stop that thread when another wants it, and both for ever. Must stay what
they were for everybody who is no user.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ThreadLock = threading.Lock
POLL_INTERVAL_S = 0.001
"""How soon a user looks again whether a lock is free."""


class Lock:
    """``threading.Lock``, which a user waits for as it waits for an answer."""

    def __init__(self) -> None:
        """Start free."""
        self._lock = _ThreadLock()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002
        """Take the lock as ``threading.Lock`` does."""
        if not blocking:
            return self._lock.acquire(blocking, timeout)
        rest = _user_sleep()
        if rest is None:
            return self._lock.acquire(blocking, timeout)
        until = None if timeout < 0 else monotonic() + timeout
        while not self._lock.acquire(blocking=False):
            if until is not None and monotonic() >= until:
                return False
            rest(POLL_INTERVAL_S)
        return True

    def release(self) -> None:
        """Give it back."""
        self._lock.release()

    def locked(self) -> bool:
        """Whether somebody has it."""
        return self._lock.locked()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


class RLock:
    """``threading.RLock``, which belongs to a user rather than to the thread of all users."""

    def __init__(self) -> None:
        """Start free."""
        self._lock = Lock()
        self._owner: object = None
        self._count = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002
        """Take the lock, again if it is one's own."""
        owner = _current_owner()
        if self._owner != owner:
            if not self._lock.acquire(blocking, timeout):
                return False
            self._owner = owner
        self._count += 1
        return True

    def release(self) -> None:
        """Give it back, once for each time that it was taken."""
        if self._owner != _current_owner():
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if self._count == 0:
            self._owner = None
            self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    # What threading.Condition asks of a lock.

    def _is_owned(self) -> bool:
        return self._owner == _current_owner()

    def _release_save(self) -> tuple[int, object]:
        saved, self._count, self._owner = (self._count, self._owner), 0, None
        self._lock.release()
        return saved

    def _acquire_restore(self, saved: tuple[int, object]) -> None:
        self._lock.acquire()
        self._count, self._owner = saved

    def _at_fork_reinit(self) -> None:
        self._lock, self._owner, self._count = Lock(), None, 0


@contextmanager
def thread_locks_replaced() -> Iterator[None]:
    """Let a file that is loaded meanwhile make these locks by the names of the standard library."""
    real: Any = threading.Lock, threading.RLock
    threading.Lock, threading.RLock = Lock, RLock  # type: ignore[assignment]
    try:
        yield
    finally:
        threading.Lock, threading.RLock = real


def _user_sleep() -> Callable[[float], None] | None:
    """How the one that runs now may wait, if it is a user."""
    inside = sys.modules.get("loadpilot.play.greenlets")
    return None if inside is None else inside.sleep_of_current_user()


def _current_owner() -> object:
    """Whose a lock is that is taken now."""
    inside = sys.modules.get("loadpilot.play.greenlets")
    user = None if inside is None else inside.current_user()
    return threading.get_ident() if user is None else user
