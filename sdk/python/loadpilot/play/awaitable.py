"""What a coroutine awaits: a wish of its own, until that has come true."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator


@types.coroutine
def asked(wish: Any) -> Generator[Any, Any, Any]:
    """Hand a wish to the engine, whoever awaits this; what it sends back is the value."""
    return (yield wish)
