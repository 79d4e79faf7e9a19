"""Checks of a function before its compilation: its signature, and the kinds of its variables."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ...scenario_file.constants import describe
from .literals import reject

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FunctionType

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
IsAnswer: TypeAlias = Callable[[ast.expr], bool]
DEFINITIONS = (ast.ExceptHandler, ast.FunctionDef, ast.AsyncFunctionDef)
"""Syntax nodes that bind a name without an assignment."""


def check_signature(  # noqa: C901  (a list of rules)
    function: FunctionType, node: Function, takes: tuple[str, ...] | None
) -> None:
    """Refuse a function whose meaning is more than its body.

    ``takes`` names the exact parameters of a task, hook or check beside the user; None for any
    other function.
    """
    arguments = node.args
    more = arguments.kwonlyargs or arguments.vararg or arguments.kwarg
    positional = [*arguments.posonlyargs, *arguments.args]
    if more:
        reject(node, "has *, ** or keyword-only parameters")
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
    """The local variables of a function, by the kinds of their contents."""

    values: frozenset[str]
    answers: frozenset[str]
    """Variables that hold a response."""
    batches: Mapping[str, int | None]
    """Variables that hold the responses of a batch, with their number if known."""

    @classmethod
    def of(cls, node: Function, client: str | None, is_answer: IsAnswer) -> Assignments:
        """Collect the assignments of a function; ``is_answer``: whether a call returns one."""
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
        """All local variables."""
        return self.values | self.answers | self.batches.keys()

    @property
    def mixed(self) -> frozenset[str]:
        """Variables with contents of different kinds."""
        several = self.batches.keys()
        pairs = (self.values & self.answers, self.values & several, self.answers & several)
        return frozenset().union(*pairs)


def _held(
    node: Function, client: str | None, is_answer: IsAnswer
) -> tuple[dict[int, str], dict[str, int | None]]:
    """Find the names that hold a response or those of a batch.

    Returns the kind of each name's node by id, and the variables of batches with the number of
    responses if known.
    """
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
    """Return the number of requests in a batch; None unless it is a list display."""
    match call:
        case ast.Call(args=[ast.List(elts=elements)]):
            return len(elements)
        case _:
            return None


def awaits_requests(node: Function, client: str | None) -> bool:
    """Whether a coroutine awaits its requests; True without any requests."""
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
    """Whether an expression is a batch of the client."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="batch")):
            return name == client
        case _:
            return False


def is_call_of(node: ast.AST, client: str | None) -> bool:
    """Whether an expression is one request of the client."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if name == client:
            return attr not in ("batch", "step")
        case _:
            return False


def root(node: ast.expr) -> str:
    """Return the first name of a dotted path, ``a`` of ``a.b.c``; empty for another expression."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def global_value(function: FunctionType, node: ast.expr) -> Any:
    """Return the value of a dotted path in the module of a function; None if it has none."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.insert(0, node.attr)
        node = node.value
    value = function.__globals__.get(node.id) if isinstance(node, ast.Name) else None
    for attribute in attributes:
        value = getattr(value, attribute, None)
    return value
