"""Think time that stops nobody else: what ``time.sleep`` and ``asyncio.sleep`` do inside a user.

Outside a user, in a thread of the scenario's own for instance, both are what they always were.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from greenlet import getcurrent

from .inside import Asked, Playing, is_asking

_real_sleep = time.sleep
_real_asyncio_sleep = asyncio.sleep


def install() -> None:
    """Put both in place, before a scenario is loaded."""
    time.sleep = _sleep  # type: ignore[assignment]
    asyncio.sleep = _asyncio_sleep


def _sleep(seconds: float, /) -> None:
    current = getcurrent()
    if not isinstance(current, Playing):
        _real_sleep(seconds)
        return
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    current.ask(float(seconds))


async def _asyncio_sleep(delay: float, result: Any = None) -> Any:
    if not is_asking():
        return await _real_asyncio_sleep(delay, result)
    await Asked(max(0.0, float(delay)))
    return result
