"""A scenario as an agent plays it: its files unpacked, its class loaded, its parts understood.

Must never leave a module of one scenario for another to import.
"""

from __future__ import annotations

import ast
import inspect
import io
import os
import shutil
import sys
import tempfile
import textwrap
import weakref
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ..compile.load import choose
from ..compile.load import load as load_file
from ..compile.problem import Refused
from . import states
from .conversation import Conversation
from .inside import Playing, driven
from .pauses import install
from .told import forget, know, told_at_length

if TYPE_CHECKING:
    from collections.abc import Callable


class ScenarioError(Exception):
    """A scenario cannot be played; for whoever wrote it."""


Way: TypeAlias = "Callable[..., Any]"
"""A move from one stack to another."""
Part: TypeAlias = "tuple[Callable[..., Any], bool, Callable[..., Any] | None, bool]"
"""One part of a user's life: its function; whether that awaits its requests, or has to run on a
stack of its own; its check; whether that is given the answer itself, not its status and JSON."""


@dataclass
class Scenario:
    """A class that is loaded, and what its users do."""

    cls: type
    target: str
    start: Part
    stop: Part
    tasks: list[Part]
    over: list[str]
    """Attributes of the class that what a user's ``__init__`` sets does not hide."""
    users: list[str] | None
    """The state of each user by its number, as JSON, when they were prepared elsewhere."""
    once: tuple[Part, ...] = ()
    """Agents play nothing that happens once per run."""

    def user(self, number: int) -> tuple[Any, Conversation, Way, Way, Way]:
        """Make the user of a number: its instance, what it says, the ways to its stack and back.

        The first way leads there as if all were well, the second with an error.
        """
        instance, conversation = made(self.cls, self.over), Conversation(self.target)
        if self.users is not None:
            states.restore(self.users[number], instance, conversation)
        return instance, conversation, *ways()


def made(cls: type, over: list[str]) -> Any:
    """Make an instance of a class; raises ScenarioError with what that raised."""
    try:
        instance = cls()
    except Exception as error:  # noqa: BLE001  (user code: any error is the user's)
        raise ScenarioError(told_at_length(error)) from None
    for name in over:
        vars(instance).pop(name, None)
    return instance


def ways() -> tuple[Way, Way, Way]:
    """Make a stack for a user: the ways to it, as if all were well or with an error, and back."""
    playing = Playing()
    return playing.switch, playing.throw, playing.engine.switch


def load(
    bundle: bytes,
    file: str,
    scenario: str,
    tasks: list[str],
    target: str,
    shared: str | None,
    users: list[str] | None,
) -> Scenario:
    """Load a scenario from the archive of its files, to play it against ``target``.

    ``shared`` is what its users share, ``users`` the state of each, where they were prepared
    elsewhere.

    Raises ScenarioError when it cannot be loaded.
    """
    if _played:
        what = "this agent plays another scenario in Python, and one at a time is all it can"
        raise ScenarioError(what)
    install()
    root = Path(tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-")).resolve()
    try:
        with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
            archive.extractall(root)
        know(root)
        loaded = load_file(root / file)
        cls = choose(loaded, scenario)
        over = [] if shared is None else states.share(shared, cls)
        played = _scenario(cls, tasks, target, over, users)
    except Refused as refused:
        _forget(root)
        lines = [str(problem).replace(f"{root}/", "") for problem in refused.problems]
        raise ScenarioError("\n".join(lines)) from None
    except BaseException:
        _forget(root)
        raise
    _played.add(root)
    weakref.finalize(played, _forget, root)
    return played


FOLDER = "loadpilot-scenario-"
"""How the folders begin in which scenarios are unpacked."""
_played: set[Path] = set()
"""Where the scenario lies that is played: two could import modules of the same name."""


def _forget(root: Path) -> None:
    """Let go of a scenario: its files, its modules, its place on the path."""
    _played.discard(root)
    forget(root)
    shutil.rmtree(root, ignore_errors=True)
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None) or ""
        if path.startswith(f"{root}/"):
            del sys.modules[name]
    sys.path[:] = [entry for entry in sys.path if not entry.startswith(str(root))]


def clear() -> None:
    """Remove what scenarios of this process have unpacked; it is about to end."""
    for root in list(_played):
        shutil.rmtree(root, ignore_errors=True)


def _scenario(
    cls: type, tasks: list[str], target: str, over: list[str], users: list[str] | None
) -> Scenario:
    start, stop = part_of(cls, "on_start"), part_of(cls, "on_stop")
    parts = [part_of(cls, name, getattr(cls, f"check_{name}", None)) for name in tasks]
    return Scenario(cls, target, start, stop, parts, over, users)


def part_of(cls: type, name: str, check: Callable[..., Any] | None = None) -> Part:
    """Understand one part of a user's life, by the name of its method."""
    function = getattr(cls, name, None)
    if not callable(function):
        raise ScenarioError(f"{cls.__name__} has no {name}()")
    is_awaiting = False
    if inspect.iscoroutinefunction(function):
        is_awaiting = _awaits_its_client(function)
        function = function if is_awaiting else driven(function)
    if check is None:
        return function, is_awaiting, None, False
    if inspect.iscoroutinefunction(check):
        raise ScenarioError(f"{cls.__name__}.{check.__name__}() must be a plain def")
    parameters = list(inspect.signature(check).parameters.values())[1:]
    return function, is_awaiting, check, len(parameters) == 1


def _awaits_its_client(function: Callable[..., Any]) -> bool:
    """Whether a coroutine awaits what its client gives it.

    One that calls its client without ever awaiting is written for a client that returns answers.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):
        return True
    client = list(inspect.signature(function).parameters)[1:2]
    calls = {
        id(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and [node.func.value.id] == client
    }
    awaited = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Await)}
    return not calls or bool(calls & awaited)
