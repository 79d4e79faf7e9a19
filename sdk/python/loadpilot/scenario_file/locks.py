"""Cooperative locks for scenarios: a user that waits for one lets the other users run.

All users of an agent share one thread. If one of them held a lock of the standard library while it
waits for a response, a second user that wants the lock would block the thread, and both would wait
for ever. For code outside of users these locks behave like those of ``threading``.
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
"""Interval at which a waiting user tries to take a lock, in s."""


class Lock:
    """``threading.Lock``, which a user waits for as it waits for a response."""

    def __init__(self) -> None:
        """Create the lock unlocked."""
        self._lock = _ThreadLock()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002
        """Take the lock as ``threading.Lock`` does."""
        if not blocking:
            return self._lock.acquire(blocking, timeout)
        sleep = _user_sleep()
        if sleep is None:
            return self._lock.acquire(blocking, timeout)
        until = None if timeout < 0 else monotonic() + timeout
        while not self._lock.acquire(blocking=False):
            if until is not None and monotonic() >= until:
                return False
            sleep(POLL_INTERVAL_S)
        return True

    def release(self) -> None:
        """Release the lock."""
        self._lock.release()

    def locked(self) -> bool:
        """Whether the lock is held."""
        return self._lock.locked()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


class RLock:
    """``threading.RLock``, owned by a user rather than by the thread of all users."""

    def __init__(self) -> None:
        """Create the lock unlocked."""
        self._lock = Lock()
        self._owner: object = None
        self._count = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002
        """Take the lock; its owner may take it again."""
        owner = _current_owner()
        if self._owner != owner:
            if not self._lock.acquire(blocking, timeout):
                return False
            self._owner = owner
        self._count += 1
        return True

    def release(self) -> None:
        """Release the lock once; it is free after as many releases as acquisitions."""
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

    # The private interface that threading.Condition uses.

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
    """Replace ``threading.Lock`` and ``RLock`` by these while a scenario file is loaded."""
    real: Any = threading.Lock, threading.RLock
    threading.Lock, threading.RLock = Lock, RLock  # type: ignore[assignment]
    try:
        yield
    finally:
        threading.Lock, threading.RLock = real


def _user_sleep() -> Callable[[float], None] | None:
    """Return the sleep function of the current user; None outside of users.

    Looked up by name: a process that has not imported ``play`` runs no users, and compiling a
    scenario must not import it.
    """
    greenlets = sys.modules.get("loadpilot.play.greenlets")
    return None if greenlets is None else greenlets.sleep_of_current_user()


def _current_owner() -> object:
    """Return the current user, or the thread's id outside of users."""
    greenlets = sys.modules.get("loadpilot.play.greenlets")
    user = None if greenlets is None else greenlets.current_user()
    return threading.get_ident() if user is None else user
