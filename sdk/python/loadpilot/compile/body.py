"""The judge of task bodies: which of them are nothing but requests with constant arguments.

Only such a body may be recorded, because only for such a body one recording says what every run of
it would send. Whatever else is in it is refused with its line: never guessed, never left out.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .constants import named, parts
from .extras import EXTRAS, unknown
from .problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FunctionType

    from .source import SourceFile

METHODS = frozenset({"get", "post", "put", "patch", "delete", "head", "options"})
ANY_METHOD = "request"
"""The method of the client that takes the HTTP method by position, before the path."""

NOT_YET = (
    "tasks are compiled to plain requests; running Python during the load is not supported yet"
)
CONSTANTS_ONLY = (
    "tasks are compiled once, so arguments must be literals, constants of the module, file(…), or "
    "f-strings, sums and products of those"
)
BODIES = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Judged:
    """A task body after judgement."""

    calls: list[ast.Call]
    """The requests in order; complete only without problems."""
    problems: list[Problem]
    """Why it cannot be compiled."""


def judge(
    function: FunctionType, node: ast.FunctionDef | ast.AsyncFunctionDef, file: SourceFile
) -> Judged:
    """Judge one task."""
    judge_ = _Judge(function, node, file)
    return Judged(*judge_.body())


class _Judge:
    """One task under judgement."""

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

    def body(self) -> tuple[list[ast.Call], list[Problem]]:
        problems = list(self.signature())
        if isinstance(self.node, ast.AsyncFunctionDef):
            what = f"is an async def; {NOT_YET}. Write it as a plain def without awaits"
            return [], [*problems, self.problem(self.node, what)]
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
        if not calls and not problems:
            what = "makes no request; add a call such as client.get('/path')"
            problems.append(self.problem(self.node, what))
        return calls, problems

    def signature(self) -> Iterator[Problem]:
        arguments = self.node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        more = arguments.kwonlyargs or arguments.vararg or arguments.kwarg or arguments.defaults
        if len(positional) != 2 or more:
            yield self.problem(self.node, "must take exactly (self, client)")
        if len(self.node.decorator_list) > 1:
            extra = next(d for d in self.node.decorator_list if "task" not in ast.unparse(d))
            what = (
                f"is decorated with @{ast.unparse(extra)}, which may replace it; "
                f"{NOT_YET}. Keep @task only"
            )
            yield self.problem(extra, what)

    def request(self, statement: ast.stmt) -> ast.Call | None:
        """The request that a statement makes, if it is one and nothing else."""
        match statement:
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) as call
            ):
                known = method in METHODS or method == ANY_METHOD
                return call if name == self.client and known else None
            case _:
                return None

    def arguments(self, call: ast.Call) -> Iterator[Problem]:
        callee = f"{ast.unparse(call.func)}()"
        needed = ["method", "path"] if callee.endswith(f".{ANY_METHOD}()") else ["path"]
        if len(call.args) > len(needed):
            only = " and ".join(needed)
            what = f"takes only the {only} by position; name the others: {', '.join(EXTRAS)}"
            yield self.problem(call.args[len(needed)], f"{callee} {what}")
        given = {*needed[: len(call.args)], *(keyword.arg for keyword in call.keywords)}
        for name in needed:
            if name not in given:
                yield self.problem(call, f"{callee} needs a {name}")
        for argument in call.args:
            if isinstance(argument, ast.Starred):
                yield self.problem(
                    argument, f"spell the {needed[-1]} out instead of unpacking it with *"
                )
            yield from self.constant(argument)
        for keyword in call.keywords:
            # What ** unpacks is known only when it has been recorded, and judged there.
            if keyword.arg is not None and keyword.arg not in {*EXTRAS, *needed}:
                yield self.problem(keyword.value, unknown(callee, keyword.arg))
            yield from self.constant(keyword.value)

    def constant(self, node: ast.expr) -> Iterator[Problem]:
        """What keeps an argument from being constant."""
        for part, found in parts(node):
            if isinstance(part, ast.Call) and self.makes_a_body(part):
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
                yield self.problem(part, what)

    def makes_a_body(self, call: ast.Call) -> bool:
        """Whether a call is one of our own that a literal could stand for."""
        hidden = {self.user, self.client, *self.closure}
        return _root(call.func) not in hidden and self.file.bindings.is_maker(call)

    def name(self, name: str) -> str | None:
        """Why a name in an argument is not constant; None when it is."""
        if name in {self.user, self.client}:
            return f"`{name}`"
        if name in self.closure:
            return f"`{name}`, a variable of the function around the class"
        return self.file.bindings.refusal(name)

    def refuse(self, statement: ast.stmt) -> Iterator[Problem]:
        """Say why a statement is not a request, as exactly as the syntax allows."""
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.Call() as call)
            ) if self._is_client_call(call):
                yield self.kept_response(name, call)
            case ast.Expr(value=ast.Call() as call) if self._is_batch(call):
                what = f"uses {self.client}.batch(); {NOT_YET}. Make the requests one by one"
                yield self.problem(call, what)
            case ast.Expr(value=ast.Call() as call) if self._is_client_call(call):
                methods = ", ".join([*sorted(METHODS), ANY_METHOD])
                what = f"{self.client} has no method {_callee(call)}; it has {methods}"
                yield self.problem(call, what)
            case ast.Expr(value=ast.Call() as call) if self._roots_in_response(call):
                what = f"uses the response of a request, in `{_callee(call)}()`; {NOT_YET}"
                yield self.problem(call, what)
            case ast.Expr(value=value):
                yield self.problem(value, f"contains {self.found(value)}; {NOT_YET}")
            case ast.Pass():
                yield self.problem(statement, "contains a pass; a task is made of requests")
            case _:
                yield self.problem(statement, f"contains {named(statement)}; {NOT_YET}")

    def found(self, node: ast.expr) -> str:
        if isinstance(node, ast.Call) and _root(node.func) == self.user:
            return f"a call of `{ast.unparse(node.func)}()`, which belongs to the virtual user"
        return named(node)

    def kept_response(self, name: str, call: ast.Call) -> Problem:
        uses = [
            node.lineno
            for node in ast.walk(self.node)
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        ]
        if uses:
            what = f"uses the response `{name}` of {_callee(call)}() (line {uses[0]}); {NOT_YET}"
        else:
            what = (
                f"keeps the response of {_callee(call)}() as `{name}` and never uses it; responses "
                f"are not available to a compiled task. Drop `{name} =`"
            )
        return self.problem(call, what)

    def _is_client_call(self, call: ast.Call) -> bool:
        match call.func:
            case ast.Attribute(value=ast.Name(id=name)):
                return name == self.client
            case _:
                return False

    def _is_batch(self, call: ast.Call) -> bool:
        return self._is_client_call(call) and _callee(call).endswith(".batch")

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
