"""What a coroutine of a scenario awaits, as its source says.

Most tasks await their client and nothing else: the engine moves those on by itself. Whatever else
is awaited needs an event loop. Must never take one that needs a loop for one that does not.
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
    """How a part of a user's life is moved on."""

    STACK = "on a stack of its own"
    """A plain function, or a coroutine that expects answers of its client at once."""
    ENGINE = "by the engine"
    """A coroutine that awaits its client, and rests."""
    LOOP = "by an event loop"
    """A coroutine that awaits anything else too."""


def execution_mode(cls: type, function: Callable[..., Any]) -> ExecutionMode:
    """Tell how a function of a scenario's class has to be moved on.

    Raises TypeError with a sentence when it can be in no way.
    """
    if not inspect.iscoroutinefunction(function):
        return ExecutionMode.STACK
    is_bound = inspect.ismethod(function) or isinstance(
        inspect.getattr_static(cls, function.__name__, None), staticmethod
    )
    parameters = list(inspect.signature(function).parameters)
    seen = _Seen.of(function, "".join(parameters[:1] if is_bound else parameters[1:2]))
    if seen is None:
        return ExecutionMode.LOOP  # without its source nobody knows what it awaits
    is_plain = seen.is_plain(cls, set())
    if seen.calls and not seen.calls & seen.awaited_calls and (is_plain or seen.used_at_once):
        if not is_plain:
            what = "awaits what needs an event loop, so it has to await its client too"
            raise TypeError(f"{function.__name__}() {what}: await {seen.client}.get(…)")
        return ExecutionMode.STACK
    return ExecutionMode.ENGINE if is_plain else ExecutionMode.LOOP


@dataclass
class _Seen:
    """The body of a coroutine, as its source shows it."""

    function: Callable[..., Any]
    tree: ast.AST
    client: str

    @classmethod
    def of(cls, function: Callable[..., Any], client: str) -> _Seen | None:
        """Look at a function; ``client`` is what its client is called."""
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        except (OSError, SyntaxError):
            return None
        return cls(function, tree, client)

    @property
    def calls(self) -> set[int]:
        """Calls of the client."""
        return {id(node) for node in ast.walk(self.tree) if self._is_of_client(node)}

    @property
    def used_at_once(self) -> set[int]:
        """Calls of the client whose results are taken for answers."""
        users = [n for n in ast.walk(self.tree) if isinstance(n, ast.Attribute | ast.Expr)]
        return self.calls & {id(node.value) for node in users}

    @property
    def awaits(self) -> list[ast.expr]:
        """Whatever is awaited."""
        return [node.value for node in ast.walk(self.tree) if isinstance(node, ast.Await)]

    @property
    def awaited_calls(self) -> set[int]:
        """Calls whose results are awaited where they are made, or entered."""
        return {id(node) for node in (*self.awaits, *self._entered())}

    def is_plain(self, cls: type, known: set[str]) -> bool:
        """Whether only the client, a rest, and coroutines of the same kind are awaited."""
        loops = (ast.AsyncFor, ast.comprehension)
        for node in ast.walk(self.tree):
            if isinstance(node, loops) and getattr(node, "is_async", True):
                return False
            if isinstance(node, ast.Name) and self._is_foreign(node):
                return False
        entered = all(self._is_of_client(node) for node in self._entered())
        return entered and all(self._is_plain_await(node, cls, known) for node in self.awaits)

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

    def _is_plain_await(self, node: ast.expr, cls: type, known: set[str]) -> bool:
        if self._is_of_client(node):
            return True
        if not isinstance(node, ast.Call):
            return False
        if _is_rest(self._value(node.func)):
            return True
        match node.func:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return name in known or self._is_plain_method(name, cls, known)
            case _:
                return False

    def _is_plain_method(self, name: str, cls: type, known: set[str]) -> bool:
        """Whether a method of the user's is a coroutine of the same kind."""
        function = getattr(cls, name, None)
        if function is VUser.wait:
            return True
        if not inspect.iscoroutinefunction(function):
            return False
        seen = _Seen.of(function, self.client)
        return seen is not None and seen.is_plain(cls, {*known, name})

    def _value(self, node: ast.expr) -> Any:
        """Find what a name stands for in the function's module; None when that is not known."""
        names = getattr(self.function, "__globals__", {})
        if isinstance(node, ast.Name):
            return names.get(node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return getattr(names.get(node.value.id), node.attr, None)
        return None

    def _is_foreign(self, name: ast.Name) -> bool:
        """Whether a name is asyncio's, other than to rest."""
        value = getattr(self.function, "__globals__", {}).get(name.id)
        if value is not None and value is sys.modules.get("asyncio"):
            used = [node for node in ast.walk(self.tree) if isinstance(node, ast.Attribute)]
            return any(node.value is name and not _is_rest(self._value(node)) for node in used)
        module = getattr(value, "__module__", None) or ""
        return not _is_rest(value) and module.split(".")[0] == "asyncio"


def _is_rest(value: object) -> bool:
    """Whether something is ``asyncio.sleep``; who has not imported asyncio cannot mean that."""
    return value is not None and value is getattr(sys.modules.get("asyncio"), "sleep", None)
