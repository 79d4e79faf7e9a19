"""Think time that stops nobody else: what ``time.sleep`` and ``asyncio.sleep`` do inside a user.

Outside a user, in a thread or an event loop of the scenario's own, both are what they always were.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from greenlet import getcurrent

from ..random import CompletedRest
from .greenlets import UserStack, is_engine_stack

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator

_real_sleep = time.sleep


def install() -> None:
    """Put both in place; that of asyncio if anything has imported it, since that is costly.

    Must be called before a scenario is loaded, and again when that may have imported it.
    """
    time.sleep = _sleep  # type: ignore[assignment]
    if asyncio := _asyncio():
        asyncio.sleep = _asyncio_sleep


def remove() -> None:
    """Put back what was there."""
    time.sleep = _real_sleep
    if asyncio := _asyncio():
        asyncio.sleep = asyncio.tasks.sleep


def _asyncio() -> Any:
    return sys.modules.get("asyncio")


def _sleep(seconds: float, /) -> None:
    current = getcurrent()
    if not isinstance(current, UserStack):
        if is_engine_stack(current):
            raise RuntimeError("time.sleep would stop every user here; await asyncio.sleep instead")
        _real_sleep(seconds)
        return
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    current.rest(float(seconds))


async def _asyncio_sleep(delay: float, result: Any = None) -> Any:
    if _is_on_a_loop():
        return await _asyncio().tasks.sleep(delay, result)
    # The engine is what moves this coroutine on.
    await _Rest(max(0.0, float(delay)))
    return result


def _is_on_a_loop() -> bool:
    asyncio = _asyncio()
    try:
        return asyncio is not None and asyncio.current_task() is not None
    except RuntimeError:  # there is no event loop
        return False


def wait(seconds: float) -> Awaitable[None]:
    """Rest at once on a stack of one's own; elsewhere, when it is awaited."""
    current = getcurrent()
    if not isinstance(current, UserStack):
        return _asyncio_sleep(seconds)
    current.rest(float(seconds))
    return CompletedRest()


class _Rest:
    """A wish to rest."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __await__(self) -> Generator[float, None, None]:
        yield self.seconds
