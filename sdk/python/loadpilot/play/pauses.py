"""Think time that stops nobody else: what ``time.sleep`` and ``asyncio.sleep`` do inside a user.

Outside a user, in a thread or an event loop of the scenario's own, both are what they always were.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from greenlet import getcurrent

from ..drawn import Rested
from .inside import Playing, is_engine

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator

_real_sleep = time.sleep
_real_asyncio_sleep = asyncio.sleep


def install() -> None:
    """Put both in place, before a scenario is loaded."""
    time.sleep = _sleep  # type: ignore[assignment]
    asyncio.sleep = _asyncio_sleep


def remove() -> None:
    """Put back what was there."""
    time.sleep = _real_sleep
    asyncio.sleep = _real_asyncio_sleep


def _sleep(seconds: float, /) -> None:
    current = getcurrent()
    if not isinstance(current, Playing):
        if is_engine(current):
            raise RuntimeError("time.sleep would stop every user here; await asyncio.sleep instead")
        _real_sleep(seconds)
        return
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    current.rest(float(seconds))


async def _asyncio_sleep(delay: float, result: Any = None) -> Any:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # there is no event loop
        task = None
    if task is None:  # the engine is what moves this coroutine on
        await _Rest(max(0.0, float(delay)))
        return result
    return await _real_asyncio_sleep(delay, result)


def wait(seconds: float) -> Awaitable[None]:
    """Rest at once on a stack of one's own; elsewhere, when it is awaited."""
    current = getcurrent()
    if not isinstance(current, Playing):
        return _asyncio_sleep(seconds)
    current.rest(float(seconds))
    return Rested()


class _Rest:
    """A wish to rest."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __await__(self) -> Generator[float, None, None]:
        yield self.seconds
