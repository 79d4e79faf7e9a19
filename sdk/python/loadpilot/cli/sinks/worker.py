"""A thread that does work in order, from a bounded queue: a caller that adds work never waits."""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

QUEUE_MAX = 64
"""Maximum number of items that wait, beside the last one."""


class Worker:
    """A thread and its queue, which one other thread fills."""

    def __init__(self, name: str) -> None:
        """Start the thread; it ends with the process at the latest."""
        self._items: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def offer(self, item: Callable[[], None]) -> bool:
        """Add work; False when the queue is full."""
        has_room = self._items.qsize() < QUEUE_MAX
        if has_room:
            self._items.put(item)
        return has_room

    def drop(self) -> None:
        """Drop the work that waits; current work goes on."""
        with suppress(queue.Empty):
            while True:
                self._items.get_nowait()

    def end(self, last: Callable[[], None]) -> None:
        """Add the last work, after which the thread ends."""
        self._items.put(last)
        self._items.put(None)

    def wait(self, deadline: float) -> bool:
        """Wait for the end of the thread; False when it does not come in time."""
        self._thread.join(max(0.0, deadline - monotonic()))
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (item := self._items.get()) is not None:
            item()
