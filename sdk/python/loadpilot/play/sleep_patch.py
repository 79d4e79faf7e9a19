"""Replacements of ``time.sleep`` and ``asyncio.sleep`` that suspend only the user that calls them.

Outside of users, in a thread or an event loop of the scenario's own, both work as before.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from greenlet import getcurrent

from ..inputs.random import CompletedRest
from .greenlets import UserStack, is_engine_stack

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator

_real_sleep = time.sleep


def install() -> None:
    """Replace both; that of asyncio only if it is imported, since its import is slow.

    Called before a scenario is loaded, and again afterwards, as loading may import asyncio.
    """
    time.sleep = _sleep  # type: ignore[assignment]
    if asyncio := _asyncio():
        asyncio.sleep = _asyncio_sleep


def remove() -> None:
    """Restore the original functions."""
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
    # The engine resumes this coroutine.
    await _Sleep(max(0.0, float(delay)))
    return result


def _is_on_a_loop() -> bool:
    asyncio = _asyncio()
    try:
        return asyncio is not None and asyncio.current_task() is not None
    except RuntimeError:  # there is no event loop
        return False


def wait(seconds: float) -> Awaitable[None]:
    """Sleep: at once on a user's own stack, elsewhere when awaited."""
    current = getcurrent()
    if not isinstance(current, UserStack):
        return _asyncio_sleep(seconds)
    current.rest(float(seconds))
    return CompletedRest()


class _Sleep:
    """Awaitable by which a coroutine requests a sleep from the engine."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __await__(self) -> Generator[float, None, None]:
        yield self.seconds
