"""Finds and checks the hooks that the submitter runs.

These are ``@setup`` and ``@teardown``, once per run, and ``on_start`` and ``on_stop`` of all users
if the scenario sets ``prepare="submitter"`` or its ``on_start`` sets a shared attribute: agents
share no memory.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ...dsl import Once, VUser, attribute_names, once_of, task_of
from ...problem import Problem, Reason, one_of, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...scenario_file.load import Loaded
    from .settings import Settings

PREPARERS = ("agents", "submitter")
"""Values of ``prepare``."""
HOOKS_MAX = 100
"""Maximum number of setups, and of teardowns."""
MUTATORS = frozenset({"add", "append", "extend", "insert", "pop", "remove", "setdefault", "update"})
"""Methods that change a list, set or dict in place."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A method that the submitter runs."""

    name: str
    place: str
    """File and line of its definition."""


@dataclass(frozen=True, slots=True)
class SubmitterHooks:
    """The hooks of a scenario that the submitter runs."""

    cls: type
    root: Path
    """The folder of the scenario's file, resolved."""
    setups: tuple[Hook, ...]
    """Setups, those of base classes first."""
    teardowns: tuple[Hook, ...]
    """Teardowns, those of base classes last."""
    start: Hook | None
    """``on_start``, if the submitter prepares the users."""
    why: Reason | None
    """The reason for that, unless the scenario sets ``prepare``."""

    @property
    def once(self) -> list[str]:
        """Names of the setups, then of the teardowns."""
        return [hook.name for hook in (*self.setups, *self.teardowns)]


def submitter_hooks(
    loaded: Loaded, cls: type, settings: Settings, at: str, *, here: bool = False
) -> SubmitterHooks | None:
    """Find the hooks that the submitter runs; None without any.

    ``here``: the submitter prepares users unless the scenario sets ``prepare``. Mistakes are added
    to the problems of the settings.
    """
    hooks: dict[Once, list[Hook]] = {Once.SETUP: [], Once.TEARDOWN: []}
    for name in attribute_names(cls):
        attribute = inspect.getattr_static(cls, name)
        once = once_of(attribute)
        if once is not None:
            place = loaded.sources.place_of(attribute, at)
            settings.problems += _flaws(name, once, attribute, place)
            hooks[once].append(Hook(name, place))
    for once, found in hooks.items():
        if len(found) > HOOKS_MAX:
            what = f"marks {len(found)} methods with @{once}; the maximum is {HOOKS_MAX}"
            settings.problems.append(Problem(at, what))
    start, why = _prepared_here(loaded, cls, settings, at)
    if here and start is None and "prepare" not in settings.spec.arguments:
        start, why = _prepared_for_others(loaded, cls, settings, at)
    if start is None and not any(hooks.values()):
        return None
    return SubmitterHooks(
        cls,
        Path(loaded.file.path).resolve().parent,
        tuple(hooks[Once.SETUP]),
        tuple(reversed(hooks[Once.TEARDOWN])),
        start,
        why,
    )


def _flaws(name: str, once: Once, attribute: object, place: str) -> Iterator[Problem]:
    """Find the mistakes of a setup or teardown."""
    function = getattr(attribute, "__func__", attribute)
    if task_of(function) is not None:
        yield Problem(place, f"{name}() is marked with @task and with @{once}; drop one of them")
    if not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
        what = f"@{once} {name}: must be a plain method, not {type(function).__name__}"
        yield Problem(place, what)
        return
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        what = "contains a yield, so that calling it does nothing: write a @setup and a @teardown"
        yield Problem(place, f"@{once} {name}: {what}")
    takes = ["client"] if isinstance(attribute, staticmethod) else ["self", "client"]
    parameters = inspect.signature(function).parameters.values()
    by_place = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    if len([one for one in parameters if one.kind in by_place]) != len(takes):
        given = ", ".join(inspect.signature(function).parameters)
        what = f"@{once} {name}: must take {' and '.join(takes)}"
        yield rule(place, what, f"({given})")


