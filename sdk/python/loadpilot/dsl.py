"""Decorators and base class of scenarios: ``@scenario``, ``@task``, ``@setup``, ``VUser``.

The decorators only record their arguments. The compiler checks them, so that it can report all
mistakes of a file at once: an invalid value raises nothing here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar, overload

from .inputs import random

if TYPE_CHECKING:
    from os import PathLike

    from .client import LoadClient
    from .inputs.distribution import Distribution

Duration: TypeAlias = str | int | float
"""``"500ms"``, ``"30s"``, ``"2m30s"``, ``"1h"``, or a number of seconds."""
RateLike: TypeAlias = str | int | float
"""``50``, ``0.5``, ``"50/s"``, ``"3000/m"``, ``"10/500ms"``; default unit: arrivals per second."""
Stage: TypeAlias = tuple[Duration, RateLike] | Mapping[str, Any]
UserStage: TypeAlias = tuple[Duration, int] | Mapping[str, Any]
"""Duration and rate at its end; or ``{"duration": …, "target": …}``."""
Mode: TypeAlias = Literal["ramp", "constant", "step", "spike", "burst", "sine", "stages"]


class Connections(TypedDict, total=False):
    """Connection settings; those left out have the defaults of any HTTP client.

    ``connections={"http": "2", "streams_max": 20}``
    """

    other_targets: Sequence[str]
    """Base URLs beside ``--target``, of the same scheme; arrivals take all of them in turn."""
    http: Literal["1.1", "2", "auto"]
    """HTTP version; ``auto``: the one that an https target chooses."""
    max: int
    """Maximum number of open connections of each agent; default: no limit."""
    open_first: int
    """Number of connections that each agent opens before the run starts."""
    streams_max: int
    """Maximum number of concurrent requests on one HTTP/2 connection; default 100."""
    reuse: str | float
    """Calls that may use an open connection: ``always``, ``never``, or a share such as 0.3."""
    requests_max: int
    """Maximum number of requests of a connection; then it is closed."""
    age_max: Duration
    """Maximum age of a connection; an older one takes no further request."""
    connect_to: str
    """``host:port`` or ``unix:/path`` to connect to; Host and TLS keep the target's name."""
    sources: Sequence[str]
    """Local addresses of the agent to connect from, in turn, such as ``10.0.0.5``, or
    ``10.0.0.5:20000-30000`` with the ports to use."""
    ip: Literal[4, 6]
    """Address family; addresses of the other one are not used."""
    resolve_every: Duration
    """Interval between name lookups of the target; default: one lookup per run."""
    proxy: str
    """Proxy for all connections: ``http://host:port`` or ``socks5://host:port``."""
    proxy_credentials_env: str
    """Environment variable of the command with ``user:password`` for the proxy."""
    redirects: int
    """Maximum number of redirects that a call follows within its target's origin; default 0."""
    redirect_to: Sequence[str]
    """Further origins that redirects may lead to, such as ``https://login.example``."""


class TimeOuts(TypedDict, total=False):
    """Time-outs of a call, as a whole and of its phases.

    ``timeout={"total": "10s", "connect": "1s", "first_byte": "3s"}``
    """

    total: Duration
    """From dispatch to the last byte; default 30 s."""
    connect: Duration
    """Until a new connection is open: name lookup, TCP and TLS."""
    first_byte: Duration
    """From the end of writing the request to the first byte of the response."""


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
"""Defaults of the settings of a scenario."""


class VUser:
    """A virtual user: the base class of scenarios.

    The two hooks exist so that ``super().on_start(client)`` works. A scenario without this base
    class gets them, and :meth:`wait`, unless it defines its own.
    """

    def on_start(self, client: LoadClient) -> Awaitable[None] | None:
        """Prepare a user before the run starts; its requests are sent and not counted.

        May be an ``async def``. An exception fails the run before it starts.
        """

    def on_stop(self, client: LoadClient) -> Awaitable[None] | None:
        """Clean up when the run is over or stopped; its requests are sent and not counted."""

    def wait(self, least: float, most: float | None = None) -> Awaitable[None]:
        """Sleep for ``least`` seconds, or for a random time between ``least`` and ``most``.

        The time is drawn for the arrival, so that a seed repeats it. To be awaited in an
        ``async def``. Raises ValueError for invalid bounds. Outside a run it returns at once.
        """
        bounds = (least, least if most is None else most)
        if not all(isfinite(bound) and bound >= 0 for bound in bounds) or bounds[0] > bounds[1]:
            raise ValueError(f"self.wait() takes seconds from 0 on, the least first, not {bounds}")
        return random.rest(*bounds)


@dataclass(frozen=True, slots=True)
class ScenarioSpec:
    """The arguments of ``@scenario``, unchecked."""

    arguments: Mapping[str, Any]
    """The arguments that were passed, without those that are None."""

    def get(self, name: str) -> Any:
        """Return the argument ``name``, its default, or None."""
        return self.arguments.get(name, DEFAULTS.get(name))


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """The arguments of ``@task``, unchecked."""

    weight: Any


