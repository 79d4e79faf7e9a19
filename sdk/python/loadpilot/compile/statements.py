"""The bodies of tasks, hooks and checks, turned into code statement by statement.

A request inside of an expression is sent ahead of its statement, and only where it is the first
thing that Python would do there. Must never drop a statement or change the order of two.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import sys
import time
from typing import TYPE_CHECKING, Any

from .constants import named
from .durations import Wrong, duration_us
from .expressions import Lowering, Own, no

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FunctionType

    from .source import SourceFile

METHODS = {
    name: name.upper() for name in ("get", "post", "put", "patch", "delete", "head", "options")
}
COMPUTED = frozenset({"params", "headers", "json", "data", "content", "name"})
"""What a request may carry that code can compute."""
SLEEPS = {"time.sleep": time.sleep, "asyncio.sleep": asyncio.sleep}
DEFINITIONS = (ast.ExceptHandler, ast.FunctionDef, ast.AsyncFunctionDef)
"""Statements that give a name to something."""
SLEEP_MAX_S = 86_400
TIMES_MAX = 2**32
HOOKS = ("on_start", "on_stop")
"""Methods that VUser has too, where they do nothing."""


def routine(
    function: FunctionType,
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    file: SourceFile,
    own: Own,
    takes: tuple[str, ...],
    hook: str | None,
) -> tuple[dict[str, Any], set[int]]:
    """Turn a function into code; returns it and the lines that its errors may show.

    ``takes`` is what it is given beside the user: ``client``, or ``response``, or ``status`` and
    ``body``; ``hook`` says which hook it is, if it is one. Raises
    :class:`.expressions.NotCompiledError`.
    """
    _refuse_shape(function, node, takes)
    parameters = [argument.arg for argument in [*node.args.posonlyargs, *node.args.args]]
    client = parameters[1] if takes == ("client",) else None
    given = [] if client else parameters[1:]
    awaited = {id(one.value) for one in ast.walk(node) if isinstance(one, ast.Await)}
    calls = [one for one in ast.walk(node) if client and _is_call_of(one, client)]
    is_awaiting = isinstance(node, ast.AsyncFunctionDef) and (
        not calls or any(id(call) in awaited for call in calls)
    )
    values, answers = _stores(node, client)
    if takes == ("response",):
        answers.add(given[0])
    both = (values & answers) | ((values | answers) & {parameters[0], client})
    if both:
        no(node, f"uses the name `{min(map(str, both))}` for different things")
    names = [*given, *sorted((values | answers) - set(given))]
    body = _Body(function, file, own, parameters[0], client, is_awaiting, frozenset(answers), names)
    body.ask = body.asked
    body.hook = hook
    body.bound = set(given)
    does = body.block(node.body)
    made: dict[str, Any] = {"locals": body.locals} if body.locals else {}
    # An error of a preparation is told at length, with its line.
    return {**made, "does": does}, body.lines if hook == HOOKS[0] else body.asserted


class _Body(Lowering):
    """One function while its statements become code."""

    hook: str | None = None
    """Which hook it is. The first may give the user something of its own, and the requests of both
    go where answers lead, unless they say otherwise."""

    def block(self, statements: list[ast.stmt]) -> list[Any]:
        outer = getattr(self, "does", None)
        self.does: list[Any] = []
        for statement in statements:
            self.touched = False
            self.statement(statement)
            if isinstance(statement, ast.Return | ast.Break | ast.Continue):
                # What follows is never reached, and whatever is read there is set.
                self.bound = set(self.locals)
        does = self.does
        if outer is not None:
            self.does = outer
        return does

    def inner(self, statements: list[ast.stmt]) -> tuple[list[Any], set[str]]:
        """Turn a block that may be left out into code; returns it and what is set at its end."""
        before = set(self.bound)
        does = self.block(statements)
        after, self.bound = self.bound, before
        return does, after

    def statement(self, node: ast.stmt) -> None:  # noqa: C901, PLR0912  (a table of syntax)
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(value=value):
                self.alone(value)
            case ast.Assign(targets=[target], value=value):
                self.assign(node, target, value)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.assign(node, target, value)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=ast.Add(), value=value):
                left = self.name(ast.copy_location(ast.Name(name, ast.Load()), target))
                right = self.expression(value)
                sum_ = {"operator": "add_in_place", "left": left, "right": right}
                made = {"binary": {**sum_, "line": self.at(node.lineno)}}
                self.does.append({"set": {"local": self.slot(name), "to": made}})
            case ast.AugAssign(target=target):
                no(node, f"changes `{ast.unparse(target)}` in place")
            case ast.If():
                self.branch(node)
            case ast.For(target=ast.Name(id=name), iter=over, body=body, orelse=[]):
                self.loop(node, name, over, body)
            case ast.Break() | ast.Continue():
                self.does.append("break" if isinstance(node, ast.Break) else "continue")
            case ast.Assert():
                self.assertion(node)
            case ast.Return(value=value):
                if value is not None and not isinstance(value, ast.Constant):
                    self.alone(value)
                self.does.append("return")
            case _:
                no(node, f"contains {named(node)}")

    def alone(self, node: ast.expr) -> None:
        """Turn an expression into code whose value nobody wants."""
        if self.rest(node) or self.request(node, None):
            return
        match node:
            case ast.Call(
                func=ast.Attribute(value=value, attr="raise_for_status") as function, args=[]
            ) if not node.keywords:
                slot = self.answer(value)
                if slot is None:
                    no(node, f"contains {named(node)}")
                line = self.at(function.end_lineno or function.lineno)
                self.does.append({"raise_for_status": {"local": slot, "line": line}})
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Call(func=ast.Name(id="super"), args=[], keywords=[]), attr=attr
                )
            ) if attr == self.hook and self.is_nothing_above(node):
                pass
            case _:
                self.does.append({"do": self.expression(node)})

    def is_nothing_above(self, node: ast.Call) -> bool:
        """Whether a call of ``super()`` comes to the empty hook of VUser."""
        given = [one.id for one in node.args if isinstance(one, ast.Name)]
        is_plain = given == [self.client] and len(node.args) == 1 and not node.keywords
        return is_plain and self.own.is_above_nothing and self.is_builtin("super")

    def assign(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> None:
        match target:
            case ast.Name(id=name) if name in self.answers:
                if not self.request(value, self.slot(name)):
                    no(node, f"uses the name `{name}` for different things")
                self.bound.add(name)
            case ast.Name(id=name):
                made = self.expression(value)
                self.does.append({"set": {"local": self.slot(name), "to": made}})
                self.bound.add(name)
            case ast.Attribute(value=ast.Name(id=user), attr=name) if user == self.user:
                if self.hook != HOOKS[0]:
                    no(node, f"changes `self.{name}` outside of on_start")
                made = self.expression(value)
                self.does.append({"keep": {"name": name, "value": made}})
            case _:
                no(node, f"assigns to `{ast.unparse(target)}`")

    def branch(self, node: ast.If) -> None:
        ways: list[Any] = []
        ends: list[set[str]] = []
        while True:
            before = len(self.does)
            test = self.expression(node.test)
            if ways and len(self.does) > before:
                no(node.test, "makes a request in an elif")
            does, end = self.inner(node.body)
            ways.append({"test": test, "does": does})
            ends.append(end)
            match node.orelse:
                case [ast.If() as further]:
                    node = further
                    self.touched = True
                case orelse:
                    otherwise, end = self.inner(orelse)
                    self.bound = set.intersection(end, *ends)
                    break
        made: dict[str, Any] = {"ways": ways}
        if otherwise:
            made["otherwise"] = otherwise
        self.does.append({"if": made})

    def loop(self, node: ast.For, name: str, over: ast.expr, body: list[ast.stmt]) -> None:
        match over:
            case ast.Call(func=ast.Name(id="range"), args=[times], keywords=[]) if self.is_builtin(
                "range"
            ):
                made = {"times": self.times(times), "does": self.round(name, body)}
                self.does.append({"repeat": {"local": self.slot(name), **made}})
            case _:
                if over.lineno != node.lineno:
                    no(over, "loops over something that is written on another line")
                found = self.collection(over)
                line = self.at(node.lineno)
                made = {"over": found, "does": self.round(name, body), "line": line}
                self.does.append({"for": {"local": self.slot(name), **made}})

    def round(self, name: str, body: list[ast.stmt]) -> list[Any]:
        """Turn what is done in each round of a loop into code."""
        before = set(self.bound)
        self.bound.add(name)
        does, _ = self.inner(body)
        self.bound = before
        return does

    def times(self, node: ast.expr) -> int:
        match node:
            case ast.Constant(value=value):
                pass
            case ast.Name(id=name) if name not in self.locals:
                value = self.constant(node)
            case _:
                no(node, "counts to something that is computed")
        if type(value) is not int or not value < TIMES_MAX:
            no(node, f"counts to {value!r}")
        return max(value, 0)

    def assertion(self, node: ast.Assert) -> None:
        if node.test.lineno != node.lineno:
            no(node.test, "asserts something that is written on another line")
        test = self.expression(node.test)
        line = self.at(node.lineno)
        self.asserted.add(line)
        made: dict[str, Any] = {"test": test}
        if node.msg is not None:
            made["says"] = self.maybe(node.msg)
        self.does.append({"assert": {**made, "line": line}})

    def rest(self, node: ast.expr) -> bool:
        """Turn a rest into code, if it is one."""
        call = node.value if isinstance(node, ast.Await) else node
        if not isinstance(call, ast.Call):
            return False
        origin = self.file.bindings.origin_of(call.func)
        if origin not in SLEEPS or _root(call.func) in self.locals or self.client is None:
            return False
        name = _root(call.func)
        found = self.function.__globals__.get(name)
        for attribute in _attributes(call.func):
            found = getattr(found, attribute, None)
        is_awaited = isinstance(node, ast.Await)
        module, _, attribute = origin.partition(".")
        # A process that plays scenarios has replaced them by now.
        known = (SLEEPS[origin], getattr(sys.modules[module], attribute))
        if found not in known or is_awaited != (origin == "asyncio.sleep"):
            no(node, f"contains {named(call)}")
        if origin == "time.sleep" and self.is_awaiting:
            no(node, "calls `time.sleep()` in an async def")
        match call:
            case ast.Call(args=[ast.Constant(value=int() | float() as seconds)], keywords=[]) if (
                not isinstance(seconds, bool) and 0 <= seconds <= SLEEP_MAX_S
            ):
                self.does.append({"sleep": {"us": _microseconds(seconds)}})
                return True
            case _:
                pass
        return no(node, "rests for a time that is computed")

    def asked(self, node: ast.expr) -> int | None:
        """Send a request ahead of the statement that it stands in."""
        name = f"request {len(self.locals)}"
        call = node.value if isinstance(node, ast.Await) else node
        if self.client is None or not _is_call_of(call, self.client):
            return None
        if self.touched or self.branches:
            no(node, "makes a request in the middle of an expression")
        self.locals.append(name)
        self.bound.add(name)
        self.request(node, self.slot(name))
        self.touched = False
        return self.slot(name)

    def request(  # noqa: C901, PLR0912  (a table of keywords)
        self, node: ast.expr, slot: int | None
    ) -> bool:
        """Turn a request into code, if it is one."""
        call = node.value if isinstance(node, ast.Await) else node
        if self.client is None or not _is_call_of(call, self.client):
            return False
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)  # noqa: S101, PT018
        if isinstance(node, ast.Await) != self.is_awaiting:
            no(node, "awaits some of its requests and not others")
        if not node.lineno == call.lineno == call.func.end_lineno:
            no(node, "makes a request that begins on several lines")
        method, path = self.method(call)
        send: dict[str, Any] = {"method": method, "path": self.expression(self.plain(path))}
        given, follows = [], self.hook is not None
        for keyword in call.keywords:
            value = keyword.value
            match keyword.arg, value:
                case str() as name, _ if name in COMPUTED:
                    given.append({"what": name, "value": self.expression(value)})
                case "timeout", ast.Constant(value=None):
                    pass
                case "timeout", ast.Constant(value=said):
                    try:
                        send["timeout_us"] = duration_us("timeout", said)
                    except Wrong:
                        no(value, f"gives a request the time-out {said!r}")
                case "follow_redirects", ast.Constant(value=bool() as said):
                    follows = said
                case None, _:
                    no(value, "unpacks arguments with **")
                case _:
                    no(value, f"gives a request {keyword.arg}=")
        if given:
            send["given"] = given
        if follows:
            send["follows"] = True
        if slot is not None:
            send["answer"] = slot
        self.does.append({"send": {**send, "line": self.at(node.lineno)}})
        return True

    def method(self, call: ast.Call) -> tuple[str, ast.expr]:
        assert isinstance(call.func, ast.Attribute)  # noqa: S101
        verb = call.func.attr
        match call.args:
            case [path] if verb in METHODS:
                return METHODS[verb], path
            case [ast.Constant(value=str() as name), path] if verb == "request":
                if name.lower() in METHODS and name.isascii():
                    return name.upper(), path
            case _:
                pass
        return no(call, f"contains {named(call)}")


def _refuse_shape(
    function: FunctionType, node: ast.FunctionDef | ast.AsyncFunctionDef, takes: tuple[str, ...]
) -> None:
    """Refuse what makes a function more than its body."""
    arguments = node.args
    more = arguments.kwonlyargs or arguments.vararg or arguments.kwarg or arguments.defaults
    positional = [*arguments.posonlyargs, *arguments.args]
    if more or len(positional) != 1 + len(takes):
        no(node, f"does not take exactly self and {', '.join(takes)}")
    names = [argument.arg for argument in positional]
    if len(set(names)) != len(names):
        no(node, "takes two arguments of one name")
    closure = set(function.__code__.co_freevars) - {"__class__"}
    if closure:
        no(node, f"uses `{min(closure)}`, a variable of the function around the class")
    if hasattr(function, "__wrapped__") or function.__defaults__ or function.__kwdefaults__:
        no(node, "is wrapped by another function")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        no(node, "contains a yield")
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and one.id.startswith("__"):
            no(one, f"uses `{one.id}`")
        if isinstance(one, ast.Attribute) and one.attr.startswith("__"):
            no(one, f"uses `{ast.unparse(one)}`")
        if isinstance(one, ast.Global | ast.Nonlocal | ast.NamedExpr):
            no(one, f"contains {named(one)}")


def _stores(
    node: ast.FunctionDef | ast.AsyncFunctionDef, client: str | None
) -> tuple[set[str], set[str]]:
    """Collect the local variables that hold values, and those that hold answers."""
    values: set[str] = set()
    answers: set[str] = set()
    for name, value in _assignments(node):
        call = value.value if isinstance(value, ast.Await) else value
        is_answer = client is not None and call is not None and _is_call_of(call, client)
        (answers if is_answer else values).add(name)
    return values, answers


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    plain = {}
    for one in ast.walk(node):
        match one:
            case (
                ast.Assign(targets=[ast.Name() as target], value=value)
                | ast.AnnAssign(target=ast.Name() as target, value=value)
            ):
                plain[id(target)] = value
            case _:
                pass
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            yield one.id, plain.get(id(one))
        elif isinstance(one, DEFINITIONS) and one is not node and one.name:
            yield one.name, None


def _is_call_of(node: ast.AST, client: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            return name == client
        case _:
            return False


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _attributes(node: ast.expr) -> list[str]:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return names


def _microseconds(seconds: float) -> int:
    return round(seconds * 1_000_000)
