"""Greenlets: the stacks of users whose tasks are plain functions.

A plain function can be suspended only by switching stacks. It runs on a greenlet, which switches to
the engine's stack with a request or sleep, and is switched to with the result.
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
        """Create it; the calling stack becomes its engine."""
        super().__init__(self._run_parts)
        self.engine = getcurrent()
        _engines.add(self.engine)

    def _run_parts(self, function: Callable[..., Any], user: Any, client: Any) -> None:
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
        """Suspend the user for a number of seconds."""
        self.engine.switch(seconds)


_engines: WeakSet[greenlet] = WeakSet()
"""The stacks of engines and loops: they run the coroutines of all users, so nothing may block."""


def is_engine_stack(stack: greenlet) -> bool:
    """Whether a stack runs several users, so that nothing may block on it."""
    return stack in _engines


def forbid_blocking_on(stack: greenlet) -> None:
    """Mark a stack that runs several users."""
    _engines.add(stack)


def current_user() -> UserStack | None:
    """Return the current stack, if it is that of one user."""
    current = getcurrent()
    return current if isinstance(current, UserStack) else None


def sleep_of_current_user() -> Callable[[float], None] | None:
    """Return the function by which the current user waits; None where code may block."""
    user = current_user()
    if user is not None:
        return user.rest
    if is_engine_stack(getcurrent()):
        return _refuse_to_wait
    return None


def _refuse_to_wait(_: float) -> None:
    raise RuntimeError(
        "another user has this lock, and waiting for it would stop every user here: make it a "
        "plain def, which may wait"
    )


def as_plain_function(
    function: Callable[..., Coroutine[Any, Any, None]],
) -> Callable[[Any, Any], None]:
    """Wrap a coroutine that does not await its requests as a plain function."""

    def play(user: Any, client: Any) -> None:
        coroutine = function(user, client)
        current = getcurrent()
        assert isinstance(current, UserStack), "plain functions run on a stack of their own"  # noqa: S101
        step = partial(coroutine.send, None)
        while True:
            try:
                operation = step()
            except StopIteration:
                return
            try:
                current.engine.switch(operation)
                step = partial(coroutine.send, None)
            except GreenletExit:
                raise
            except BaseException as error:  # noqa: BLE001  (raised where the request was made)
                step = partial(coroutine.throw, error)

    return play
