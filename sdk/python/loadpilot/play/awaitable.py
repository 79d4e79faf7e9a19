"""The awaitable by which a coroutine hands a request to the engine."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator


@types.coroutine
def perform(operation: Any) -> Generator[Any, Any, Any]:
    """Yield a request to the engine; the value of the await is the engine's result."""
    return (yield operation)