def _prepared_here(
    loaded: Loaded, cls: type, settings: Settings, at: str
) -> tuple[Hook | None, Reason | None]:
    """Decide whether the submitter prepares users; returns their ``on_start`` and the reason."""
    prepare = settings.spec.arguments.get("prepare")
    if prepare is not None and prepare not in PREPARERS:
        settings.problems.append(one_of(settings.place("prepare"), PREPARERS, prepare))
        return None, None
    function: Any = inspect.getattr_static(cls, "on_start")
    if function is VUser.on_start:
        if prepare is not None:
            what = f"has no effect, because {cls.__name__} defines no on_start; drop it"
            settings.problems.append(Problem(settings.place("prepare"), what))
        return None, None
    start = Hook("on_start", loaded.sources.place_of(function, at))
    why = None if prepare is not None else next(_shared_by_on_start(loaded, cls), None)
    if prepare != "submitter" and why is None:
        return None, None
    if _has_slots(cls):
        settings.problems.append(_slots(cls, at))
    return start, why


def _prepared_for_others(
    loaded: Loaded, cls: type, settings: Settings, at: str
) -> tuple[Hook | None, Reason | None]:
    """Let the submitter prepare users because the run goes to a fleet, if ``on_start`` exists."""
    function: Any = inspect.getattr_static(cls, "on_start")
    if function is VUser.on_start:
        return None, None
    if _has_slots(cls):
        settings.problems.append(_slots(cls, at))
    start = Hook("on_start", loaded.sources.place_of(function, at))
    what = 'agents of a fleet get users that are prepared (prepare="agents" lets each do it)'
    return start, Reason(start.place, what)


def _has_slots(cls: type) -> bool:
    return any(vars(one).get("__slots__") for one in cls.__mro__)


def _slots(cls: type, at: str) -> Problem:
    what = "has __slots__, so that what on_start sets cannot travel; drop them, or say"
    return Problem(at, f'{cls.__name__} {what} prepare="agents"')


def _shared_by_on_start(loaded: Loaded, cls: type) -> Iterator[Reason]:
    """Find the lines where ``on_start`` of a class or its bases sets a class attribute."""
    names = {one.__name__ for one in cls.__mro__} - {"object", "VUser"}
    for one in cls.__mro__:
        function = vars(one).get("on_start")
        if one is VUser or not isinstance(function, FunctionType):
            continue
        file = loaded.sources.of(function)
        node = file.function(function) if file else None
        if file is None or node is None:
            continue
        for part in ast.walk(node):
            attribute = _set_on_class(part, names)
            if attribute is not None:
                what = f"on_start() sets {ast.unparse(attribute)}, which all users share"
                yield Reason(file.at(part), what)


def _set_on_class(node: ast.AST, names: set[str]) -> ast.Attribute | None:
    """Return the class attribute that a statement or call changes; None if it changes none."""
    targets: list[ast.expr] = []
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            pass
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target, value=ast.expr()):
            targets = [target]
        case ast.Call(func=ast.Attribute(value=changed, attr=method)) if method in MUTATORS:
            targets = [changed]
    inner = (one for target in targets for one in _leaves(target))
    return next((one for one in inner if _is_class(one.value, names)), None)


def _leaves(target: ast.expr) -> Iterator[ast.Attribute]:
    """Yield the attributes that an assignment to ``target`` changes."""
    match target:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from _leaves(element)
        case ast.Subscript(value=value) | ast.Starred(value=value):
            yield from _leaves(value)
        case ast.Attribute():
            yield target


def _is_class(node: ast.expr, names: set[str]) -> bool:
    """Whether an expression is the class: its name, ``type(self)`` or ``self.__class__``."""
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.Call(func=ast.Name(id="type"), args=[ast.Name()]):
            return True
        case ast.Attribute(attr="__class__"):
            return True
    return False
