"""A thread that does work in order, from a bounded queue: whoever gives it work never waits."""

from __future__ import annotations

import queue
import threading
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

QUEUE_MAX = 64
"""Maximum number of items that wait."""


class Worker:
    """A thread and its queue."""

    def __init__(self, name: str) -> None:
        """Start the thread; it ends with the process at the latest."""
        self._items: queue.Queue[Callable[[], None] | None] = queue.Queue(QUEUE_MAX)
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def offer(self, item: Callable[[], None]) -> bool:
        """Add work; False when the queue is full."""
        try:
            self._items.put_nowait(item)
        except queue.Full:
            return False
        return True

    def close(self, last: Callable[[], None], deadline: float) -> bool:
        """Add the last work and wait for it; False when it is not done in time."""
        for item in (last, None):
            try:
                self._items.put(item, timeout=max(0.0, deadline - monotonic()))
            except queue.Full:
                return False
        self._thread.join(max(0.0, deadline - monotonic()))
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (item := self._items.get()) is not None:
            item()
