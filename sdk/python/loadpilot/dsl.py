"""The words of a scenario file: ``@scenario``, ``@task``, ``@setup``, ``@teardown``, ``VUser``.

They only take notes. Whether the notes make sense is the compiler's business, so that it can name
every mistake of a file at once; nothing here may raise for a wrong value.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar, overload

from . import random

if TYPE_CHECKING:
    from .client import LoadClient

Duration: TypeAlias = str | int | float
"""``"500ms"``, ``"30s"``, ``"2m30s"``, ``"1h"``, or a number of seconds."""
RateLike: TypeAlias = str | int | float
"""``50``, ``0.5``, ``"50/s"``, ``"3000/m"``, ``"10/500ms"``: arrivals per second unless said."""
Stage: TypeAlias = tuple[Duration, RateLike] | Mapping[str, Any]
"""How long, and the rate at its end; or ``{"duration": …, "target": …}``."""
Mode: TypeAlias = Literal["ramp", "constant", "step", "spike", "stages"]


class Connections(TypedDict, total=False):
    """How the target is spoken to; what is left out is as with any HTTP client.

    ``connections={"http": "2", "streams_max": 20}``
    """

    http: Literal["1.1", "2", "auto"]
    """``auto``: what an https target chooses."""
    max: int
    """Most connections that each agent has open at a time; no limit unless said."""
    open_first: int
    """Connections that each agent opens before the run starts."""
    streams_max: int
    """HTTP/2: most requests at a time on one connection; 100 unless said."""
    reuse: str | float
    """Which calls may use an open connection: ``always``, ``never``, or a share such as 0.3."""
    requests_max: int
    """A connection is closed after so many requests."""
    age_max: Duration
    """A connection that is older takes no further request."""
    connect_to: str
    """``host:port`` or ``unix:/path`` to connect to; Host and TLS keep the target's name."""
    sources: Sequence[str]
    """Addresses of the agent's machine to connect from, in turn, such as ``10.0.0.5``, or
    ``10.0.0.5:20000-30000`` with the ports to use."""
    ip: Literal[4, 6]
    """Only addresses of this family are connected to."""
    resolve_every: Duration
    """How often the target's name is resolved; once per run unless said."""


class TimeOuts(TypedDict, total=False):
    """How long a call may take, as a whole and in parts.

    ``timeout={"total": "10s", "connect": "1s", "first_byte": "3s"}``
    """

    total: Duration
    """From dispatch to the last byte; 30 s unless said."""
    connect: Duration
    """Until a new connection is open: name, TCP and TLS."""
    first_byte: Duration
    """From the request being written to the first byte of the answer."""


C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])

SPEC_ATTRIBUTE = "__loadpilot_scenario__"
TASK_ATTRIBUTE = "__loadpilot_task__"
ONCE_ATTRIBUTE = "__loadpilot_once__"

DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "rps": 10,
        "duration": "1m",
        "ramp_up": "10s",
        "mode": "ramp",
        "steps": 5,
        "warm_up": "0s",
        "timeout": "30s",
        "arrivals": "uniform",
    }
)
"""What holds when a scenario does not say."""


class VUser:
    """A virtual user: the base class of scenarios.

    The two hooks are here so that ``super().on_start(client)`` has somewhere to go. A scenario
    without this base class gets them, and :meth:`wait`, where it has none of its own.
    """

    def on_start(self, client: LoadClient) -> Awaitable[None] | None:
        """Prepare a user before the run starts; its requests are sent and not counted.

        May be an ``async def``. Whatever it raises fails the run before it has begun.
        """

    def on_stop(self, client: LoadClient) -> Awaitable[None] | None:
        """Clean up when the run is over, or was stopped; its requests are sent and not counted."""

    def wait(self, least: float, most: float | None = None) -> Awaitable[None]:
        """Rest for ``least`` seconds, or for a time between ``least`` and ``most``.

        The time is drawn for the arrival, so that a seed repeats it. In an ``async def`` it is
        awaited. Raises ValueError; outside a run nobody rests.
        """
        bounds = (least, least if most is None else most)
        if not all(isfinite(bound) and bound >= 0 for bound in bounds) or bounds[0] > bounds[1]:
            raise ValueError(f"self.wait() takes seconds from 0 on, the least first, not {bounds}")
        return random.rest(*bounds)


