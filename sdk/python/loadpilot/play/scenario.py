"""Loads a scenario on an agent: unpacks its bundle, imports its class, finds its parts.

When the scenario ends, its modules are removed, so that the next one cannot import them.
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

from .. import _native, metrics
from ..inputs import random
from ..inputs.feeds import FeedError, FileRows
from ..inputs.params import ParameterSource
from ..problem import Refused
from ..scenario_file.feed_usage import feeds_of
from ..scenario_file.load import choose
from ..scenario_file.load import load as load_file
from . import sleep_patch, states
from .conversation import Conversation
from .execution_mode import ExecutionMode, execution_mode
from .greenlets import UserStack, as_plain_function
from .tracebacks import add_root, describe_with_lines, remove_root
from .watchdog import Watchdog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .loop import GuestLoop


class ScenarioError(Exception):
    """A scenario cannot be executed; its author can fix it."""


Switch: TypeAlias = "Callable[..., Any]"
"""A switch from one stack to another."""
Part: TypeAlias = "tuple[Callable[..., Any], str, Callable[..., Any] | None, bool]"
"""A part of a user's life: function; name of its :class:`ExecutionMode`; check, or None; whether
the check takes the response itself, rather than its status and JSON."""


@dataclass
class Scenario:
    """A loaded class and the parts of its users."""

    cls: type
    target: str
    start: Part
    stop: Part
    tasks: list[Part]
    shared_names: list[str]
    """Class attributes that take precedence over those set by a user's ``__init__``."""
    users: list[str] | None
    """State of each user by number, as JSON, if the submitter prepared them."""
    once: tuple[Part, ...] = ()
    """Setups and teardowns; agents run none."""

    def guest(self) -> GuestLoop | None:
        """Create an event loop for the calling thread, if any part needs one."""
        return guest_loop_of((self.start, self.stop, *self.tasks))

    def user(self, number: int) -> tuple[Any, Conversation, Switch, Switch, Switch]:
        """Create a user: its instance, its HTTP session, and the switches of its stack.

        The switches: to the stack with a value, to it with an error, and back to the engine.
        """
        instance = new_instance(self.cls, self.shared_names)
        conversation = Conversation(self.target)
        if self.users is not None:
            states.restore(self.users[number], instance, conversation)
        return instance, conversation, *stack_switches()


def new_instance(cls: type, shared_names: list[str]) -> Any:
    """Create an instance without the attributes that the class shares.

    Raises ScenarioError for an error of ``__init__``.
    """
    try:
        instance = cls()
    except Exception as error:  # noqa: BLE001  (user code: any error is the user's)
        raise ScenarioError(describe_with_lines(error)) from None
    for name in shared_names:
        vars(instance).pop(name, None)
    return instance


def stack_switches() -> tuple[Switch, Switch, Switch]:
    """Create the stack of a user; returns the switches to it, with an error, and back."""
    stack = UserStack()
    return stack.switch, stack.throw, stack.engine.switch


PlannedFeed: TypeAlias = "tuple[str, int, _native.RowFile | None]"
"""Name of a feed, number of its rows, and the file that holds them, if there is one."""


class RunInputs(TypedDict):
    """The data that the submitter sent with a scenario."""

    parameters: dict[str, str]
    """Values of the parameters, by name."""
    feeds: list[PlannedFeed]
    """The feeds of the plan."""
    shared: str | None
    """The state that users share, as JSON, if the submitter prepared it."""
    users: list[str] | None
    """The state of each user, as JSON, if the submitter prepared them."""


def load(
    bundle: bytes,
    file: str,
    scenario: str,
    tasks: list[str],
    target: str,
    **inputs: Unpack[RunInputs],
) -> Scenario:
    """Load a scenario from its bundle, to run it against ``target``; raises ScenarioError."""
    if _loaded:
        what = "this agent runs another scenario in Python; it can run one at a time"
        raise ScenarioError(what)
    metrics.attach(_native.measure)
    root = Path(tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-")).resolve()
    try:
        with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
            archive.extractall(root)
        add_root(root)
        _import_asyncio_if_named(root)
        sleep_patch.install()
        loaded = load_file(root / file, ParameterSource(inputs["parameters"], is_playing=True))
        sleep_patch.install()
        cls = choose(loaded, scenario)
        bind_feeds(cls, inputs["feeds"])
        shared = inputs["shared"]
        shared_names = [] if shared is None else states.restore_shared(shared, cls)
        played = _scenario(cls, tasks, target, shared_names, inputs["users"])
    except Refused as refused:
        _forget(root)
        lines = [str(problem).replace(f"{root}/", "") for problem in refused.problems]
        raise ScenarioError("\n".join(lines)) from None
    except BaseException:
        _forget(root)
        raise
    _loaded.add(root)
    weakref.finalize(played, _forget, root)
    watchdog = Watchdog()
    weakref.finalize(played, watchdog.end)
    watchdog.start()
    return played


FOLDER = "loadpilot-scenario-"
"""Prefix of the folders in which scenarios are unpacked."""
_loaded: set[Path] = set()
"""Folder of the loaded scenario; one at a time, as two could import modules of the same name."""


def _import_asyncio_if_named(root: Path) -> None:
    """Import asyncio if a file names it, so that ``asyncio.sleep`` is replaced before its import.

    Other scenarios are spared the import: a third of the time of all imports of an agent.
    """
    if any(b"asyncio" in file.read_bytes() for file in root.rglob("*.py")):
        import_module("asyncio")


def _forget(root: Path) -> None:
    """Remove a scenario: its files, its modules and its entry in ``sys.path``."""
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
    """Delete the unpacked files at the end of the process."""
    for root in list(_loaded):
        shutil.rmtree(root, ignore_errors=True)


def bind_feeds(cls: type, planned: list[PlannedFeed]) -> None:
    """Connect the feeds of the plan and the random values of a scenario to the engine."""
    feeds = feeds_of(cls)
    for number, (name, rows, file) in enumerate(planned):
        feed = feeds[name]
        if file is not None:
            feed.rows = FileRows(file)
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
    cls: type, tasks: list[str], target: str, shared_names: list[str], users: list[str] | None
) -> Scenario:
    start, stop = part_of(cls, "on_start"), part_of(cls, "on_stop")
    parts = [part_of(cls, name, getattr(cls, f"check_{name}", None)) for name in tasks]
    return Scenario(cls, target, start, stop, parts, shared_names, users)


def guest_loop_of(parts: Iterable[Part]) -> GuestLoop | None:
    """Create an event loop for the calling thread, if any part needs one."""
    if all(mode != ExecutionMode.LOOP.name for _, mode, _, _ in parts):
        return None
    from .loop import GuestLoop  # noqa: PLC0415  (few scenarios need one)

    return GuestLoop()


def part_of(cls: type, name: str, check: Callable[..., Any] | None = None) -> Part:
    """Build a part of a user's life from the name of its method; raises ScenarioError."""
    function = getattr(cls, name, None)
    if not callable(function):
        raise ScenarioError(f"{cls.__name__} has no {name}()")
    try:
        mode = execution_mode(cls, function)
    except TypeError as error:
        raise ScenarioError(f"{cls.__name__}.{error}") from None
    if mode is ExecutionMode.STACK and inspect.iscoroutinefunction(function):
        function = as_plain_function(function)
    if check is None:
        return function, mode.name, None, False
    if inspect.iscoroutinefunction(check):
        raise ScenarioError(f"{cls.__name__}.{check.__name__}() must be a plain def")
    parameters = list(inspect.signature(check).parameters.values())[1:]
    return function, mode.name, check, len(parameters) == 1
