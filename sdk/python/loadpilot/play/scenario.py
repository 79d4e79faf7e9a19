"""A scenario as an agent plays it: its files unpacked, its class loaded, its parts understood.

Must never leave a module of one scenario for another to import.
"""

from __future__ import annotations

import inspect
import io
import os
import shutil
import sys
import tempfile
import weakref
import zipfile
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack

from .. import _native, metrics, random
from ..feeds import FeedError
from ..params import ParameterSource
from ..problem import Refused
from ..scenario_file.feed_usage import feeds_of
from ..scenario_file.load import choose
from ..scenario_file.load import load as load_file
from . import sleep_patch, states
from .conversation import Conversation
from .execution_mode import ExecutionMode, execution_mode
from .greenlets import UserStack, as_plain_function
from .tracebacks import add_root, remove_root, told_at_length
from .watchdog import Watchdog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .loop import GuestLoop


class ScenarioError(Exception):
    """A scenario cannot be played; for whoever wrote it."""


Switch: TypeAlias = "Callable[..., Any]"
"""A move from one stack to another."""
Part: TypeAlias = "tuple[Callable[..., Any], str, Callable[..., Any] | None, bool]"
"""One part of a user's life: its function; how that is moved on, by the name in :class:`ExecutionMode`; its
check; whether that is given the answer itself, not its status and JSON."""


@dataclass
class Scenario:
    """A class that is loaded, and what its users do."""

    cls: type
    target: str
    start: Part
    stop: Part
    tasks: list[Part]
    shared_names: list[str]
    """Attributes of the class that what a user's ``__init__`` sets does not hide."""
    users: list[str] | None
    """The state of each user by its number, as JSON, when they were prepared elsewhere."""
    once: tuple[Part, ...] = ()
    """Agents play nothing that happens once per run."""

    def guest(self) -> GuestLoop | None:
        """Make its event loop, if any part needs one."""
        return guest_loop_of((self.start, self.stop, *self.tasks))

    def user(self, number: int) -> tuple[Any, Conversation, Switch, Switch, Switch]:
        """Make the user of a number: its instance, what it says, the ways to its stack and back.

        The first way leads there as if all were well, the second with an error.
        """
        instance, conversation = (
            new_instance(self.cls, self.shared_names),
            Conversation(self.target),
        )
        if self.users is not None:
            states.restore(self.users[number], instance, conversation)
        return instance, conversation, *stack_switches()


def new_instance(cls: type, over: list[str]) -> Any:
    """Make an instance of a class; raises ScenarioError with what that raised."""
    try:
        instance = cls()
    except Exception as error:  # noqa: BLE001  (user code: any error is the user's)
        raise ScenarioError(told_at_length(error)) from None
    for name in over:
        vars(instance).pop(name, None)
    return instance


def stack_switches() -> tuple[Switch, Switch, Switch]:
    """Make a stack for a user: the ways to it, as if all were well or with an error, and back."""
    playing = UserStack()
    return playing.switch, playing.throw, playing.engine.switch


class RunInputs(TypedDict):
    """What came with a scenario from whoever submitted it."""

    parameters: dict[str, str]
    """What it was given, by name."""
    feeds: list[tuple[str, int]]
    """The feeds of the plan, each with the number of its rows."""
    shared: str | None
    """What its users share, where they were prepared elsewhere."""
    users: list[str] | None
    """The state of each user there."""


