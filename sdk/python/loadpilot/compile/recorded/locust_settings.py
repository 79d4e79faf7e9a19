"""Finds class attributes that only Locust reads: here they would be ignored.

An attribute that the file reads is data of the scenario's own.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...dsl import VUser, once_of, task_of
from ...problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...scenario_file.source import Sources

ATTRIBUTES = {
    "wait_time": ("the pause between two tasks", "set wait= or pacing= of @scenario"),
    "tasks": ("the tasks with their weights", "mark methods with @task or @task(weight=N)"),
    "weight": ("the share of a user class", "set share= of @scenario"),
    "fixed_count": ("the number of users of a class", "set users= of @scenario"),
    "host": ("the origin of the target", "use the flag --target"),
}
"""The meaning of an attribute in Locust, and what to do here."""


def ignored_attributes(cls: type, sources: Sources, at: str) -> Iterator[Problem]:
    """Find attributes of Locust that no code of a class's files reads; ``at`` is its place."""
    bases = [base for base in cls.__mro__ if base not in (object, VUser)]
    for name, (meaning, instead) in ATTRIBUTES.items():
        base = next((base for base in bases if name in vars(base)), None)
        value = base and vars(base)[name]
        if base is None or task_of(value) is not None or once_of(value) is not None:
            continue
        trees = [file.tree for file in map(sources.of_class, bases) if file is not None]
        if any(_reads(tree, name) for tree in trees):
            continue
        file = sources.of_class(base)
        line = _line(file.tree, base.__name__, name) if file else None
        what = (
            f"{cls.__name__} has the attribute {name}, in Locust {meaning}; no code reads it, so "
            f"it would be ignored: {instead}"
        )
        yield Problem(file.at(line) if file and line else at, what)


def _reads(tree: ast.Module, name: str) -> bool:
    """Whether any code may read an attribute, or a value of this name while a class is built."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=attribute, ctx=ast.Load()) if attribute == name:
                return True
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=text), *_]):
                if text == name:
                    return True
            case ast.ClassDef(body=body):
                if any(_loads(statement, name) for statement in body):
                    return True
    return False


def _loads(statement: ast.stmt, name: str) -> bool:
    """Whether a statement of a class loads a name; bodies of methods see no names of a class."""
    parts: list[ast.AST] = [statement]
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        parts = [*statement.decorator_list, statement.args]
    loaded = (node for part in parts for node in ast.walk(part) if isinstance(node, ast.Name))
    return any(node.id == name and isinstance(node.ctx, ast.Load) for node in loaded)


def _line(tree: ast.Module, owner: str, name: str) -> int | None:
    """Return the last line where a class of this name binds an attribute; None if not found."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == owner:
            for statement in node.body:
                match statement:
                    case ast.FunctionDef(name=bound) | ast.AnnAssign(target=ast.Name(id=bound)):
                        names = [bound]
                    case ast.Assign(targets=targets):
                        names = [one.id for one in targets if isinstance(one, ast.Name)]
                    case _:
                        names = []
                lines += [statement.lineno] if name in names else []
    return lines[-1] if lines else None
