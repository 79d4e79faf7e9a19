"""A scenario as an agent plays it: its files unpacked, its class loaded, its parts understood.

Must never leave a module of one scenario for another to import.
"""

from __future__ import annotations

import ast
import inspect
import io
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
from .conversation import Conversation
from .inside import Playing, driven
from .pauses import install
from .told import know

if TYPE_CHECKING:
    from collections.abc import Callable

class ScenarioError(Exception):
    """A scenario cannot be played; for whoever wrote it."""


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

    def user(self) -> tuple[Any, Conversation, Callable[..., Any], Callable[..., Any]]:
        """Make a user: its instance, what it says, and the ways to its stack and back."""
        playing = Playing()
        return self.cls(), Conversation(self.target), playing.switch, playing.engine.switch


def load(bundle: bytes, file: str, scenario: str, tasks: list[str], target: str) -> Scenario:
    """Load a scenario from the archive of its files, to play it against ``target``.

    Raises ScenarioError when it cannot be loaded.
    """
    install()
    root = Path(tempfile.mkdtemp(prefix="loadpilot-scenario-")).resolve()
    try:
        with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
            archive.extractall(root)
        know(root)
        _forget_others(root)
        loaded = load_file(root / file)
        cls = choose(loaded, scenario)
        played = _scenario(cls, tasks, target)
    except Refused as refused:
        shutil.rmtree(root, ignore_errors=True)
        lines = [str(problem).replace(f"{root}/", "") for problem in refused.problems]
        raise ScenarioError("\n".join(lines)) from None
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise
    weakref.finalize(played, shutil.rmtree, str(root), ignore_errors=True)
    return played


def _forget_others(root: Path) -> None:
    """Let modules be imported again that another scenario has brought along."""
    folder = str(root.parent / "loadpilot-scenario-")
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None) or ""
        if path.startswith(folder):
            del sys.modules[name]
    sys.path[:] = [entry for entry in sys.path if not entry.startswith(folder)]


def _scenario(cls: type, tasks: list[str], target: str) -> Scenario:
    start, stop = _part(cls, "on_start"), _part(cls, "on_stop")
    parts = [_part(cls, name, getattr(cls, f"check_{name}", None)) for name in tasks]
    return Scenario(cls, target, start, stop, parts)


def _part(cls: type, name: str, check: Callable[..., Any] | None = None) -> Part:
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
