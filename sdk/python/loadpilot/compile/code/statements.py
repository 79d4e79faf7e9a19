"""The bodies of tasks, hooks and checks, turned into code statement by statement.

A request inside of an expression is sent ahead of its statement, and only where it is the first
thing that Python would do there. Must never drop a statement or change the order of two.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ...scenario_file.constants import named
from ...units import Wrong, duration_us
from . import builtins
from .batches import batch, each, picked, unpack
from .calls import called, returned, returns_answer
from .expressions import Lowering, Own
from .literals import literal, no
from .signatures import Stores, is_call_of, is_waiting, refuse_shape
from .think_time import rest

if TYPE_CHECKING:
    from types import FunctionType

    from ...scenario_file.source import SourceFile

METHODS = {
    name: name.upper() for name in ("get", "post", "put", "patch", "delete", "head", "options")
}
RAISED = frozenset({"AssertionError", "Exception", "RuntimeError", "TypeError", "ValueError"})
"""Errors whose words are what they were given."""
COMPUTED = frozenset({"params", "headers", "json", "data", "content", "name"})
"""What a request may carry that code can compute."""
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
    refuse_shape(function, node, takes)
    parameters = [argument.arg for argument in [*node.args.posonlyargs, *node.args.args]]
    client = parameters[1] if takes == ("client",) else None
    given = [] if client else parameters[1:]
    is_async = isinstance(node, ast.AsyncFunctionDef)
    is_awaiting = is_waiting(node, client)
    body = Body(function, file, own, parameters[0], client, is_awaiting, is_async, [])
    body.ask, body.helped = body.asked, body.value_of_call
    body.hook = hook
    stores = Stores.of(node, client, lambda value: returns_answer(body, value))
    answers = stores.answers | ({given[0]} if takes == ("response",) else set())
    both = stores.mixed | (stores.values & answers) | (stores.all & {parameters[0], client})
    if both:
        no(node, f"uses the name `{min(map(str, both))}` for different things")
    for name in [*given, *sorted(stores.all - set(given))]:
        body.names[name] = body.new(name)
    body.answers, body.batches = answers, stores.batches
    body.open = (function,)
    body.bound = set(given)
    does = body.block(node.body)
    made: dict[str, Any] = {"locals": body.locals} if body.locals else {}
    # An error of a preparation is told at length, with its line.
    return {**made, "does": does}, body.lines if hook == HOOKS[0] else body.asserted


class Body(Lowering):
    """One function while its statements become code."""

    hook: str | None = None
    """Which hook it is. The first may give the user something of its own, and the requests of both
    go where answers lead, unless they say otherwise."""
    steps: str = ""
    """The names of the steps that its requests are made in."""
    open: tuple[FunctionType, ...] = ()
    """The functions that led here, the last one this."""
    result: tuple[str, int] | None = None
    """What it returns and which variable is to hold that, of a function that was called."""
    does: list[Any]
    """The statements so far."""

    def inside(self, function: FunctionType, user: str, client: str | None) -> Body:
        """Begin a function that is called here."""
        inner = Body(
            function,
            self.file,
            self.own,
            user,
            client,
            is_awaiting=False,
            is_async=False,
            locals=self.locals,
        )
        inner.lines, inner.asserted = self.lines, self.asserted
        inner.ask, inner.helped = inner.asked, inner.value_of_call
        inner.hook, inner.steps = self.hook, self.steps
        inner.open = (*self.open, function)
        return inner

    def block(self, statements: list[ast.stmt]) -> list[Any]:
        """Turn statements into code of their own."""
        outer = getattr(self, "does", None)
        self.does = []
        self.all(statements)
        does = self.does
        if outer is not None:
            self.does = outer
        return does

    def all(self, statements: list[ast.stmt]) -> None:
        """Turn statements into code, behind what there is."""
        for statement in statements:
            self.touched = False
            self.statement(statement)
            if isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue):
                # What follows is never reached, and whatever is read there is set.
                self.bound = set(self.names)

    def inner(self, statements: list[ast.stmt]) -> tuple[list[Any], set[str]]:
        """Turn a block that may be left out into code; returns it and what is set at its end."""
        before = set(self.bound)
        does = self.block(statements)
        after, self.bound = self.bound, before
        return does, after

    def statement(self, node: ast.stmt) -> None:  # noqa: C901, PLR0912  (a table of syntax)
        """Turn one statement into code."""
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
            case ast.Raise(exc=ast.expr() as error, cause=None):
                self.raised(node, error)
            case ast.With(items=[ast.withitem(context_expr=step, optional_vars=None)], body=body):
                self.in_step(step, body)
            case ast.While(test=test, body=body, orelse=[]):
                before = len(self.does)
                tested = self.expression(test)
                if len(self.does) > before:
                    no(test, "makes a request in the test of a while")
                does, _ = self.inner(body)
                self.does.append({"while": {"test": tested, "does": does}})
            case ast.Return() if self.result is not None:
                returned(self, node)
            case ast.Return(value=value):
                if value is not None and not isinstance(value, ast.Constant):
                    self.alone(value)
                self.does.append("return")
            case _:
                no(node, f"contains {named(node)}")

    def alone(self, node: ast.expr) -> None:
        """Turn an expression into code whose value nobody wants."""
        made = rest(self, node) or builtins.measure(self, node)
        if made is not None:
            self.does.append(made)
            return
        if self.request(node, None) or batch(self, node, None) or called(self, node):
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
        """Turn an assignment into code."""
        match target:
            case ast.Tuple():
                if not unpack(self, target, value):
                    no(node, f"assigns to `{ast.unparse(target)}`")
            case ast.Name(id=name) if name in self.batches:
                batch(self, value, self.slot(name))
                self.bound.add(name)
            case ast.Name(id=name) if name in self.answers:
                slot = self.slot(name)
                if not self.request(value, slot) and called(self, value, slot) != ("answer", slot):
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
        """Turn an ``if`` with all of its ways into code."""
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
        """Turn a ``for`` into code."""
        match over:
            case ast.Call(func=ast.Name(id="range"), args=[times], keywords=[]) if self.is_builtin(
                "range"
            ):
                made = {"times": self.times(times), "does": self.round(name, body)}
                self.does.append({"repeat": {"local": self.slot(name), **made}})
            case _ if each(self, node, name):
                pass
            case _:
                if name in self.answers:
                    no(over, "loops over the answers of something else than a batch")
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
        """Read how often a loop counts."""
        match node:
            case ast.Constant(value=value):
                pass
            case ast.Name(id=name) if name not in self.names:
                value = self.constant(node)
            case _:
                no(node, "counts to something that is computed")
        if type(value) is not int or not value < TIMES_MAX:
            no(node, f"counts to {value!r}")
        return max(value, 0)

    def assertion(self, node: ast.Assert) -> None:
        """Turn an assertion into code."""
        if node.test.lineno != node.lineno:
            no(node.test, "asserts something that is written on another line")
        test = self.expression(node.test)
        line = self.at(node.lineno)
        self.asserted.add(line)
        made: dict[str, Any] = {"test": test}
        if node.msg is not None:
            made["says"] = self.maybe(node.msg)
        self.does.append({"assert": {**made, "line": line}})

    def raised(self, node: ast.Raise, error: ast.expr) -> None:
        """Turn an error that is raised by name into code."""
        says: ast.expr | None = None
        match error:
            case ast.Name(id=name) | ast.Call(func=ast.Name(id=name), args=[], keywords=[]):
                pass
            case ast.Call(func=ast.Name(id=name), args=[given], keywords=[]):
                says = given
            case _:
                no(node, f"raises `{ast.unparse(error)}`")
        if name not in RAISED or not self.is_builtin(name):
            no(node, f"raises `{name}`; {', '.join(sorted(RAISED))} could be compiled")
        made: dict[str, Any] = {"kind": name}
        if says is not None:
            made["says"] = self.expression(says)
        line = self.at(node.lineno)
        self.asserted.add(line)
        self.does.append({"raise": {**made, "line": line}})

    def in_step(self, step: ast.expr, body: list[ast.stmt]) -> None:
        """Put the requests of a block under a name: that needs no step in code."""
        match step:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=client), attr="step"),
                args=[ast.Constant() | ast.Name() as called],
                keywords=[],
            ) if client == self.client:
                pass
            case _:
                no(step, "contains a with block")
        if isinstance(called, ast.Name) and self.hides(called.id):
            no(called, "gives a step a name that is computed")
        name = called.value if isinstance(called, ast.Constant) else self.constant(called)
        if not isinstance(name, str) or not name:
            no(called, "gives a step a name that is no text")
        around, self.steps = self.steps, f"{self.steps}{literal(called, name)['text']} / "
        self.all(body)
        self.steps = around

    def asked(self, node: ast.expr) -> int | None:
        """Send a request ahead of the statement that it stands in."""
        if isinstance(node, ast.Subscript):
            return picked(self, node)
        call = node.value if isinstance(node, ast.Await) else node
        if returns_answer(self, node):
            _, slot = called(self, node) or ("", None)
            return slot
        if not is_call_of(call, self.client):
            return None
        if self.touched or self.branches:
            no(node, "makes a request in the middle of an expression")
        slot = self.new(f"request {len(self.locals)}")
        self.request(node, slot)
        self.touched = False
        return slot

    def value_of_call(self, node: ast.expr) -> Any:
        """Do what a function of the scenario's own does; returns its value as code."""
        match called(self, node):
            case None:
                return None
            case ("value", slot):
                return {"local": {"local": slot, "line": node.lineno}}
            case ("nothing", _):
                return {"literal": "none"}
            case _:
                return no(node, "uses a response as a value")

    def request(  # noqa: C901, PLR0912  (a table of keywords)
        self, node: ast.expr, slot: int | None
    ) -> bool:
        """Turn a request into code, if it is one."""
        call = node.value if isinstance(node, ast.Await) else node
        if self.client is None or not is_call_of(call, self.client):
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
        if self.steps:
            send["steps"] = self.steps
        if slot is not None:
            send["answer"] = slot
        self.does.append({"send": {**send, "line": self.at(node.lineno)}})
        return True

    def method(self, call: ast.Call) -> tuple[str, ast.expr]:
        """Read the method and the path of a request."""
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
