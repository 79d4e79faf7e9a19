"""The feeds of a scenario, and which of its tasks take their rows.

The row of each arrival is fixed before the run, so the tasks that take rows are found in the
source. A task takes rows if it names the feed, or a method or function of the file that takes
rows. A local variable of the feed's name and an attribute of another object are not the feed. No
code of the user is executed.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..inputs.feeds import FORMS, Feed, FeedError, FileRows
from ..problem import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .load import Loaded

HOOKS = ("on_start", "on_stop")
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class Mentioned:
    """The names that a method or function mentions."""

    names: set[str] = field(default_factory=set)
    """All names and attributes: those of methods and functions are followed."""
    own: set[str] = field(default_factory=set)
    """Names that are not local, and attributes of the user or its class: feeds are among them."""

    def add(self, node: ast.AST, classes: set[str], *, is_method: bool) -> None:
        """Add the names in a definition; ``classes`` names the user's class and its bases."""
        walked = list(ast.walk(node))
        parameters = [one.arg for one in walked if isinstance(one, ast.arg)]
        users = set(parameters[:1] if is_method else parameters)
        bound = {*parameters, *(name for one in walked for name in _bound(one))}
        bound -= {name for one in walked if isinstance(one, ast.Global) for name in one.names}
        for one in walked:
            match one:
                case ast.Assign(targets=[ast.Name(id=alias)], value=ast.Name(id=name)):
                    users |= {alias} if name in users else set()
                case ast.Lambda(args=arguments):
                    users |= {argument.arg for argument in arguments.args}
        for one in walked:
            match one:
                case ast.Name(id=name):
                    self.names.add(name)
                    self.own |= {name} - bound
                case ast.Attribute(value=value, attr=name):
                    self.names.add(name)
                    self.own |= {name} if _is_user(value, users, classes) else set()


NamesByFunction = dict[str, Mentioned]
"""The names that each method or function mentions."""


def feeds_of(cls: type) -> dict[str, Feed]:
    """Return the feeds of a class and its bases, by attribute."""
    names = {name: None for base in reversed(cls.__mro__) for name in vars(base)}
    found = {name: inspect.getattr_static(cls, name) for name in names}
    return {name: value for name, value in found.items() if isinstance(value, Feed)}


def plan_feeds(
    loaded: Loaded, cls: type, tasks: Sequence[str]
) -> tuple[list[dict[str, Any]], list[Path], list[Problem]]:
    """Return the plan's feeds of a scenario in Python, their files, and the problems."""
    problems = _unowned(loaded, cls)
    feeds, files = [], []
    mentioned = _names_by_function(loaded, cls)
    root = Path(loaded.file.path).resolve().parent
    for name, feed in feeds_of(cls).items():
        takers = [place for place, task in enumerate(tasks) if _mentions(mentioned, name, task)]
        prepares = any(_mentions(mentioned, name, hook) for hook in HOOKS)
        if not takers and not prepares:
            continue
        try:
            rows = feed.rows
        except FeedError as error:
            problems.append(Problem(feed.place, str(error)))
            continue
        file: dict[str, Any] = {}
        if feed.path is not None:
            path = feed.path.resolve()
            if not path.is_relative_to(root):
                what = f"{feed!r}: agents get files beside the scenario only, and {path} is not"
                problems.append(Problem(feed.place, what))
            elif isinstance(rows, FileRows):
                file = {"file": _row_file(path, root, rows)}
            else:
                files.append(path)
        settings = {
            "prepares": prepares,
            "cycles": feed.cycles,
            "unique": feed.is_unique,
            "stops": feed.stops,
            "shuffled": feed.order == "shuffled",
        }
        flags = {name: True for name, is_set in settings.items() if is_set}
        feeds.append({"name": name, "rows": len(rows), "tasks": takers, **flags, **file})
    return feeds, files, problems


def _row_file(path: Path, root: Path, rows: FileRows) -> dict[str, Any]:
    """Return the plan's reference to a file that agents read rows from."""
    return {
        "name": path.relative_to(root).as_posix(),
        "form": FORMS[path.suffix.lower()],
        "content": {"sha256": rows.file.sha256, "bytes": rows.file.bytes},
    }


def _unowned(loaded: Loaded, cls: type) -> list[Problem]:
    """Find feeds of the scenario's file that are no attribute of a scenario: no task takes them."""
    owned = {id(feed) for one in loaded.scenarios.values() for feed in feeds_of(one).values()}
    module = vars(sys.modules[cls.__module__])
    what = "must be an attribute of the scenario: write it inside the class, and next(self.NAME)"
    found = {id(one): one for one in module.values() if isinstance(one, Feed)}
    return [
        Problem(feed.place, f"{feed!r}: {what}") for key, feed in found.items() if key not in owned
    ]


def _mentions(mentioned: Mapping[str, Mentioned], feed: str, function: str) -> bool:
    """Whether a function mentions a feed, directly or through functions that it mentions."""
    seen: set[str] = set()
    open_names = [function, f"check_{function}"]
    while open_names:
        name = open_names.pop()
        if name in seen or name not in mentioned:
            continue
        seen.add(name)
        if feed in mentioned[name].own:
            return True
        open_names += mentioned[name].names & mentioned.keys()
    return False


def _names_by_function(loaded: Loaded, cls: type) -> NamesByFunction:
    """Collect the names that the methods of a class and the functions of its file mention."""
    mentioned: NamesByFunction = defaultdict(Mentioned)
    classes = {base.__name__ for base in cls.__mro__}
    for node in loaded.file.tree.body:
        if isinstance(node, DEFINITIONS):
            mentioned[node.name].add(node, classes, is_method=False)
    for base in cls.__mro__:
        for name, value in vars(base).items():
            function = getattr(value, "__func__", value)
            function = getattr(function, "fget", function)
            while isinstance(function, FunctionType):
                source = _source(loaded, function)
                if source is not None:
                    is_method = not isinstance(value, staticmethod)
                    mentioned[name].add(source, classes, is_method=is_method)
                function = getattr(function, "__wrapped__", None)
    return mentioned


def _source(loaded: Loaded, function: FunctionType) -> ast.AST | None:
    file = loaded.sources.of(function)
    return file.function(function) if file is not None else None


def _bound(node: ast.AST) -> list[str]:
    """Return the names that a part of a function makes local."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return [name]
        case ast.MatchMapping(rest=str(name)) | ast.ExceptHandler(name=str(name)):
            return [name]
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return [(one.asname or one.name).split(".")[0] for one in aliases]
    return []


def _is_user(node: ast.expr, users: set[str], classes: set[str]) -> bool:
    """Whether an expression is the user or its class."""
    match node:
        case ast.Name(id=name):
            return name in users or name in classes
        case ast.Call(func=ast.Name(id="type" | "super")):
            return True
        case ast.Attribute(attr=name):
            return name == "__class__" or name in classes
    return False