@overload
def scenario(cls: C, /) -> C: ...
@overload
def scenario(
    *,
    share: int | None = None,
    rps: RateLike | None = None,
    users: int | None = None,
    user_stages: Sequence[UserStage] | None = None,
    wait: Duration | tuple[Duration, Duration] | Distribution | None = None,
    pacing: Duration | None = None,
    session: Duration | tuple[Duration, Duration] | Distribution | None = None,
    duration: Duration | None = None,
    ramp_up: Duration | None = None,
    mode: Mode | None = None,
    steps: int | None = None,
    baseline: RateLike | None = None,
    burst: Duration | None = None,
    period: Duration | None = None,
    idle: Duration | None = None,
    thresholds: Mapping[str, float | str | list[str]] | None = None,
    stages: Sequence[Stage] | None = None,
    replay_curve: str | PathLike[str] | None = None,
    replay_run: str | PathLike[str] | None = None,
    scale: float | str | None = None,
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
def scenario(cls: Any = None, /, **arguments: Any) -> Any:
    """Mark a class as a scenario; its name is the class's name.

    Defaults are in parentheses.

    ``share``
        Share of this user type where several scenarios run together: a whole number, relative to
        those of the others; 0 leaves it out. Each arrival, or user of a closed loop, is of one
        type, and draws from the tasks of that type. Settings of the load are those of the whole
        run and set once; ``wait``, ``pacing``, ``session`` and ``thresholds`` are the type's own.
    ``rps`` (10)
        The peak rate, in arrivals per second, or text such as ``"3000/m"``.
    ``users``
        Number of users of a closed loop, instead of a rate: each user starts its next task when
        the last one has ended, after the pause of ``wait`` or ``pacing``. Its latency is not
        counted from a schedule; prefer ``rps``, except to find out how much the target can take.
        Beside ``rps`` or ``stages``: number of users that serve this rate in a scenario that runs
        in Python, one arrival at a time each (default: one per 100 arrivals/s of the peak, at
        least 5, at most 100).
    ``user_stages``
        A closed loop whose number of users follows stages, instead of ``users`` and ``duration``:
        ``[("30s", 200), ("2m", 200), ("30s", 0)]``. The number of active users moves linearly from
        the one before (0 for the first stage) to the stage's own; length 0 jumps. A user that is no
        longer active ends its task and starts no other one.
    ``wait``, ``pacing``
        Pause of a user of a closed loop between two tasks. ``wait``: think time, ``"2s"``, or
        drawn evenly from a range, ``("1s", "3s")``, or from a distribution,
        ``exponential(median="8s")`` or ``lognormal(median="8s", p99="45s")``. ``pacing``: interval
        between the starts of two tasks, ``"10s"``; the next one starts at once if the last one took
        longer. Users start spread evenly over the first pause. With ``rps`` or ``stages`` use
        ``self.wait()`` in a task.
    ``session``
        How long a user of a closed loop stays: ``"12m"``, or drawn evenly from a range,
        ``("5m", "20m")``, or from a distribution, ``exponential(median="12m")`` or
        ``lognormal(median="12m", p99="45m")``. A user whose session is over ends its task, runs
        ``on_stop`` and leaves; a new one takes its place at once, with a connection, cookies and
        values of its own, and runs ``on_start``. The number of users stays the same. The run begins
        in the middle of the sessions. Default: each user stays for the whole run.
    ``duration`` ("1m")
        The steady part for ``mode="ramp"``, the whole run for the other modes and with ``users``.
    ``ramp_up`` ("10s")
        Duration of the rise from 0 to ``rps`` with ``mode="ramp"``; the other modes ignore it.
    ``mode`` ("ramp")
        ``ramp``; ``constant``; ``step``: ``steps`` equal windows at rps·k/steps;
        ``spike``: thirds of 20 %, 100 %, 20 %; ``burst``: ``baseline``, then the rate for the
        duration ``burst``, in the middle, then ``baseline`` again; ``sine``: waves between
        ``baseline`` and the rate, each of the duration ``period``, from ``baseline`` on.
    ``baseline`` (20 % of ``rps`` for a burst, 0 for waves), ``burst`` (a third), ``period`` (all)
        Lowest rate of a burst or of waves; duration of the burst; duration of a wave.
    ``idle`` ("0s")
        Duration of a first part without any arrival, before the rest of the load and not a part of
        ``duration``.
    ``stages``
        Instead of ``rps``, ``duration`` and ``mode``: ``[("1m", 3000), ("10s", 90000)]``. The
        rate moves linearly from the target before (0 for the first stage) to the stage's own. A
        stage of length 0 jumps to its target: ``[("0s", 500), ("1m", 500)]`` begins at 500.
    ``replay_curve``, ``replay_run``, ``scale`` (1)
        Instead of ``rps``, ``duration``, ``mode`` and ``stages``: a recorded load, and a factor for
        it. ``replay_curve`` is a file, from the scenario's folder: lines of ``second,count``, with
        or without a header; or an access log; or timestamps, one a line. ``replay_run`` is a past
        run or its ``.lprun`` file: what it planned. The rate is constant within a second.
    ``thresholds``
        Gates such as ``{"p99_ms": 500, "error_rate": 1, "browse:p95_ms": 200}``; ``"checks"`` is
        the minimum percentage of passed checks. A limit with an operator says which side passes;
        a metric of your own (``loadpilot.metrics``) needs one:
        ``{"orders.count": ">= 100", "cart_value.p95": "<= 250"}``.
    ``warm_up`` ("0s")
        Arrivals due in it are sent and counted, but left out of gates and percentiles.
    ``timeout`` ("30s"), ``max_wait`` (the time-out), ``max_in_flight`` (the agent's own)
        Time-out of a call, as a whole or also of its phases (see :class:`TimeOuts`); maximum wait
        for a free slot; number of slots per agent.
    ``arrivals`` ("uniform")
        ``uniform`` or ``poisson``.
    ``secret_headers``
        Names of further headers whose values must stay out of plan, log and report.
    ``connections``
        Connection settings: see :class:`Connections`.
    ``tags``
        Labels of its runs, ``{"team": "shop"}``: shown in report, summary and the list of runs,
        without any other effect. ``--tag team=shop`` adds one on the command line.
    ``prepare`` ("agents", or "submitter" when ``on_start`` sets what all users share)
        Where ``on_start`` and ``on_stop`` run: ``agents``, each for its own users; ``submitter``,
        once for each user of the whole run. The attributes that ``on_start`` sets must then be
        JSON; they travel to the agents sealed.
    ``compile`` (True)
        False runs all tasks in Python, also those that could be compiled.
    """
    names = arguments.get("secret_headers")
    if isinstance(names, Iterable) and not isinstance(names, str):
        # An iterator is empty after its first reader, and the values would be written out.
        arguments["secret_headers"] = list(names)
    spec = ScenarioSpec({name: value for name, value in arguments.items() if value is not None})
    unknown = [name for name in arguments if name not in SETTINGS]
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
    "share",
    "rps",
    "users",
    "user_stages",
    "wait",
    "pacing",
    "session",
    "duration",
    "ramp_up",
    "mode",
    "steps",
    "baseline",
    "burst",
    "period",
    "idle",
    "thresholds",
    "stages",
    "replay_curve",
    "replay_run",
    "scale",
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
"""All arguments of ``@scenario``."""


@overload
def task(function: F, /) -> F: ...
@overload
def task(*, weight: int = 1) -> Callable[[F], F]: ...
def task(function: Any = None, /, *, weight: Any = 1) -> Any:
    """Mark a method as a task; ``weight`` out of the sum of all weights arrivals perform it."""
    spec = TaskSpec(weight)

    def mark(marked: Any) -> Any:
        if not callable(marked):
            raise TypeError(f"@task marks functions, not {type(marked).__name__}")
        setattr(marked, TASK_ATTRIBUTE, spec)
        return marked

    return mark if function is None else mark(function)


class Once(StrEnum):
    """Kinds of methods that run once per run."""

    SETUP = "setup"
    TEARDOWN = "teardown"


def setup(function: F, /) -> F:
    """Mark a method, class method or static method that runs once per run, before everything else.

    It runs on the submitter; its requests are sent and not counted. The attributes that it sets on
    ``self`` or the class must be JSON; all users on all agents have them before their
    ``on_start``. An exception ends the run before it is requested.
    """
    return _marked(function, Once.SETUP)


def teardown(function: F, /) -> F:
    """Mark a method that runs once when the run is over, however it ended; see :func:`setup`.

    It also runs when the setup failed. An exception is reported and changes no verdict.
    """
    return _marked(function, Once.TEARDOWN)


def _marked(marked: F, once: Once) -> F:
    if not callable(getattr(marked, "__func__", marked)):
        raise TypeError(f"@{once} marks functions, not {type(marked).__name__}")
    setattr(marked, ONCE_ATTRIBUTE, once)
    return marked


def attribute_names(cls: type) -> list[str]:
    """Return the names of a class and its bases, bases first, each once, without those of VUser."""
    bases = [base for base in reversed(cls.__mro__) if base not in (object, VUser)]
    return list(dict.fromkeys(name for base in bases for name in vars(base)))


def spec_of(cls: type) -> ScenarioSpec | None:
    """Return the ``@scenario`` arguments of ``cls`` itself, not of a base; None without a mark."""
    spec = vars(cls).get(SPEC_ATTRIBUTE)
    return spec if isinstance(spec, ScenarioSpec) else None


def task_of(attribute: object) -> TaskSpec | None:
    """Return the ``@task`` arguments of a method; None without a mark."""
    spec = getattr(attribute, TASK_ATTRIBUTE, None)
    return spec if isinstance(spec, TaskSpec) else None


def once_of(attribute: object) -> Once | None:
    """Return the mark of a method, or of the function inside a static or class method."""
    inner = getattr(attribute, "__func__", None)
    once = getattr(attribute, ONCE_ATTRIBUTE, getattr(inner, ONCE_ATTRIBUTE, None))
    return once if isinstance(once, Once) else None