def load(
    bundle: bytes,
    file: str,
    scenario: str,
    tasks: list[str],
    target: str,
    **given: Unpack[RunInputs],
) -> Scenario:
    """Load a scenario from the archive of its files, to play it against ``target``.

    Raises ScenarioError when it cannot be loaded.
    """
    if _loaded:
        what = "this agent plays another scenario in Python, and one at a time is all it can"
        raise ScenarioError(what)
    metrics.attach(_native.measure)
    root = Path(tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-")).resolve()
    try:
        with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
            archive.extractall(root)
        add_root(root)
        _import_asyncio_if_named(root)
        sleep_patch.install()
        loaded = load_file(root / file, ParameterSource(given["parameters"], is_playing=True))
        sleep_patch.install()
        cls = choose(loaded, scenario)
        bind_feeds(cls, given["feeds"])
        shared = given["shared"]
        over = [] if shared is None else states.restore_shared(shared, cls)
        played = _scenario(cls, tasks, target, over, given["users"])
    except Refused as refused:
        _forget(root)
        lines = [str(problem).replace(f"{root}/", "") for problem in refused.problems]
        raise ScenarioError("\n".join(lines)) from None
    except BaseException:
        _forget(root)
        raise
    _loaded.add(root)
    weakref.finalize(played, _forget, root)
    watch = Watchdog()
    weakref.finalize(played, watch.end)
    watch.start()
    return played


FOLDER = "loadpilot-scenario-"
"""How the folders begin in which scenarios are unpacked."""
_loaded: set[Path] = set()
"""Where the scenario lies that is played: two could import modules of the same name."""


def _import_asyncio_if_named(root: Path) -> None:
    """Import asyncio for files that name it: what they take from it is replaced before they do.

    For others it would be a third of the time that an agent's imports take.
    """
    if any(b"asyncio" in file.read_bytes() for file in root.rglob("*.py")):
        import_module("asyncio")


def _forget(root: Path) -> None:
    """Let go of a scenario: its files, its modules, its place on the path."""
    _loaded.discard(root)
    remove_root(root)
    sleep_patch.remove()
    random.detach()
    metrics.detach()
    shutil.rmtree(root, ignore_errors=True)
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None) or ""
        if path.startswith(f"{root}/"):
            del sys.modules[name]
    sys.path[:] = [entry for entry in sys.path if not entry.startswith(str(root))]


def clear() -> None:
    """Remove what scenarios of this process have unpacked; it is about to end."""
    for root in list(_loaded):
        shutil.rmtree(root, ignore_errors=True)


def bind_feeds(cls: type, planned: list[tuple[str, int]]) -> None:
    """Let the feeds of the plan know their rows, and the scenario draw."""
    feeds = feeds_of(cls)
    for number, (name, rows) in enumerate(planned):
        feed = feeds[name]
        try:
            count = len(feed.rows)
        except FeedError as error:
            raise ScenarioError(f"{feed.place}: {error}") from None
        if count != rows:
            what = f"{feed!r}: has {count} rows here, and had {rows} where the run was submitted"
            raise ScenarioError(
                f"{feed.place}: {what}; rows must not depend on where they are read"
            )
        feed.row_index = partial(_native.row, number)
    random.attach(_native.drawn, _native.due_us, sleep_patch.wait)


def _scenario(
    cls: type, tasks: list[str], target: str, over: list[str], users: list[str] | None
) -> Scenario:
    start, stop = part_of(cls, "on_start"), part_of(cls, "on_stop")
    parts = [part_of(cls, name, getattr(cls, f"check_{name}", None)) for name in tasks]
    return Scenario(cls, target, start, stop, parts, over, users)


def guest_loop_of(parts: Iterable[Part]) -> GuestLoop | None:
    """Make an event loop for the calling thread, if any part needs one."""
    if all(way != ExecutionMode.LOOP.name for _, way, _, _ in parts):
        return None
    from .loop import GuestLoop  # noqa: PLC0415  (few scenarios need one)

    return GuestLoop()


def part_of(cls: type, name: str, check: Callable[..., Any] | None = None) -> Part:
    """Understand one part of a user's life, by the name of its method."""
    function = getattr(cls, name, None)
    if not callable(function):
        raise ScenarioError(f"{cls.__name__} has no {name}()")
    try:
        way = execution_mode(cls, function)
    except TypeError as error:
        raise ScenarioError(f"{cls.__name__}.{error}") from None
    if way is ExecutionMode.STACK and inspect.iscoroutinefunction(function):
        function = as_plain_function(function)
    if check is None:
        return function, way.name, None, False
    if inspect.iscoroutinefunction(check):
        raise ScenarioError(f"{cls.__name__}.{check.__name__}() must be a plain def")
    parameters = list(inspect.signature(check).parameters.values())[1:]
    return function, way.name, check, len(parameters) == 1
