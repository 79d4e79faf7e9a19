"""What every answer needs: the logs, the threads that ask them, and what callers may do.

Must never block the event loop: whatever asks a log does so on a thread of its own.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, TypeVar

from .follow import Hub
from .limits import NATIVE_THREADS_MAX, READERS_MAX

if TYPE_CHECKING:
    from collections.abc import Callable

    from loadpilot import _native

    from .logs import Log, Logs

T = TypeVar("T")
REST_SECS = 5.0
"""How often past logs are looked at that may be closed."""


@dataclass(frozen=True, slots=True)
class Given:
    """What holds where a request for a run says nothing."""

    agents: int
    wait_us: int
    lead_us: int

    @property
    def all(self) -> tuple[int, int, int]:
        """As the native module takes it."""
        return self.agents, self.wait_us, self.lead_us


FLEET = Given(1, 60_000_000, 3_000_000)
"""On a fleet: agents of other machines may take their time to come and to hear of a start."""


class Gateway:
    """One gateway."""

    def __init__(self, logs: Logs, given: Given = FLEET, here: int | None = None) -> None:
        """Take the logs, what a request may leave out, and how many agents were started for it."""
        self.logs = logs
        self.given = given
        self.here = here
        self.version = version("loadpilot")
        self.hub = Hub()
        self.reading = asyncio.Semaphore(READERS_MAX)
        self._listening: asyncio.Task[str] | None = None
        self._threads = ThreadPoolExecutor(NATIVE_THREADS_MAX, "loadpilot-ask")

    async def asking(self, ask: Callable[[], T]) -> T:
        """Ask something on a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, ask)

    async def of_run(self, run: str, ask: Callable[[_native.Session], T]) -> T:
        """Ask the log that holds a run."""

        def asked() -> T:
            with self.logs.of(run).lend() as session:
                return ask(session)

        return await self.asking(asked)

    async def of_reading(self, run: str, ask: Callable[[_native.Reading], T]) -> T:
        """Ask the reading of a run."""

        def asked() -> T:
            with self.logs.of(run).read(run) as reading:
                return ask(reading)

        return await self.asking(asked)

    async def of_first(self, ask: Callable[[_native.Session], T]) -> T:
        """Ask the log that takes new runs."""

        def asked() -> T:
            with self.logs.first.lend() as session:
                return ask(session)

        return await self.asking(asked)

    async def submit(self, ask: Callable[[_native.Session], T]) -> T:
        """Ask for a run, where somebody takes it."""

        def asked() -> T:
            with self.logs.first.join() as session:
                return ask(session)

        return await self.asking(asked)

    async def log_of(self, run: str) -> Log:
        """Find the log that holds a run; raises No when there is none."""
        return await self.asking(lambda: self.logs.of(run))

    async def heard(self, secs: float) -> str:
        """Listen for agents; whoever asks while somebody listens hears the same."""
        if self._listening is None or self._listening.done():
            listen = self.of_first(lambda session: session.agents(secs))
            self._listening = asyncio.get_running_loop().create_task(listen)
        return await asyncio.shield(self._listening)

    async def rest(self) -> None:
        """Close past logs that nobody asks for, as long as this gateway lives."""
        while True:
            await asyncio.sleep(REST_SECS)
            await self.asking(self.logs.rest)

    def close(self) -> None:
        """End everything."""
        self.hub.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.logs.close()
