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
from typing import TYPE_CHECKING, Any

from ..compile.load import choose
from ..compile.load import load as load_file
from ..compile.problem import Refused
from .pauses import install
from .told import know
from .user import User

if TYPE_CHECKING:
    from collections.abc import Callable

START, STOP = -1, -2
"""The parts of a user's life that are no task."""


class ScenarioError(Exception):
    """A scenario cannot be played; for whoever wrote it."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a user's life."""

    function: Callable[..., Any]
    is_awaiting: bool
    """Whether it awaits its requests; if not, they are made from a stack of their own."""
    check: Callable[..., Any] | None = None
    check_takes_response: bool = False
    """Whether the check is given the answer as it is, and not its status and its JSON."""


@dataclass
class Scenario:
    """A class that is loaded, and what its users do."""

    cls: type
    parts: dict[int, Part]
    target: str

    def user(self) -> User:
        """Make a user."""
        return User(self)


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
        played = Scenario(cls, _parts(cls, tasks), target)
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


def _parts(cls: type, tasks: list[str]) -> dict[int, Part]:
    parts = {
        START: _part(cls, "on_start"),
        STOP: _part(cls, "on_stop"),
    }
    for number, name in enumerate(tasks):
        parts[number] = _part(cls, name, getattr(cls, f"check_{name}", None))
    return parts


def _part(cls: type, name: str, check: Callable[..., Any] | None = None) -> Part:
    function = getattr(cls, name, None)
    if not callable(function):
        raise ScenarioError(f"{cls.__name__} has no {name}()")
    is_awaiting = inspect.iscoroutinefunction(function) and _awaits_its_client(function)
    if check is None:
        return Part(function, is_awaiting)
    if inspect.iscoroutinefunction(check):
        raise ScenarioError(
            f"{cls.__name__}.{check.__name__}() must be a plain def: it awaits none"
        )
    parameters = list(inspect.signature(check).parameters.values())[1:]
    return Part(function, is_awaiting, check, check_takes_response=len(parameters) == 1)


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