@dataclass(frozen=True, slots=True)
class ScenarioSpec:
    """What a scenario says about itself, unchecked; only what it really said."""

    said: Mapping[str, Any]

    def get(self, name: str) -> Any:
        """Look up what was said about ``name``, or the default, or None."""
        return self.said.get(name, DEFAULTS.get(name))


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """What a task says about itself, unchecked."""

    weight: Any


@overload
def scenario(cls: C, /) -> C: ...
@overload
def scenario(
    *,
    rps: RateLike | None = None,
    users: int | None = None,
    wait: Duration | tuple[Duration, Duration] | None = None,
    pacing: Duration | None = None,
    duration: Duration | None = None,
    ramp_up: Duration | None = None,
    mode: Mode | None = None,
    steps: int | None = None,
    thresholds: Mapping[str, float | str] | None = None,
    stages: Sequence[Stage] | None = None,
    warm_up: Duration | None = None,
    max_in_flight: int | None = None,
    timeout: Duration | TimeOuts | None = None,
    max_wait: Duration | None = None,
    arrivals: Literal["uniform", "poisson"] | None = None,
    secret_headers: Iterable[str] | None = None,
    connections: Connections | None = None,
    tags: Mapping[str, str] | None = None,
    prepare: Literal["agents", "submitter"] | None = None,
    compile: bool | None = None,
) -> Callable[[C], C]: ...
def scenario(cls: Any = None, /, **said: Any) -> Any:
    """Mark a class as a scenario; its name is the class's name.

    ``rps`` (10)
        The rate at the peak, in arrivals per second, or text such as ``"3000/m"``.
    ``users``
        A closed loop instead of a rate: that many users, each of which starts its next task when
        its last one ended, and it has rested if ``wait`` or ``pacing`` says so. Its latency is not
        counted from a schedule; prefer ``rps`` unless you want to know how much the target can
        take. Beside ``rps`` or ``stages``:
        how many users serve that rate in a scenario that runs in Python, one arrival at a time
        each (one for each 100 arrivals a second of the peak, 5 at least and 100 at most).
    ``wait``, ``pacing``
        What a user of a closed loop does between two tasks: thinks for so long, ``"2s"``, or for a
        time drawn evenly, ``("1s", "3s")``; or begins a task every so often, ``"10s"``, at once
        when the last one took longer. Users begin evenly over the first rest. For arrivals on
        schedule think in a task: ``self.wait()``.
    ``duration`` ("1m")
        The steady part for ``mode="ramp"``, the whole run for the other modes and with ``users``.
    ``ramp_up`` ("10s")
        How long ``mode="ramp"`` rises from 0 to ``rps``; the other modes ignore it.
    ``mode`` ("ramp")
        ``ramp``; ``constant``; ``step``: ``steps`` equal windows at rps·k/steps;
        ``spike``: thirds of 20 %, 100 %, 20 %.
    ``stages``
        Instead of ``rps``, ``duration`` and ``mode``: ``[("1m", 3000), ("10s", 90000)]``. The
        rate moves linearly from the target before (0 for the first stage) to the stage's own. A
        stage of length 0 jumps to its target: ``[("0s", 500), ("1m", 500)]`` begins at 500.
    ``thresholds``
        Gates such as ``{"p99_ms": 500, "error_rate": 1, "browse:p95_ms": 200}``; ``"checks"`` in
        percent that must pass. Text says which side passes, as a metric of your own needs it
        (``loadpilot.metrics``): ``{"orders.count": ">= 100", "cart_value.p95": "<= 250"}``.
    ``warm_up`` ("0s")
        Arrivals due in it are sent and counted, but left out of gates and percentiles.
    ``timeout`` ("30s"), ``max_wait`` (the time-out), ``max_in_flight`` (the agent's own)
        A call's longest time, as a whole or also in parts (see :class:`TimeOuts`); the longest wait
        for a free slot; the number of slots per agent.
    ``arrivals`` ("uniform")
        ``uniform`` or ``poisson``.
    ``secret_headers``
        Names of further headers whose values must stay out of plan, log and report.
    ``connections``
        How the target is spoken to: see :class:`Connections`.
    ``tags``
        What people tell its runs from others by, ``{"team": "shop"}``: shown in report, summary
        and the list of runs, and nothing else. ``--tag team=shop`` says one on the command line.
    ``prepare`` ("agents", or "submitter" when ``on_start`` sets what all users share)
        Where ``on_start`` and ``on_stop`` run: ``agents``, each for its own users; ``submitter``,
        on the side that asks for the run, once for each user of the whole run. What ``on_start``
        leaves must then be JSON, and reaches the agents sealed.
    ``compile`` (True)
        False runs tasks in Python that could be compiled.
    """
    spec = ScenarioSpec({name: value for name, value in said.items() if value is not None})
    unknown = [name for name in said if name not in SETTINGS]
    if unknown:
        known = ", ".join(SETTINGS)
        raise TypeError(f"@scenario knows no {', '.join(unknown)}; it knows {known}")

    def mark(marked: Any) -> Any:
        if not isinstance(marked, type):
            raise TypeError(f"@scenario marks classes, not {type(marked).__name__}")
        setattr(marked, SPEC_ATTRIBUTE, spec)
        _complete(marked)
        return marked

    return mark if cls is None else mark(cls)


