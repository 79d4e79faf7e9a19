"""Literals in code, and the error for syntax and values that code cannot express."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import ast

INT_MAX = 2**63


class NotCompiledError(Exception):
    """A piece of a scenario that code cannot express."""

    def __init__(self, node: ast.AST | None, what: str) -> None:
        """Take the piece and its description, the predicate of a sentence about the task."""
        super().__init__(what)
        self.node = node
        self.what = what


def reject(node: ast.AST | None, what: str) -> NoReturn:
    """Raise :class:`NotCompiledError` for a piece of a scenario."""
    raise NotCompiledError(node, what)


def literal(node: ast.AST | None, value: Any) -> Any:  # noqa: C901, PLR0911  (one line per type)
    """Return a value as code; raises :class:`NotCompiledError` for one without a JSON form."""
    if value is None:
        return "none"
    kind = type(value)
    if kind is bool:
        return {"bool": value}
    if kind is int:
        if not -INT_MAX <= value < INT_MAX:
            reject(node, "uses a whole number of more than 64 bits")
        return {"int": value}
    if kind is float:
        if not math.isfinite(value):
            reject(node, f"uses the number {value!r}")
        return {"float": repr(value)}
    if kind is str:
        if any(0xD800 <= ord(c) < 0xE000 for c in value):
            reject(node, "uses text that has no UTF-8 form")
        return {"text": value}
    if kind is list:
        return {"list": [literal(node, one) for one in value]}
    if kind is dict:
        if not all(type(key) is str for key in value):
            reject(node, "uses a dict whose keys are not text")
        return {
            "dict": [[literal(node, key)["text"], literal(node, one)] for key, one in value.items()]
        }
    reject(node, f"uses a value of the type {kind.__name__}")
