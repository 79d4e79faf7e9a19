"""An event loop that is a guest of the engine's thread.

It runs on a stack of its own, and when it has nothing to do it hands the thread back, with the time
when it wants to go on. Must never wait for anything itself.
"""

from __future__ import annotations

import asyncio
import selectors
from functools import partial
from typing import TYPE_CHECKING, Any

from greenlet import GreenletExit, getcurrent, greenlet

from .._native import whose_turn
from .greenlets import forbid_blocking_on

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    from .._native import Client, Turn

    Way = Callable[..., Any]


CANCEL_TURNS_MAX = 100
"""So many turns does a loop get for what was cancelled at its end."""


class _PollingSelector(selectors.DefaultSelector):
    """A selector that never waits: whoever runs the loop does."""

    def __init__(self) -> None:
        super().__init__()
        self.host = getcurrent()

    def select(self, timeout: float | None = None) -> Any:
        # At each turn, also when the loop has more to do: a loop that never rests would else stop
        # everybody. What is ready already would not make the descriptor readable once more.
        ready = super().select(0)
        self.host.switch(0 if ready else timeout)
        return ready or super().select(0)


class _InTurn:
    """A coroutine that is moved on in a user's turn: what it draws or adds is that user's."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], turn: Turn) -> None:
        self._coroutine = coroutine
        self._turn = turn

    def __await__(self) -> Generator[Any, Any, Any]:
        step = partial(self._coroutine.send, None)
        while True:
            self._turn.begin()
            try:
                wish = step()
            except StopIteration as end:
                return end.value
            finally:
                self._turn.end()
            try:
                value = yield wish
                step = partial(self._coroutine.send, value)
            except GeneratorExit:
                self._coroutine.close()
                raise
            except BaseException as error:  # noqa: BLE001  (it belongs to where the wish was made)
                step = partial(self._coroutine.throw, error)


async def _in_turn(coroutine: Coroutine[Any, Any, Any], turn: Turn) -> Any:
    return await _InTurn(coroutine, turn)


def _task(
    loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **more: Any
) -> asyncio.Task[Any]:
    """Make a task; it is of the user in whose turn it is made."""
    whose = whose_turn()
    if whose is not None:
        coroutine = _in_turn(coroutine, whose)
    return asyncio.Task(coroutine, loop=loop, **more)


class GuestLoop:
    """The loop of a scenario, and its stack."""

    def __init__(self) -> None:
        """Make it; it runs with :meth:`turn`."""
        self._selector = _PollingSelector()
        self.loop = asyncio.SelectorEventLoop(self._selector)
        self.loop.set_task_factory(_task)  # type: ignore[arg-type]
        self._stack = greenlet(self.loop.run_forever)
        forbid_blocking_on(self._stack)

    def fileno(self) -> int:
        """Tell the descriptor that is readable when something has come for the loop."""
        return self._selector.fileno()

    def turn(self) -> float | None:
        """Let the loop do what there is to do; returns in how many seconds it wants to go on.

        None: only when something has come, or one of its tasks has heard from the engine.
        """
        seconds: float | None = self._stack.switch()
        return seconds

    def close(self) -> None:
        """End the loop, and whatever still runs on it."""
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        for _ in range(CANCEL_TURNS_MAX):
            if self.turn() != 0:
                break
        self._stack.throw(GreenletExit)
        self.loop.close()


class Looped:
    """One user's parts on the loop: what they want of the engine, and what they hear."""

    def __init__(self, guest: GuestLoop, client: Client) -> None:
        """Take part in a loop; ``client`` is what the user's tasks send with."""
        self._loop = guest.loop
        self._client = client
        self._task: asyncio.Task[None] | None = None
        self._wishes: list[tuple[int, Any]] = []
        self._futures: dict[int, asyncio.Future[Any]] = {}
        self._number = 0

    def begin(self, function: Callable[..., Coroutine[Any, Any, None]], user: Any) -> None:
        """Begin a part."""
        self._wishes = []
        self._futures = {}
        self._task = self._loop.create_task(function(user, self._client))
        self._task.add_done_callback(lambda _: self._client.stir())

    async def ask(self, wish: Any) -> Any:
        """Have a wish, of a request or of several; returns when it has come true."""
        self._number += 1
        future = self._futures[self._number] = self._loop.create_future()
        self._wishes.append((self._number, wish))
        self._client.stir()
        return await future

    def wishes(self) -> list[tuple[int, Any]]:
        """Take what is wished for, each with the number by which :meth:`hear` is told of it."""
        wishes, self._wishes = self._wishes, []
        return [(number, wish) for number, wish in wishes if not self._futures[number].done()]

    def hear(self, number: int, value: Any, error: BaseException | None) -> None:
        """Hear what became of a wish."""
        future = self._futures.pop(number)
        if future.done():  # whoever waited was cancelled
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def ended(self) -> tuple[BaseException | None] | None:
        """Tell how the part ended, by an error or by none; None: it has not ended."""
        if self._task is None or not self._task.done():
            return None
        task, self._task = self._task, None
        return (asyncio.CancelledError() if task.cancelled() else task.exception(),)

    def cancel(self) -> None:
        """Call the part off."""
        if self._task is not None:
            self._task.cancel()
