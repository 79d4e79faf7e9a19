"""Compiles the bodies of tasks, hooks and checks, statement by statement, in their order.

A request inside of an expression is sent before the statement. It is refused unless it is the first
thing that Python does in that statement.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ...inputs.units import Wrong, duration_us
from ...scenario_file.constants import describe
from . import builtins
from .batches import batch, batch_loop, picked_answer, unpack_batch
from .calls import inline_call, inline_return, is_none, returns_answer
from .expressions import Lowering, ScenarioContext
from .literals import literal, reject
from .signatures import Assignments, awaits_requests, check_signature, is_call_of
from .think_time import rest

if TYPE_CHECKING:
    from types import FunctionType

    from ...scenario_file.source import SourceFile

METHODS = {
    name: name.upper() for name in ("get", "post", "put", "patch", "delete", "head", "options")
}
RAISED = frozenset({"AssertionError", "Exception", "RuntimeError", "TypeError", "ValueError"})
"""Exceptions whose text is their argument."""
COMPUTED = frozenset({"params", "headers", "json", "data", "content", "name"})
"""Keywords of a request that code can compute."""
TIMES_MAX = 2**32
HOOKS = ("on_start", "on_stop")
"""Hooks of VUser, which are empty there."""


def routine(
    function: FunctionType,
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    file: SourceFile,
    context: ScenarioContext,
    takes: tuple[str, ...],
    hook: str | None,
) -> tuple[dict[str, Any], set[int]]:
    """Compile a function; returns its code and the lines that its errors may show.

    ``takes`` names its parameters beside the user: ``client``, or ``response``, or ``status`` and
    ``body``; ``hook`` is its name if it is a hook. Raises :class:`.literals.NotCompiledError`.
    """
    check_signature(function, node, takes)
    parameters = [argument.arg for argument in [*node.args.posonlyargs, *node.args.args]]
    client = parameters[1] if takes == ("client",) else None
    given = [] if client else parameters[1:]
    is_async = isinstance(node, ast.AsyncFunctionDef)
    is_awaiting = awaits_requests(node, client)
    body = Body(function, file, context, parameters[0], client, is_awaiting, is_async, [])
    body.send_first, body.inline_value = body.send_ahead, body.inlined_value
    body.hook = hook
    stores = Assignments.of(node, client, lambda value: returns_answer(body, value))
    answers = stores.answers | ({given[0]} if takes == ("response",) else set())
    both = stores.mixed | (stores.values & answers) | (stores.all & {parameters[0], client})
    if both:
        reject(node, f"uses the name `{min(map(str, both))}` for different things")
    for name in [*given, *sorted(stores.all - set(given))]:
        body.names[name] = body.new_local(name)
    body.answers, body.batches = answers, stores.batches
    body.call_stack = (function,)
    body.bound = set(given)
    does = body.block(node.body)
    made: dict[str, Any] = {"locals": body.locals} if body.locals else {}
    # An error of `on_start` is reported with all of its lines.
    return {**made, "does": does}, body.lines if hook == HOOKS[0] else body.asserted


class Body(Lowering):
    """Compiles the statements of one function."""

    hook: str | None = None
    """Its name if it is a hook. Only ``on_start`` may set attributes of the user. Requests of hooks
    follow redirects by default."""
    steps: str = ""
    """The names of the current steps, each followed by `` / ``."""
    call_stack: tuple[FunctionType, ...] = ()
    """The chain of inlined functions, this one last."""
    result: tuple[str, int] | None = None
    """Kind of the result and variable for it, of an inlined function."""
    does: list[Any]
    """The code of the statements so far."""

    def inlined(self, function: FunctionType, user: str, client: str | None) -> Body:
        """Create the body of a function that is inlined here."""
        inner = Body(
            function,
            self.file,
            self.context,
            user,
            client,
            is_awaiting=False,
            is_async=False,
            locals=self.locals,
        )
        inner.lines, inner.asserted = self.lines, self.asserted
        inner.send_first, inner.inline_value = inner.send_ahead, inner.inlined_value
        inner.hook, inner.steps = self.hook, self.steps
        inner.call_stack = (*self.call_stack, function)
        return inner

    def block(self, statements: list[ast.stmt]) -> list[Any]:
        """Compile statements into a new list."""
        outer = getattr(self, "does", None)
        self.does = []
        self.append_statements(statements)
        does = self.does
        if outer is not None:
            self.does = outer
        return does

    def append_statements(self, statements: list[ast.stmt]) -> None:
        """Compile statements and append them to the current list."""
        for statement in statements:
            self.may_have_raised = False
            self.statement(statement)
            if isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue):
                # The rest is unreachable, so any variable counts as set there.
                self.bound = set(self.names)

    def optional_block(self, statements: list[ast.stmt]) -> tuple[list[Any], set[str]]:
        """Compile a conditional block; returns it and the variables that are set at its end."""
        before = set(self.bound)
        does = self.block(statements)
        after, self.bound = self.bound, before
        return does, after

    def statement(self, node: ast.stmt) -> None:  # noqa: C901, PLR0912  (a table of syntax)
        """Compile one statement."""
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(value=value):
                self.expression_statement(value)
            case ast.Assign(targets=[target], value=value):
                self.assign(node, target, value)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.assign(node, target, value)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=ast.Add(), value=value):
                left = self.name(ast.copy_location(ast.Name(name, ast.Load()), target))
                right = self.expression(value)
                sum_ = {"operator": "add_in_place", "left": left, "right": right}
                made = {"binary": {**sum_, "line": self.note_line(node.lineno)}}
                self.does.append({"set": {"local": self.slot(name), "to": made}})
            case ast.AugAssign(target=target):
                reject(node, f"changes `{ast.unparse(target)}` in place")
            case ast.If():
                self.branch(node)
            case ast.For(target=ast.Name(id=name), iter=over, body=body, orelse=[]):
                self.loop(node, name, over, body)
            case ast.Break() | ast.Continue():
                self.does.append("break" if isinstance(node, ast.Break) else "continue")
            case ast.Assert():
                self.assertion(node)
            case ast.Raise(exc=ast.expr() as error, cause=None):
                self.raise_statement(node, error)
            case ast.With(items=[ast.withitem(context_expr=step, optional_vars=None)], body=body):
                self.step_block(step, body)
            case ast.While(test=test, body=body, orelse=[]):
                before = len(self.does)
                tested = self.expression(test)
                if len(self.does) > before:
                    reject(test, "makes a request in the test of a while")
                does, _ = self.optional_block(body)
                self.does.append({"while": {"test": tested, "does": does}})
            case ast.Return() if self.result is not None:
                inline_return(self, node)
            case ast.Return(value=value):
                # Only a check has no client.
                if self.client is None and value is not None and not is_none(value):
                    reject(node, "returns a value: a check that returns False has failed")
                if value is not None and not isinstance(value, ast.Constant):
                    self.expression_statement(value)
                self.does.append("return")
            case _:
                reject(node, f"contains {describe(node)}")

    def expression_statement(self, node: ast.expr) -> None:
        """Compile an expression whose value is not used."""
        made = rest(self, node) or builtins.measure(self, node)
        if made is not None:
            self.does.append(made)
            return
        if self.request(node, None) or batch(self, node, None) or inline_call(self, node):
            return
        match node:
            case ast.Call(
                func=ast.Attribute(value=value, attr="raise_for_status") as function, args=[]
            ) if not node.keywords:
                slot = self.answer(value)
                if slot is None:
                    reject(node, f"contains {describe(node)}")
                line = self.note_line(function.end_lineno or function.lineno)
                self.does.append({"raise_for_status": {"local": slot, "line": line}})
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Call(func=ast.Name(id="super"), args=[], keywords=[]), attr=attr
                )
            ) if attr == self.hook and self.calls_empty_hook(node):
                pass
            case _:
                self.does.append({"do": self.expression(node)})

    def calls_empty_hook(self, node: ast.Call) -> bool:
        """Whether a call of ``super()`` leads to the empty hook of VUser."""
        given = [one.id for one in node.args if isinstance(one, ast.Name)]
        is_plain = given == [self.client] and len(node.args) == 1 and not node.keywords
        return is_plain and self.context.extends_vuser_only and self.is_builtin("super")

    def assign(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> None:
        """Compile an assignment."""
        match target:
            case ast.Tuple():
                if not unpack_batch(self, target, value):
                    reject(node, f"assigns to `{ast.unparse(target)}`")
            case ast.Name(id=name) if name in self.batches:
                batch(self, value, self.slot(name))
                self.bound.add(name)
            case ast.Name(id=name) if name in self.answers:
                slot = self.slot(name)
                if not self.request(value, slot) and inline_call(self, value, slot) != (
                    "answer",
                    slot,
                ):
                    reject(node, f"uses the name `{name}` for different things")
                self.bound.add(name)
            case ast.Name(id=name):
                made = self.expression(value)
                self.does.append({"set": {"local": self.slot(name), "to": made}})
                self.bound.add(name)
            case ast.Attribute(value=ast.Name(id=user), attr=name) if user == self.user:
                if self.hook != HOOKS[0]:
                    reject(node, f"changes `self.{name}` outside of on_start")
                made = self.expression(value)
                self.does.append({"keep": {"name": name, "value": made}})
            case _:
                reject(node, f"assigns to `{ast.unparse(target)}`")

    def branch(self, node: ast.If) -> None:
        """Compile an ``if`` with all of its branches."""
        ways: list[Any] = []
        ends: list[set[str]] = []
        while True:
            before = len(self.does)
            test = self.expression(node.test)
            if ways and len(self.does) > before:
                reject(node.test, "makes a request in an elif")
            does, end = self.optional_block(node.body)
            ways.append({"test": test, "does": does})
            ends.append(end)
            match node.orelse:
                case [ast.If() as further]:
                    node = further
                    self.may_have_raised = True
                case orelse:
                    otherwise, end = self.optional_block(orelse)
                    self.bound = set.intersection(end, *ends)
                    break
        made: dict[str, Any] = {"ways": ways}
        if otherwise:
            made["otherwise"] = otherwise
        self.does.append({"if": made})

    def loop(self, node: ast.For, name: str, over: ast.expr, body: list[ast.stmt]) -> None:
        """Compile a ``for``."""
        match over:
            case ast.Call(func=ast.Name(id="range"), args=[times], keywords=[]) if self.is_builtin(
                "range"
            ):
                made = {"times": self.repeat_count(times), "does": self.loop_body(name, body)}
                self.does.append({"repeat": {"local": self.slot(name), **made}})
            case _ if batch_loop(self, node, name):
                pass
            case _:
                if name in self.answers:
                    reject(over, "loops over responses that are not those of a batch")
                if over.lineno != node.lineno:
                    reject(over, "loops over an expression on another line")
                found = self.collection(over)
                line = self.note_line(node.lineno)
                made = {"over": found, "does": self.loop_body(name, body), "line": line}
                self.does.append({"for": {"local": self.slot(name), **made}})

    def loop_body(self, name: str, body: list[ast.stmt]) -> list[Any]:
        """Compile the body of a loop with the variable ``name``."""
        before = set(self.bound)
        self.bound.add(name)
        does, _ = self.optional_block(body)
        self.bound = before
        return does

    def repeat_count(self, node: ast.expr) -> int:
        """Return the constant number of iterations of ``range()``."""
        match node:
            case ast.Constant(value=value):
                pass
            case ast.Name(id=name) if name not in self.names:
                value = self.constant(node)
            case _:
                reject(node, "calls range() with a computed number")
        if type(value) is not int or not value < TIMES_MAX:
            reject(node, f"calls range() with {value!r}")
        return max(value, 0)

    def assertion(self, node: ast.Assert) -> None:
        """Compile an assertion."""
        if node.test.lineno != node.lineno:
            reject(node.test, "asserts an expression on another line")
        test = self.expression(node.test)
        line = self.note_line(node.lineno)
        self.asserted.add(line)
        made: dict[str, Any] = {"test": test}
        if node.msg is not None:
            made["says"] = self.conditional(node.msg)
        self.does.append({"assert": {**made, "line": line}})

    def raise_statement(self, node: ast.Raise, error: ast.expr) -> None:
        """Compile a ``raise`` of a known exception."""
        says: ast.expr | None = None
        match error:
            case ast.Name(id=name) | ast.Call(func=ast.Name(id=name), args=[], keywords=[]):
                pass
            case ast.Call(func=ast.Name(id=name), args=[given], keywords=[]):
                says = given
            case _:
                reject(node, f"raises `{ast.unparse(error)}`")
        if name not in RAISED or not self.is_builtin(name):
            reject(node, f"raises `{name}`; {', '.join(sorted(RAISED))} could be compiled")
        made: dict[str, Any] = {"kind": name}
        if says is not None:
            made["says"] = self.expression(says)
        line = self.note_line(node.lineno)
        self.asserted.add(line)
        self.does.append({"raise": {**made, "line": line}})

    def step_block(self, step: ast.expr, body: list[ast.stmt]) -> None:
        """Compile a ``with client.step(…)``: it only prefixes the names of its requests."""
        match step:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=client), attr="step"),
                args=[ast.Constant() | ast.Name() as called],
                keywords=[],
            ) if client == self.client:
                pass
            case _:
                reject(step, "contains a with block")
        if isinstance(called, ast.Name) and self.hides(called.id):
            reject(called, "gives a step a computed name")
        name = called.value if isinstance(called, ast.Constant) else self.constant(called)
        if not isinstance(name, str) or not name:
            reject(called, "gives a step a name that is not text")
        around, self.steps = self.steps, f"{self.steps}{literal(called, name)['text']} / "
        self.append_statements(body)
        self.steps = around

    def send_ahead(self, node: ast.expr) -> int | None:
        """Send a request before the statement that contains it; returns its variable, or None."""
        if isinstance(node, ast.Subscript):
            return picked_answer(self, node)
        call = node.value if isinstance(node, ast.Await) else node
        if returns_answer(self, node):
            _, slot = inline_call(self, node) or ("", None)
            return slot
        if not is_call_of(call, self.client):
            return None
        if self.may_have_raised or self.conditional_depth:
            reject(node, "makes a request in the middle of an expression")
        slot = self.new_local(f"request {len(self.locals)}")
        self.request(node, slot)
        self.may_have_raised = False
        return slot

    def inlined_value(self, node: ast.expr) -> Any:
        """Inline a call of one of the scenario's functions; returns its value as code, or None."""
        match inline_call(self, node):
            case None:
                return None
            case ("value", slot):
                return {"local": {"local": slot, "line": node.lineno}}
            case ("nothing", _):
                return {"literal": "none"}
            case _:
                return reject(node, "uses a response as a value")

    def request(  # noqa: C901, PLR0912  (a table of keywords)
        self, node: ast.expr, slot: int | None
    ) -> bool:
        """Compile a request; returns whether the expression is one."""
        call = node.value if isinstance(node, ast.Await) else node
        if self.client is None or not is_call_of(call, self.client):
            return False
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)  # noqa: S101, PT018
        if isinstance(node, ast.Await) != self.is_awaiting:
            reject(node, "awaits some of its requests and not others")
        if not node.lineno == call.lineno == call.func.end_lineno:
            reject(node, "makes a request whose call begins on several lines")
        method, path = self.method(call)
        send: dict[str, Any] = {"method": method, "path": self.expression(self.not_starred(path))}
        given, follows = [], self.hook is not None
        for keyword in call.keywords:
            value = keyword.value
            match keyword.arg, value:
                case str() as name, _ if name in COMPUTED:
                    given.append({"what": name, "value": self.expression(value)})
                case "timeout", ast.Constant(value=None):
                    pass
                case "timeout", ast.Constant(value=constant):
                    try:
                        send["timeout_us"] = duration_us("timeout", constant)
                    except Wrong:
                        reject(value, f"gives a request the time-out {constant!r}")
                case "follow_redirects", ast.Constant(value=bool() as constant):
                    follows = constant
                case None, _:
                    reject(value, "unpacks arguments with **")
                case _:
                    reject(value, f"gives a request {keyword.arg}=")
        if given:
            send["given"] = given
        if follows:
            send["follows"] = True
        if self.steps:
            send["steps"] = self.steps
        if slot is not None:
            send["answer"] = slot
        self.does.append({"send": {**send, "line": self.note_line(node.lineno)}})
        return True

    def method(self, call: ast.Call) -> tuple[str, ast.expr]:
        """Return the method and the path of a request."""
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
        return reject(call, f"contains {describe(call)}")
