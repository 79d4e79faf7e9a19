"""Inside a user: how a task asks the engine for something and hears of it.

A plain function runs on a greenlet and asks by switching to whoever moved it on; a coroutine asks
by yielding. Either way the engine's thread gets the wish and goes on with somebody else.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeAlias

from greenlet import getcurrent, greenlet

from ..errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    from .._native import Request

Wish: TypeAlias = "Request | list[Request] | float"
"""What a task can ask for: a request to be sent, several at a time, or so many seconds of rest."""
Ended: TypeAlias = "tuple[tuple[str | None] | None, str | None]"
"""How a part ended: what its check said, ``(None,)`` when it passed, and what it raised."""

ANSWER, BROKEN, UNSENDABLE, AWAKE, STOPPED, BATCH = range(6)
"""What the engine can have to say, as the native module numbers it."""

_thread = threading.local()


class Stopped(BaseException):
    """The run is over: whatever a task still wants, it ends here."""


def understood(kind: int, heard: Any) -> Any:
    """Turn what the engine said into a value, or raise it."""
    if kind in (ANSWER, BATCH):
        return heard
    if kind == BROKEN:
        raise RequestError(*heard)
    if kind == UNSENDABLE:
        raise ValueError(heard)
    if kind == STOPPED:
        raise Stopped
    return None


class Playing(greenlet):
    """The stack on which a user's plain functions run, part after part."""

    def __init__(self, play: Callable[[Any], Ended]) -> None:
        """Take what plays one part. Whoever makes it is who moves it on."""
        super().__init__(self._live)
        self._play = play
        self._engine = getcurrent()

    def _live(self, part: Any) -> None:
        while True:
            part = self._engine.switch(self._play(part))

    def ask(self, wish: Wish) -> Any:
        """Let the engine do something; returns or raises what became of it."""
        return understood(*self._engine.switch(wish))

    def asked(self, wish: Wish) -> tuple[int, Any]:
        """Let the engine do something; returns what it says."""
        said: tuple[int, Any] = self._engine.switch(wish)
        return said


class Asked:
    """Something that a coroutine asks for when it is awaited."""

    __slots__ = ("wish",)

    def __init__(self, wish: Wish) -> None:
        """Take what is wanted."""
        self.wish = wish

    def __await__(self) -> Generator[Wish, tuple[int, Any], Any]:
        return understood(*(yield self.wish))


def is_asking() -> bool:
    """Whether this thread is just moving a coroutine of a user on."""
    return getattr(_thread, "asking", False)


def move_on(coroutine: Coroutine[Wish, Any, None], heard: Any, wishes: tuple[type, ...]) -> Wish:
    """Run a coroutine to its next wish; StopIteration ends it.

    Awaiting anything else is an error at that place: there is no event loop beside the engine.
    """
    _thread.asking = True
    try:
        wish = coroutine.send(heard)
        while not isinstance(wish, wishes):
            wish = coroutine.throw(TypeError(FOREIGN.format(type(wish).__name__)))
    finally:
        _thread.asking = False
    return wish


FOREIGN = (
    "a task can await client calls, self.wait() and asyncio.sleep(); it awaits a {}, which needs "
    "an event loop"
)