def _complete(marked: type) -> None:
    """Give a scenario without the base class the methods of :class:`VUser` that it lacks."""
    defined = {name for one in marked.__mro__ for name in vars(one)}
    for name, method in vars(VUser).items():
        if not name.startswith("_") and name not in defined:
            setattr(marked, name, method)


SETTINGS = (
    "rps",
    "users",
    "wait",
    "pacing",
    "duration",
    "ramp_up",
    "mode",
    "steps",
    "thresholds",
    "stages",
    "warm_up",
    "max_in_flight",
    "timeout",
    "max_wait",
    "arrivals",
    "secret_headers",
    "connections",
    "tags",
    "prepare",
    "compile",
)
"""Everything that ``@scenario`` understands."""


@overload
def task(function: F, /) -> F: ...
@overload
def task(*, weight: int = 1) -> Callable[[F], F]: ...
def task(function: Any = None, /, *, weight: Any = 1) -> Any:
    """Mark a method as a task that is done ``weight`` times out of the sum of all weights."""
    spec = TaskSpec(weight)

    def mark(marked: Any) -> Any:
        if not callable(marked):
            raise TypeError(f"@task marks functions, not {type(marked).__name__}")
        setattr(marked, TASK_ATTRIBUTE, spec)
        return marked

    return mark if function is None else mark(function)


class Once(StrEnum):
    """What happens once per run."""

    SETUP = "setup"
    TEARDOWN = "teardown"


def setup(function: F, /) -> F:
    """Mark a method, class method or static method that runs once per run, before everything else.

    It runs on the side that asks for the run; its requests are sent and not counted. What it sets
    on ``self`` or the class must be JSON, and is there for all users on all agents before their
    ``on_start``. Whatever it raises ends the run before it is asked for.
    """
    return _marked(function, Once.SETUP)


def teardown(function: F, /) -> F:
    """Mark a method that runs once when the run is over, however it ended, beside :func:`setup`.

    It is also owed when the setup failed. What it raises is told, and changes no verdict.
    """
    return _marked(function, Once.TEARDOWN)


def _marked(marked: F, once: Once) -> F:
    if not callable(getattr(marked, "__func__", marked)):
        raise TypeError(f"@{once} marks functions, not {type(marked).__name__}")
    setattr(marked, ONCE_ATTRIBUTE, once)
    return marked


def spec_of(cls: type) -> ScenarioSpec | None:
    """Look up what ``cls`` itself, not a base of it, was marked with."""
    spec = vars(cls).get(SPEC_ATTRIBUTE)
    return spec if isinstance(spec, ScenarioSpec) else None


def task_of(attribute: object) -> TaskSpec | None:
    """Look up what a method was marked with."""
    spec = getattr(attribute, TASK_ATTRIBUTE, None)
    return spec if isinstance(spec, TaskSpec) else None


def once_of(attribute: object) -> Once | None:
    """Look up what a method, or the function inside a static or class method, was marked with."""
    inner = getattr(attribute, "__func__", None)
    once = getattr(attribute, ONCE_ATTRIBUTE, getattr(inner, ONCE_ATTRIBUTE, None))
    return once if isinstance(once, Once) else None
