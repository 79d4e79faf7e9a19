"""Checks whether the body of a task is only requests with constant arguments.

Only such a body may be recorded, because each execution of it sends the same requests. Anything
else in it is a reason to run the task in Python, or a mistake in Python, too. Both name their line.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...problem import Problem, Reason
from ...request.kwargs import EXTRAS, unknown_keyword
from ...scenario_file.constants import describe, literal_parts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FunctionType

    from ...scenario_file.source import SourceFile

METHODS = frozenset({"get", "post", "put", "patch", "delete", "head", "options"})
BATCH = "batch"
"""Client method for several concurrent requests."""
ANY_METHOD = "request"
"""Client method that takes the HTTP method by position, before the path."""
STREAM = "stream"
"""Client method for streamed responses, with the same arguments."""
STEP = "step"
"""Client method that groups requests under a name."""

CONSTANTS_ONLY = (
    "compiled are literals, constants of the module, file(…), env(…), and f-strings, sums and "
    "products of those"
)
MARKS = frozenset({"loadpilot.task", "loadpilot.dsl.task"})
BODIES = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class ConstantCheck:
    """The result of the check of one task."""

    calls: list[ast.Call]
    """The requests in order; complete only without problems."""
    problems: list[Problem]
    """The mistakes, and each :class:`Reason` why the task cannot be recorded."""


def check_constant(
    function: FunctionType, node: ast.FunctionDef | ast.AsyncFunctionDef, file: SourceFile
) -> ConstantCheck:
    """Check one task."""
    checker = _Checker(function, node, file)
    return ConstantCheck(*checker.body())


class _Checker:
    """Checks one task."""

    def __init__(
        self,
        function: FunctionType,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        file: SourceFile,
    ) -> None:
        self.node = node
        self.file = file
        self.closure = frozenset(function.__code__.co_freevars)
        names = [argument.arg for argument in [*node.args.posonlyargs, *node.args.args]]
        self.user = names[0] if names else "self"
        self.client = names[1] if len(names) > 1 else "client"

    def problem(self, node: ast.AST, what: str) -> Problem:
        return Problem(self.file.at(node), f"task {self.node.name}: {what}")

    def reason(self, node: ast.AST, what: str) -> Reason:
        return Reason(self.file.at(node), f"task {self.node.name}: {what}")

    def body(self) -> tuple[list[ast.Call], list[Problem]]:
        problems = [*self.signature(), *self.mistakes()]
        if isinstance(self.node, ast.AsyncFunctionDef):
            return [], [*problems, self.reason(self.node, "is an async def")]
        calls: list[ast.Call] = []
        statements = list(self.node.body)
        if _is_docstring(statements[0]):
            statements.pop(0)
        for statement in statements:
            call = self.request(statement)
            if call is None:
                problems += self.refuse(statement)
            else:
                calls.append(call)
                problems += self.arguments(call)
        return calls, problems

    def mistakes(self) -> Iterator[Problem]:
        """Find mistakes that are mistakes in Python, too."""
        names = {node.id for node in ast.walk(self.node) if isinstance(node, ast.Name)}
        if self.client not in names:
            what = f"makes no request; add a call such as {self.client}.get('/path')"
            yield self.problem(self.node, what)
        for node in ast.walk(self.node):
            if isinstance(node, ast.Yield | ast.YieldFrom):
                yield self.problem(node, "contains a yield, so that calling it does nothing")
            elif isinstance(node, ast.Call) and self._is_client_call(node):
                yield from self.call(node)

    def call(self, call: ast.Call) -> Iterator[Problem]:
        """Find the mistakes of a call of the client, except those in the values of arguments."""
        assert isinstance(call.func, ast.Attribute), "only those are calls of the client"  # noqa: S101
        callee, verb = f"{ast.unparse(call.func)}()", call.func.attr
        if verb in {BATCH, STEP}:
            return
        if verb not in METHODS and verb not in {ANY_METHOD, STREAM}:
            methods = ", ".join([*sorted(METHODS), ANY_METHOD, BATCH, STREAM, STEP])
            what = f"{self.client} has no method {_callee(call)}; it has {methods}"
            yield self.problem(call, what)
            return
        needed = ["path"] if verb in METHODS else ["method", "path"]
        unpacked = any(isinstance(argument, ast.Starred) for argument in call.args)
        unpacked |= any(keyword.arg is None for keyword in call.keywords)
        if len(call.args) > len(needed):
            only = " and ".join(needed)
            what = f"takes only the {only} by position; name the others: {', '.join(EXTRAS)}"
            yield self.problem(call.args[len(needed)], f"{callee} {what}")
        given = {*needed[: len(call.args)], *(keyword.arg for keyword in call.keywords)}
        for name in needed:
            if name not in given and not unpacked:
                yield self.problem(call, f"{callee} needs a {name}")
        for keyword in call.keywords:
            # Keywords unpacked with ** are known after the recording, and checked there.
            if keyword.arg is not None and keyword.arg not in {*EXTRAS, *needed}:
                yield self.problem(keyword.value, unknown_keyword(callee, keyword.arg))

    def signature(self) -> Iterator[Problem]:
        arguments = self.node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        more = arguments.kwonlyargs or arguments.vararg or arguments.kwarg or arguments.defaults
        if len(positional) != 2 or more:
            yield self.problem(self.node, "must take exactly (self, client)")
        others = [one for one in self.node.decorator_list if not self.is_mark(one)]
        if others and len(self.node.decorator_list) > 1:
            what = f"is decorated with @{ast.unparse(others[0])}, which may replace it"
            yield self.reason(others[0], what)

    def is_mark(self, decorator: ast.expr) -> bool:
        """Whether a decorator is ``@task``, under any imported name."""
        marked = decorator.func if isinstance(decorator, ast.Call) else decorator
        return self.file.bindings.origin_of(marked) in MARKS

    def request(self, statement: ast.stmt) -> ast.Call | None:
        """Return the call if a statement is one request; else None."""
        match statement:
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) as call
            ):
                known = method in METHODS or method in {ANY_METHOD, STREAM}
                return call if name == self.client and known else None
            case _:
                return None

    def arguments(self, call: ast.Call) -> Iterator[Problem]:
        """Find the reasons why the arguments of a request are not constant."""
        for argument in call.args:
            if isinstance(argument, ast.Starred):
                yield self.reason(argument, "unpacks arguments with *")
            yield from self.constant(argument)
        for keyword in call.keywords:
            if keyword.arg == "follow_redirects":
                yield self.reason(keyword.value, "follows redirects, or may")
            yield from self.constant(keyword.value)

    def constant(self, node: ast.expr) -> Iterator[Problem]:
        """Find the reasons why an argument is not constant."""
        for part, found in literal_parts(node):
            if isinstance(part, ast.Call) and self.is_constant_call(part):
                for argument in [*part.args, *(keyword.value for keyword in part.keywords)]:
                    yield from self.constant(argument)
                continue
            if isinstance(part, ast.Attribute) and _root(part) == self.user:
                found = f"`{ast.unparse(part)}`, which belongs to the virtual user"  # noqa: PLW2901
            elif isinstance(part, ast.Call) and self._is_client_call(part):
                found = f"the response of {_callee(part)}()"  # noqa: PLW2901
            elif isinstance(part, ast.Name):
                found = self.name(part.id)  # noqa: PLW2901
            if found is not None:
                what = f"an argument uses {found}; {CONSTANTS_ONLY}"
                yield self.reason(part, what)

    def is_constant_call(self, call: ast.Call) -> bool:
        """Whether a call counts as a literal, see ``CONSTANT_FUNCTIONS``."""
        hidden = {self.user, self.client, *self.closure}
        return _root(call.func) not in hidden and self.file.bindings.is_constant_call(call)

    def name(self, name: str) -> str | None:
        """Return the reason why a name is not constant; None for a constant."""
        if name in {self.user, self.client}:
            return f"`{name}`"
        if name in self.closure:
            return f"`{name}`, a variable of the function around the class"
        return self.file.bindings.why_not_constant(name)

    def refuse(self, statement: ast.stmt) -> Iterator[Problem]:
        """Yield the reason why a statement is not a request, as exact as the syntax allows."""
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.Call() as call)
            ) if self._is_client_call(call):
                yield self.kept_response(name, call)
            case ast.Expr(value=ast.Call() as call) if self._is_client_call(call):
                if _callee(call).endswith(f".{BATCH}"):
                    yield self.reason(call, "makes several requests at a time")
                else:
                    yield self.reason(call, f"calls {_callee(call)}()")
            case ast.Expr(value=ast.Call() as call) if self._roots_in_response(call):
                what = f"uses the response of a request, in `{_callee(call)}()`"
                yield self.reason(call, what)
            case ast.Expr(value=value):
                yield self.reason(value, f"contains {self.found(value)}")
            case ast.Pass():
                yield self.reason(statement, "contains a pass")
            case _:
                yield self.reason(statement, f"contains {describe(statement)}")

    def found(self, node: ast.expr) -> str:
        if isinstance(node, ast.Call) and _root(node.func) == self.user:
            return f"a call of `{ast.unparse(node.func)}()`, which belongs to the virtual user"
        return describe(node)

    def kept_response(self, name: str, call: ast.Call) -> Reason:
        uses = [
            node.lineno
            for node in ast.walk(self.node)
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        ]
        where = f" (line {uses[0]})" if uses else ""
        verb = "uses" if uses else "keeps"
        return self.reason(call, f"{verb} the response `{name}` of {_callee(call)}(){where}")

    def _is_client_call(self, call: ast.Call) -> bool:
        match call.func:
            case ast.Attribute(value=ast.Name(id=name)):
                return name == self.client
            case _:
                return False

    def _roots_in_response(self, call: ast.Call) -> bool:
        inner = [n for n in ast.walk(call.func) if isinstance(n, ast.Call)]
        return any(self._is_client_call(n) for n in inner)


def _callee(call: ast.Call) -> str:
    return (
        ast.unparse(call.func)
        if not isinstance(call.func, ast.Attribute)
        else (
            f"{ast.unparse(call.func.value)}.{call.func.attr}"
            if isinstance(call.func.value, ast.Name)
            else f"….{call.func.attr}"
        )
    )


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _is_docstring(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
        case _:
            return False
