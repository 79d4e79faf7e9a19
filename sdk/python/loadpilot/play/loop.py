"""An asyncio event loop in guest mode on the engine's thread.

It runs on a stack of its own. When it has nothing to do, it returns the thread to the engine, with
the time of its next timer. It never blocks the thread.
"""

from __future__ import annotations

import asyncio
import selectors
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from greenlet import GreenletExit, getcurrent, greenlet

from .._native import get_current_user
from .greenlets import forbid_blocking_on
from .tracebacks import is_user_code

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    from .._native import Client, CurrentUser

    Way = Callable[..., Any]


CANCEL_ITERATIONS_MAX = 100
"""Maximum number of iterations in which cancelled tasks may end when the loop is closed."""

Created: TypeAlias = "set[asyncio.Task[Any]]"
"""The asyncio tasks of a part that have not ended; those of libraries may outlive it."""
_created: ContextVar[Created | None] = ContextVar("created", default=None)
"""Where tasks are noted that the scenario's code creates in the current part."""
AWAIT_THEM = "await or cancel what asyncio.create_task() returned"
NO_ARRIVAL = "a request was made while its user had no arrival: await requests in a task"


class _PollingSelector(selectors.DefaultSelector):
    """A selector that never blocks: the engine waits in its place."""

    def __init__(self) -> None:
        super().__init__()
        self.host = getcurrent()

    def select(self, timeout: float | None = None) -> Any:
        # The engine gets the thread at each iteration, so that a busy loop does not starve it.
        # Descriptors that are ready now would not make the selector's own readable again.
        ready = super().select(0)
        self.host.switch(0 if ready else timeout)
        return ready or super().select(0)


class _AsUser:
    """A coroutine during which its user is the current one, for random values and metrics."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], user: CurrentUser) -> None:
        self._coroutine = coroutine
        self._user = user

    def __await__(self) -> Generator[Any, Any, Any]:
        step = partial(self._coroutine.send, None)
        while True:
            self._user.begin()
            try:
                yielded = step()
            except StopIteration as end:
                return end.value
            finally:
                self._user.end()
            try:
                value = yield yielded
                step = partial(self._coroutine.send, value)
            except GeneratorExit:
                self._coroutine.close()
                raise
            except BaseException as error:  # noqa: BLE001  (raised where the request was made)
                step = partial(self._coroutine.throw, error)


async def _as_user(coroutine: Coroutine[Any, Any, Any], user: CurrentUser) -> Any:
    return await _AsUser(coroutine, user)


def _task(
    loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **more: Any
) -> asyncio.Task[Any]:
    """Create a task that belongs to the current user, and to its part."""
    created, code = _created.get(), getattr(coroutine, "cr_code", None)
    user = get_current_user()
    if user is not None:
        coroutine = _as_user(coroutine, user)
    task = asyncio.Task(coroutine, loop=loop, **more)
    if created is not None and code is not None and is_user_code(code.co_filename):
        created.add(task)
        task.add_done_callback(created.discard)
    return task


async def _with_created(coroutine: Coroutine[Any, Any, None]) -> None:
    """Play a task; asyncio tasks that it leaves running are cancelled, and are its error."""
    created: Created = set()
    _created.set(created)
    try:
        await coroutine
        running = sum(not task.cancelling() for task in created)
        if running:
            tasks = "task" if running == 1 else "tasks"
            raise RuntimeError(f"ended with {running} asyncio {tasks} still running: {AWAIT_THEM}")
    finally:
        left = list(created)
        for task in left:
            if not task.cancelling():
                task.cancel()
        if left:
            # Within the arrival: requests of their clean-up are counted for it.
            await asyncio.wait(left)


class GuestLoop:
    """The loop of a scenario, and its stack."""

    def __init__(self) -> None:
        """Create it; it runs in :meth:`run_once`."""
        self._selector = _PollingSelector()
        self.loop = asyncio.SelectorEventLoop(self._selector)
        self.loop.set_task_factory(_task)  # type: ignore[arg-type]
        self._stack = greenlet(self.loop.run_forever)
        forbid_blocking_on(self._stack)

    def fileno(self) -> int:
        """Return the descriptor that is readable when a descriptor of the loop is ready."""
        return self._selector.fileno()

    def run_once(self) -> float | None:
        """Run the loop once; returns the time until its next timer, in s.

        None: no timer; it has to run again only for a ready descriptor or a result of the engine.
        """
        seconds: float | None = self._stack.switch()
        return seconds

    def close(self) -> None:
        """End the loop and cancel its tasks."""
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        for _ in range(CANCEL_ITERATIONS_MAX):
            if self.run_once() != 0:
                break
        self._stack.throw(GreenletExit)
        self.loop.close()


class LoopUser:
    """The parts of one user on the loop: its requests to the engine, and their results."""

    def __init__(self, guest: GuestLoop, client: Client) -> None:
        """Take the loop and the client of the user."""
        self._loop = guest.loop
        self._client = client
        self._task: asyncio.Task[None] | None = None
        self._operations: list[tuple[int, Any]] = []
        self._futures: dict[int, asyncio.Future[Any]] = {}
        self._number = 0
        self._misuse: RuntimeError | None = None

    def begin(
        self, function: Callable[..., Coroutine[Any, Any, None]], user: Any, *, is_task: bool
    ) -> None:
        """Start a part; asyncio tasks of hooks may outlive it, those of tasks may not."""
        self._operations = []
        self._futures = {}
        part = function(user, self._client)
        self._task = self._loop.create_task(_with_created(part) if is_task else part)
        self._task.add_done_callback(lambda _: self._client.stir())

    async def ask(self, operation: Any) -> Any:
        """Hand one or several requests to the engine; returns the result."""
        if self._task is None or self._task.done():
            # Counted with the next part: this coroutine's own error may never be read.
            self._misuse = RuntimeError(NO_ARRIVAL)
            raise self._misuse
        self._number += 1
        future = self._futures[self._number] = self._loop.create_future()
        self._operations.append((self._number, operation))
        self._client.stir()
        return await future

    def take_operations(self) -> list[tuple[int, Any]]:
        """Take the new requests, each with its number for :meth:`deliver`."""
        operations, self._operations = self._operations, []
        return [(number, one) for number, one in operations if not self._futures[number].done()]

    def deliver(self, number: int, value: Any, error: BaseException | None) -> None:
        """Deliver the result of a request."""
        future = self._futures.pop(number)
        if future.done():  # the task that awaited it was cancelled
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def ended(self) -> tuple[BaseException | None] | None:
        """Return the error of the ended part in a tuple, or (None,); None while the part runs."""
        if self._task is None or not self._task.done():
            return None
        task, self._task = self._task, None
        misuse, self._misuse = self._misuse, None
        return (asyncio.CancelledError() if task.cancelled() else task.exception() or misuse,)

    def cancel(self) -> None:
        """Cancel the part."""
        if self._task is not None:
            self._task.cancel()
