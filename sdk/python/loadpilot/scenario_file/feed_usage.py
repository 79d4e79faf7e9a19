"""The feeds of a scenario: its attributes that hold rows, and which of its tasks take them.

That a task takes rows is read from its source, since it fixes before the run which arrival gets
which row: whoever names the feed, or calls a method or function of the file that does, takes them.
Must never run anything of the user's.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections import defaultdict
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..feeds import Feed, FeedError
from ..problem import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .load import Loaded

HOOKS = ("on_start", "on_stop")
Named = dict[str, set[str]]
"""By name of a method or function: the names that it mentions."""


def feeds_of(cls: type) -> dict[str, Feed]:
    """List the feeds of a class and its bases, by attribute."""
    names = {name: None for base in reversed(cls.__mro__) for name in vars(base)}
    found = {name: inspect.getattr_static(cls, name) for name in names}
    return {name: value for name, value in found.items() if isinstance(value, Feed)}


def plan_feeds(
    loaded: Loaded, cls: type, tasks: Sequence[str]
) -> tuple[list[dict[str, Any]], list[Path], list[Problem]]:
    """Write the feeds of a scenario in Python; and list their files, and what is wrong."""
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
            rows = len(feed.rows)
        except FeedError as error:
            problems.append(Problem(feed.place, str(error)))
            continue
        if feed.path is not None:
            path = feed.path.resolve()
            files.append(path)
            if not path.is_relative_to(root):
                what = f"{feed!r}: agents get files beside the scenario only, and {path} is not"
                problems.append(Problem(feed.place, what))
        said = {
            "prepares": prepares,
            "cycles": feed.cycle,
            "shuffled": feed.order == "shuffled",
        }
        flags = {flag: True for flag, holds in said.items() if holds}
        feeds.append({"name": name, "rows": rows, "tasks": takers, **flags})
    return feeds, files, problems


def _unowned(loaded: Loaded, cls: type) -> list[Problem]:
    """Find feeds of the scenario's file that no scenario has: nothing says who takes their rows."""
    owned = {id(feed) for one in loaded.scenarios.values() for feed in feeds_of(one).values()}
    module = vars(sys.modules[cls.__module__])
    what = "must be an attribute of the scenario: write it inside the class, and next(self.NAME)"
    found = {id(one): one for one in module.values() if isinstance(one, Feed)}
    return [
        Problem(feed.place, f"{feed!r}: {what}") for key, feed in found.items() if key not in owned
    ]


def _mentions(mentioned: Mapping[str, set[str]], feed: str, function: str) -> bool:
    """Whether a function mentions a feed, or one that does."""
    seen: set[str] = set()
    open_names = [function, f"check_{function}"]
    while open_names:
        name = open_names.pop()
        if name in seen:
            continue
        seen.add(name)
        names = mentioned.get(name, set())
        if feed in names:
            return True
        open_names += names & mentioned.keys()
    return False


def _names_by_function(loaded: Loaded, cls: type) -> Named:
    """Collect what the methods of a class mention, and the functions of its file."""
    mentioned: Named = defaultdict(set)
    for node in loaded.file.tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            mentioned[node.name] |= _names(node)
    for base in cls.__mro__:
        for name, value in vars(base).items():
            function = getattr(value, "__func__", value)
            function = getattr(function, "fget", function)
            if isinstance(function, FunctionType):
                source = _source(loaded, function)
                mentioned[name] |= _names(source) if source is not None else set()
    return mentioned


def _source(loaded: Loaded, function: FunctionType) -> ast.AST | None:
    file = loaded.sources.of(function)
    return file.function(function) if file is not None else None


def _names(function: ast.AST) -> set[str]:
    names = {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}
    return names | {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
