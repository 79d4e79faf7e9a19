"""The stack of a user whose tasks are plain functions.

A plain function cannot be left in the middle but by a switch of stacks: it runs on a greenlet,
which switches to the engine's with a wish and is switched to when that has come true.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from greenlet import GreenletExit, getcurrent, greenlet

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


class UserStack(greenlet):
    """The stack on which a user's plain functions run, part after part."""

    def __init__(self) -> None:
        """Whoever makes it is who moves it on."""
        super().__init__(self._live)
        self.engine = getcurrent()
        _engines.add(self.engine)

    def _live(self, function: Callable[..., Any], user: Any, client: Any) -> None:
        while True:
            error: BaseException | None = None
            try:
                function(user, client)
            except GreenletExit:
                raise
            except BaseException as raised:  # noqa: BLE001  (user code: any error is the user's)
                error = raised
            function, user, client = self.engine.switch((error,))

    def rest(self, seconds: float) -> None:
        """Let the engine come back after so many seconds."""
        self.engine.switch(seconds)


_engines: WeakSet[greenlet] = WeakSet()
"""The stacks from which users are moved on: coroutines run on them, and nothing may block there."""


def is_engine_stack(stack: greenlet) -> bool:
    """Whether users are moved on from this stack."""
    return stack in _engines


def forbid_blocking_on(stack: greenlet) -> None:
    """Let nothing block on a stack from which several users are moved on."""
    _engines.add(stack)


def current_user() -> UserStack | None:
    """The user that runs now, if it has a stack of its own."""
    current = getcurrent()
    return current if isinstance(current, UserStack) else None


def sleep_of_current_user() -> Callable[[float], None] | None:
    """How the one that runs now may wait; None when it is no user, and may block."""
    user = current_user()
    if user is not None:
        return user.rest
    if is_engine_stack(getcurrent()):
        return _never
    return None


def _never(_: float) -> None:
    raise RuntimeError(
        "another user has this lock, and waiting for it would stop every user here: make it a "
        "plain def, which may wait"
    )


def as_plain_function(
    function: Callable[..., Coroutine[Any, Any, None]],
) -> Callable[[Any, Any], None]:
    """Make a plain function of a coroutine that makes its requests without awaiting them."""

    def play(user: Any, client: Any) -> None:
        coroutine = function(user, client)
        current = getcurrent()
        assert isinstance(current, UserStack), "plain functions run on a stack of their own"  # noqa: S101
        step = partial(coroutine.send, None)
        while True:
            try:
                wish = step()
            except StopIteration:
                return
            try:
                current.engine.switch(wish)
                step = partial(coroutine.send, None)
            except GreenletExit:
                raise
            except BaseException as error:  # noqa: BLE001  (it belongs to where the wish was made)
                step = partial(coroutine.throw, error)

    return play
