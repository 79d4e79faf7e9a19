"""The outside of a function, and what its variables hold, before it becomes code.

Must never look at a function that it could not see whole.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ...scenario_file.constants import describe
from .literals import reject

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FunctionType

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
IsAnswer: TypeAlias = Callable[[ast.expr], bool]
DEFINITIONS = (ast.ExceptHandler, ast.FunctionDef, ast.AsyncFunctionDef)
"""Statements that give a name to something."""


def check_signature(  # noqa: C901  (a list of rules)
    function: FunctionType, node: Function, takes: tuple[str, ...] | None
) -> None:
    """Refuse what makes a function more than its body.

    ``takes`` is what a part of a user's life is given beside the user; any other function takes
    what it likes.
    """
    arguments = node.args
    more = arguments.kwonlyargs or arguments.vararg or arguments.kwarg
    positional = [*arguments.posonlyargs, *arguments.args]
    if more:
        reject(node, "takes arguments by * or by name only")
    is_exact = not arguments.defaults and not function.__defaults__
    if takes is not None and not (is_exact and len(positional) == 1 + len(takes)):
        reject(node, f"does not take exactly self and {', '.join(takes)}")
    names = [argument.arg for argument in positional]
    if len(set(names)) != len(names):
        reject(node, "takes two arguments of one name")
    closure = set(function.__code__.co_freevars) - {"__class__"}
    if closure:
        reject(node, f"uses `{min(closure)}`, a variable of the function around the class")
    if hasattr(function, "__wrapped__") or function.__kwdefaults__:
        reject(node, "is wrapped by another function")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        reject(node, "contains a yield")
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and one.id.startswith("__"):
            reject(one, f"uses `{one.id}`")
        if isinstance(one, ast.Attribute) and one.attr.startswith("__"):
            reject(one, f"uses `{ast.unparse(one)}`")
        if isinstance(one, ast.Global | ast.Nonlocal | ast.NamedExpr):
            reject(one, f"contains {describe(one)}")


@dataclass(frozen=True)
class Assignments:
    """The local variables of a function, by what they hold."""

    values: frozenset[str]
    answers: frozenset[str]
    batches: Mapping[str, int | None]
    """Those that hold the answers of a batch, with how many these are, if that is known."""

    @classmethod
    def of(cls, node: Function, client: str | None, is_answer: IsAnswer) -> Assignments:
        """Look at what a function assigns; ``is_answer`` knows calls that return one."""
        held, batches = _held(node, client, is_answer)
        answers: set[str] = set()
        values: set[str] = set()
        for one in ast.walk(node):
            if isinstance(one, DEFINITIONS) and one is not node and one.name:
                values.add(one.name)
            if not isinstance(one, ast.Name) or isinstance(one.ctx, ast.Load):
                continue
            kind = held.get(id(one), "value")
            if kind != "answers":
                (answers if kind == "answer" else values).add(one.id)
        return cls(frozenset(values), frozenset(answers), batches)

    @property
    def all(self) -> frozenset[str]:
        """Every one of them."""
        return self.values | self.answers | self.batches.keys()

    @property
    def mixed(self) -> frozenset[str]:
        """Those that hold different things."""
        several = self.batches.keys()
        pairs = (self.values & self.answers, self.values & several, self.answers & several)
        return frozenset().union(*pairs)


def _held(
    node: Function, client: str | None, is_answer: IsAnswer
) -> tuple[dict[int, str], dict[str, int | None]]:
    """Find the names that are given an answer, or the answers of a batch, and these with how many
    there are.
    """  # noqa: D205
    held: dict[int, str] = {}
    batches: dict[str, int | None] = {}
    for target, value in _assignments(node):
        call = value.value if isinstance(value, ast.Await) else value
        is_batch = is_batch_of(call, client)
        match target:
            case ast.Name(id=name) if is_batch:
                held[id(target)] = "answers"
                count = _count(call)
                batches[name] = count if batches.get(name, count) == count else None
            case ast.Name() if is_call_of(call, client) or is_answer(value):
                held[id(target)] = "answer"
            case ast.Tuple(elts=elements) if is_batch:
                held |= {id(one): "answer" for one in elements}
            case _:
                pass
    for one in ast.walk(node):
        match one:
            case ast.For(target=ast.Name() as target, iter=ast.Name(id=name)) if name in batches:
                held[id(target)] = "answer"
            case ast.For(target=ast.Name() as target, iter=over):
                call = over.value if isinstance(over, ast.Await) else over
                if is_batch_of(call, client):
                    held[id(target)] = "answer"
            case _:
                pass
    return held, batches


def _assignments(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    for one in ast.walk(node):
        match one:
            case ast.Assign(targets=[target], value=value):
                yield target, value
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield target, value
            case _:
                pass


def _count(call: ast.expr) -> int | None:
    """Count the requests of a batch that are written out."""
    match call:
        case ast.Call(args=[ast.List(elts=elements)]):
            return len(elements)
        case _:
            return None


def awaits_requests(node: Function, client: str | None) -> bool:
    """Whether a coroutine awaits its requests; one that has none is taken to."""
    awaited = {id(one.value) for one in ast.walk(node) if isinstance(one, ast.Await)}
    calls = [one for one in ast.walk(node) if client is not None and _is_of(one, client)]
    return isinstance(node, ast.AsyncFunctionDef) and (
        not calls or any(id(call) in awaited for call in calls)
    )


def _is_of(node: ast.AST, client: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            return name == client
        case _:
            return False


def is_batch_of(node: ast.AST, client: str | None) -> bool:
    """Whether an expression makes several requests at a time."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="batch")):
            return name == client
        case _:
            return False


def is_call_of(node: ast.AST, client: str | None) -> bool:
    """Whether an expression makes one request."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if name == client:
            return attr not in ("batch", "step")
        case _:
            return False


def root(node: ast.expr) -> str:
    """Find the name that a path of attributes begins with."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def attributes(node: ast.expr) -> list[str]:
    """List the attributes behind that."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return names
