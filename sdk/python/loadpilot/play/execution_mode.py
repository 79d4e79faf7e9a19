"""Execution mode of a task or hook, found from the awaited expressions in its source.

Most coroutines await only their client, and the engine resumes them itself. A coroutine that awaits
anything else needs an event loop. In doubt a coroutine gets the loop.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from ..dsl import VUser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class ExecutionMode(Enum):
    """How a part of a user's life is executed."""

    STACK = "on a stack of its own"
    """A plain function, or a coroutine that does not await its client's requests."""
    ENGINE = "by the engine"
    """A coroutine that awaits only its client and sleeps."""
    LOOP = "by an event loop"
    """A coroutine that awaits anything else, too."""


def execution_mode(cls: type, function: Callable[..., Any]) -> ExecutionMode:
    """Return the execution mode of a function of a scenario's class.

    Raises TypeError for a coroutine that needs a loop and does not await its client.
    """
    if not inspect.iscoroutinefunction(function):
        return ExecutionMode.STACK
    is_bound = inspect.ismethod(function) or isinstance(
        inspect.getattr_static(cls, function.__name__, None), staticmethod
    )
    parameters = list(inspect.signature(function).parameters)
    source = _CoroutineSource.of(function, "".join(parameters[:1] if is_bound else parameters[1:2]))
    if source is None:
        return ExecutionMode.LOOP  # without the source it is unknown what it awaits
    needs_no_loop = source.needs_no_loop(cls, set())
    awaits_none = bool(source.calls) and not source.calls & source.awaited_calls
    if awaits_none and (needs_no_loop or source.used_at_once):
        if not needs_no_loop:
            what = "awaits something that needs an event loop, so it has to await its client, too"
            raise TypeError(f"{function.__name__}() {what}: await {source.client}.get(…)")
        return ExecutionMode.STACK
    return ExecutionMode.ENGINE if needs_no_loop else ExecutionMode.LOOP


@dataclass
class _CoroutineSource:
    """The syntax tree of a coroutine."""

    function: Callable[..., Any]
    tree: ast.AST
    client: str

    @classmethod
    def of(cls, function: Callable[..., Any], client: str) -> _CoroutineSource | None:
        """Parse a function; ``client`` is the name of its client. None without a source."""
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        except (OSError, SyntaxError):
            return None
        return cls(function, tree, client)

    @property
    def calls(self) -> set[int]:
        """Ids of the calls of the client."""
        return {id(node) for node in ast.walk(self.tree) if self._is_of_client(node)}

    @property
    def used_at_once(self) -> set[int]:
        """Calls of the client whose results are used as responses, without an await."""
        users = [n for n in ast.walk(self.tree) if isinstance(n, ast.Attribute | ast.Expr)]
        return self.calls & {id(node.value) for node in users}

    @property
    def awaits(self) -> list[ast.expr]:
        """All awaited expressions."""
        return [node.value for node in ast.walk(self.tree) if isinstance(node, ast.Await)]

    @property
    def awaited_calls(self) -> set[int]:
        """Ids of the calls that are awaited in place, or entered by ``async with``."""
        return {id(node) for node in (*self.awaits, *self._entered())}

    def needs_no_loop(self, cls: type, known: set[str]) -> bool:
        """Whether it awaits only the client, sleeps, and coroutines of the same kind.

        ``known`` names the methods under examination, so that recursion ends.
        """
        loops = (ast.AsyncFor, ast.comprehension)
        for node in ast.walk(self.tree):
            if isinstance(node, loops) and getattr(node, "is_async", True):
                return False
            if isinstance(node, ast.Name) and self._is_foreign(node):
                return False
        entered = all(self._is_of_client(node) for node in self._entered())
        return entered and all(self._awaits_no_loop(node, cls, known) for node in self.awaits)

    def _entered(self) -> Iterator[ast.expr]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.AsyncWith):
                yield from (item.context_expr for item in node.items)

    def _is_of_client(self, node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == self.client
        )

    def _awaits_no_loop(self, node: ast.expr, cls: type, known: set[str]) -> bool:
        if self._is_of_client(node):
            return True
        if not isinstance(node, ast.Call):
            return False
        if _is_sleep(self._value(node.func)):
            return True
        match node.func:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return name in known or self._method_needs_no_loop(name, cls, known)
            case _:
                return False

    def _method_needs_no_loop(self, name: str, cls: type, known: set[str]) -> bool:
        """Whether a method of the class is a coroutine that needs no loop."""
        function = getattr(cls, name, None)
        if function is VUser.wait:
            return True
        if not inspect.iscoroutinefunction(function):
            return False
        source = _CoroutineSource.of(function, self.client)
        return source is not None and source.needs_no_loop(cls, {*known, name})

    def _value(self, node: ast.expr) -> Any:
        """Return the value of a name in the function's module; None when it is unknown."""
        names = getattr(self.function, "__globals__", {})
        if isinstance(node, ast.Name):
            return names.get(node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return getattr(names.get(node.value.id), node.attr, None)
        return None

    def _is_foreign(self, name: ast.Name) -> bool:
        """Whether a name stands for anything of asyncio but its ``sleep``."""
        value = getattr(self.function, "__globals__", {}).get(name.id)
        if value is not None and value is sys.modules.get("asyncio"):
            used = [node for node in ast.walk(self.tree) if isinstance(node, ast.Attribute)]
            return any(node.value is name and not _is_sleep(self._value(node)) for node in used)
        module = getattr(value, "__module__", None) or ""
        return not _is_sleep(value) and module.split(".")[0] == "asyncio"


def _is_sleep(value: object) -> bool:
    """Whether a value is ``asyncio.sleep``; False as long as asyncio is not imported."""
    return value is not None and value is getattr(sys.modules.get("asyncio"), "sleep", None)
