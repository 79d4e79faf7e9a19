"""The state that every route needs: the logs, and threads on which to query them.

Must never block the event loop: each query of a log runs on a thread.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, TypeVar

from loadpilot import _native
from loadpilot.local.stack import StackFault

from .limits import (
    CHECKED_MAX,
    KEPT_MAX,
    LIVE_VIEWS_DEFAULT,
    NATIVE_THREADS_MAX,
    PLACE_SECS,
    READERS_MAX,
    STEERED_MAX,
)
from .runs.changes import Answers
from .runs.follow import Hub, busy
from .runs.outcomes import Outcomes
from .runs.run_export import ExportedRuns, LogFigures
from .runs.sessions import Lane
from .server.request_limit import TenantBuckets

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from .runs.logs import Log, Logs
    from .scenario_files import ScenarioFiles
    from .server.request_limit import RequestLimit

T = TypeVar("T")
THREADS_MAX = {Lane.ASK: NATIVE_THREADS_MAX, Lane.STEER: STEERED_MAX, Lane.KEPT: KEPT_MAX}
"""Number of threads for each use of the log; live views have one each beside them."""
REST_SECS = 5.0
"""Interval at which unused past logs are closed."""


@dataclass(frozen=True, slots=True)
class RequestDefaults:
    """Values for the fields that a request for a run leaves out."""

    agents: int
    wait_us: int
    lead_us: int

    @property
    def as_tuple(self) -> tuple[int, int, int]:
        """As the native module takes it."""
        return self.agents, self.wait_us, self.lead_us


FLEET = RequestDefaults(1, 60_000_000, 3_000_000)
"""Defaults on a fleet, where agents need longer to join and to learn of a start."""


@asynccontextmanager
async def body_slot(among: asyncio.Semaphore) -> AsyncIterator[None]:
    """Hold a slot for reading a large body; raises ApiError if none is free in time."""
    try:
        async with asyncio.timeout(PLACE_SECS):
            await among.acquire()
    except TimeoutError:
        raise busy("requests for runs are read here") from None
    try:
        yield
    finally:
        among.release()


class Gateway:
    """One gateway."""

    def __init__(  # noqa: PLR0913  (settings)
        self,
        logs: Logs,
        defaults: RequestDefaults = FLEET,
        local_agents: int | None = None,
        scenario_files: ScenarioFiles | None = None,
        *,
        tenant: str | None = None,
        views: int = LIVE_VIEWS_DEFAULT,
        limit: RequestLimit | None = None,
        connections: int | None = None,
    ) -> None:
        """Take the logs, the number of agents that were started for this gateway, the scenario
        files, which only a gateway of one user on loopback may have: they are code of that user;
        the tenant where there are several; the maximum number of live views and of requests; and
        the number of connections that the account of NATS allows.
        """  # noqa: D205
        self.logs = logs
        self.defaults = defaults
        self.local_agents = local_agents
        self.connections = connections
        self.scenario_files = scenario_files
        self.version = version("loadpilot")
        self.hub = Hub(views)
        self.answers = Answers()
        self.outcomes = Outcomes(lambda run: self.of_run(run, lambda one: one.report(run)))
        self.buckets = TenantBuckets(limit) if limit is not None else None
        """None: requests are not limited."""
        self.exported_runs = ExportedRuns(logs, tenant)
        self.requests: Counter[tuple[str, int]] = Counter()
        """Number of answers by route and status code."""
        self.starting = asyncio.Semaphore(READERS_MAX)
        self.checking = asyncio.Semaphore(CHECKED_MAX)
        self._listening: asyncio.Task[str] | None = None
        self._exporting: asyncio.Task[None] | None = None
        self._checking: asyncio.Task[str | None] | None = None
        self._threads = {
            lane: ThreadPoolExecutor(most, f"loadpilot-{lane.value}")
            for lane, most in THREADS_MAX.items()
        }

    async def asking(self, ask: Callable[[], T], lane: Lane = Lane.ASK) -> T:
        """Call ``ask`` on a thread of the lane."""
        return await asyncio.get_running_loop().run_in_executor(self._threads[lane], ask)

    async def of_run(
        self, run: str, ask: Callable[[_native.Session], T], lane: Lane = Lane.ASK
    ) -> T:
        """Call ``ask`` with a connection to the log that holds the run."""

        def call() -> T:
            with self.logs.of(run).lend(lane) as session:
                return ask(session)

        return await self.asking(call, lane)

    async def act(
        self, run: str, ask: Callable[[_native.Session], T], lane: Lane = Lane.STEER
    ) -> T:
        """Call ``ask``, which changes the run, and forget the list of runs."""

        def call() -> T:
            log = self.logs.of(run)
            with log.lend(lane) as session:
                done = ask(session)
            log.forget()
            return done

        return await self.asking(call, lane)

    async def of_reading(self, run: str, ask: Callable[[_native.Reading], T]) -> T:
        """Call ``ask`` with the indexed run."""

        def call() -> T:
            with self.logs.of(run).read(run) as reading:
                return ask(reading)

        return await self.asking(call)

    async def of_first(self, ask: Callable[[_native.Session], T], lane: Lane = Lane.ASK) -> T:
        """Call ``ask`` with a connection to the log that takes new runs."""

        def call() -> T:
            with self.logs.first.lend(lane) as session:
                return ask(session)

        return await self.asking(call, lane)

    async def unreadable(self, secs: float) -> str | None:
        """Query the state of the log that takes new runs; return why it does not answer in time.

        Concurrent calls share one query.
        """
        if self._checking is None or self._checking.done():
            self._checking = asyncio.get_running_loop().create_task(self._check())
        try:
            return await asyncio.wait_for(asyncio.shield(self._checking), secs)
        except TimeoutError:
            return f"the log does not answer within {secs:.0f} s"

    async def _check(self) -> str | None:
        try:
            await self.of_first(lambda session: session.log_state(), Lane.KEPT)
        except (_native.Refused, _native.Fault, StackFault, OSError) as error:
            return str(error)
        return None

    async def submit(self, ask: Callable[[_native.Session], T]) -> T:
        """Call ``ask``, which requests a new run; raises Fault without a coordinator."""

        def call() -> T:
            with self.logs.first.join() as session:
                return ask(session)

        return await self.asking(call)

    async def log_of(self, run: str) -> Log:
        """Find the log that holds a run; raises ApiError for an unknown run."""
        return await self.asking(lambda: self.logs.of(run))

    async def agents(self, secs: float) -> str:
        """Listen for agents; concurrent calls share one answer."""
        if self._listening is None or self._listening.done():
            listen = self.of_first(lambda session: session.agents(secs))
            self._listening = asyncio.get_running_loop().create_task(listen)
        return await asyncio.shield(self._listening)

    async def figures(self, secs: float) -> LogFigures:
        """Read the figures for a scrape in time; concurrent calls share one reading."""
        if self._exporting is None or self._exporting.done():
            read = self.asking(self.exported_runs.refresh)
            self._exporting = asyncio.get_running_loop().create_task(read)
        try:
            await asyncio.wait_for(asyncio.shield(self._exporting), secs)
        except TimeoutError:
            found = self.exported_runs.figures().late()
        else:
            found = self.exported_runs.figures()
        limited = self.buckets.limited if self.buckets is not None else 0
        return replace(found, process={**found.process, "limited": limited})

    async def rest(self) -> None:
        """Close unused past logs at an interval, until cancelled."""
        while True:
            await asyncio.sleep(REST_SECS)
            await self.asking(self.logs.rest)

    def close(self) -> None:
        """End everything."""
        self.hub.close()
        if self.scenario_files is not None:
            self.scenario_files.close()
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)
        self.logs.close()
