"""Inlines calls of the scenario's own functions: methods of the class and functions of the file.

An inlined function has its own variables. Its arguments are computed once, in Python's order.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ...dsl import VUser
from ...scenario_file.constants import describe
from .literals import literal, reject
from .signatures import Assignments, Function, awaits_requests, check_signature, is_call_of

if TYPE_CHECKING:  # statements imports this module; only the type refers back
    from .statements import Body

CALL_DEPTH_MAX = 8
"""Maximum depth of nested calls."""


@dataclass(frozen=True)
class Callee:
    """A called function."""

    function: FunctionType
    node: Function
    is_method: bool

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters, without the user."""
        arguments = [*self.node.args.posonlyargs, *self.node.args.args]
        return [argument.arg for argument in arguments][self.is_method :]


def callee_of(body: Body, node: ast.expr) -> tuple[ast.Call, Callee] | None:
    """Find the scenario's own function that an expression calls; None for another expression."""
    call = node.value if isinstance(node, ast.Await) else node
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=user), attr=name)) if user == body.user:
            found = inspect.getattr_static(body.context.cls, name, None)
            if name in vars(VUser):
                return None
        case ast.Call(func=ast.Name(id=name)) if not body.hides(name):
            found = body.function.__globals__.get(name)
            if not body.file.bindings.is_function(name):
                return None
        case _:
            return None
    if not isinstance(found, FunctionType):
        return None
    source = body.context.sources.of(found)
    made = source.function(found) if source is body.file else None
    if made is None:
        return None
    return call, Callee(found, made, isinstance(call.func, ast.Attribute))


def returns_answer(body: Body, node: ast.expr, depth: int = 0) -> bool:
    """Whether an expression calls one of the scenario's functions that returns a response."""
    found = callee_of(body, node)
    if found is None or depth > CALL_DEPTH_MAX:
        return False
    call, target = found
    client = _client(body, call, target)
    if client is None:
        return False
    stores = Assignments.of(target.node, client, lambda _: False)
    for one in _returns(target.node):
        value = one.value.value if isinstance(one.value, ast.Await) else one.value
        match value:
            case ast.Name(id=name) if name in stores.answers:
                return True
            case ast.expr() if is_call_of(value, client):
                return True
            case _:
                pass
    return False


def _client(body: Body, call: ast.Call, target: Callee) -> str | None:
    """Return the parameter that gets the client; None if the call does not pass it."""
    pairs = [*zip(target.parameters, call.args, strict=False)]
    pairs += [(keyword.arg or "", keyword.value) for keyword in call.keywords]
    for name, value in pairs:
        if isinstance(value, ast.Name) and value.id == body.client and body.client is not None:
            return name
    return None


def inline_call(body: Body, node: ast.expr, into: int | None = None) -> tuple[str, int] | None:
    """Inline a call of one of the scenario's functions before the statement that contains it.

    Returns the kind of the result, "answer", "value" or "nothing", and its local variable;
    ``into`` names the variable for a response. None for an expression that is no such call.
    """
    found = callee_of(body, node)
    if found is None:
        return None
    call, target = found
    name = target.function.__name__
    if body.may_have_raised or body.conditional_depth:
        reject(node, f"calls `{name}()` in the middle of an expression")
    if target.function in body.call_stack or len(body.call_stack) >= CALL_DEPTH_MAX:
        reject(node, f"calls `{name}()`, which is recursive or nests too many calls")
    if isinstance(node, ast.Await) != isinstance(target.node, ast.AsyncFunctionDef):
        reject(node, f"calls `{name}()` without awaiting it, or awaits a plain function")
    if not node.lineno == call.lineno == call.func.end_lineno:
        reject(node, f"calls `{name}()` on several lines")
    if isinstance(target.node, ast.AsyncFunctionDef) and not target.is_method:
        reject(node, f"awaits `{name}()`, which is not a method")
    check_signature(target.function, target.node, None)
    inner = _inner(body, call, target, into)
    kind, result = _result(body, inner, target, into)
    inner.result = (kind, result)
    does = inner.block(target.node.body)
    if kind == "value" and not _ends(target.node.body):
        does.insert(0, {"set": {"local": result, "to": {"literal": "none"}}})
    body.does.append({"within": {"does": does, "line": body.note_line(node.lineno)}})
    body.may_have_raised = False
    return kind, result


def _inner(body: Body, call: ast.Call, target: Callee, into: int | None) -> Body:
    """Create the body of an inlined function and assign its arguments to its variables."""
    node, name = target.node, target.function.__name__
    parameters = target.parameters
    client = _client(body, call, target)
    user = node.args.args[0].arg if target.is_method and node.args.args else ""
    inner = body.inlined(target.function, user, client)
    stores = Assignments.of(node, client, lambda value: returns_answer(inner, value))
    given = [*zip(parameters, call.args, strict=False)]
    given += [(keyword.arg or "", keyword.value) for keyword in call.keywords]
    names = [parameter for parameter, _ in given]
    is_sound = len(call.args) <= len(parameters) and set(names) <= set(parameters)
    if not is_sound or len(set(names)) != len(names):
        reject(call, f"calls `{name}()` with other arguments than it takes")
    if client is not None and awaits_requests(node, client) != body.is_awaiting:
        reject(call, f"calls `{name}()`, and only one of the two functions awaits its requests")
    inner.is_awaiting = body.is_awaiting if client is not None else awaits_requests(node, None)
    inner.is_async = isinstance(node, ast.AsyncFunctionDef)
    answers: set[str] = set()
    for parameter, value in given:
        if parameter == client:
            continue
        match value:
            case ast.Name(id=known) if known in body.answers:
                body.must_be_bound(value)
                if parameter in stores.all or body.slot(known) == into:
                    reject(value, f"uses the name `{parameter}` of `{name}()` for different things")
                inner.names[parameter] = body.slot(known)
                answers.add(parameter)
            case ast.Starred():
                reject(value, "unpacks something with *")
            case _:
                body.may_have_raised = False
                made = body.expression(value)
                slot = body.new_local(parameter)
                body.does.append({"set": {"local": slot, "to": made}})
                inner.names[parameter] = slot
    _default(target, inner, client, body)
    inner.bound = set(inner.names)
    inner.answers = frozenset({*stores.answers, *answers})
    inner.batches = stores.batches
    reserved = stores.all & {user, client}
    if stores.mixed or reserved:
        reject(node, f"uses the name `{min({*stores.mixed, *reserved})}` for different things")
    for own in sorted(stores.all - inner.names.keys()):
        inner.names[own] = body.new_local(own)
    return inner


def _default(target: Callee, inner: Body, client: str | None, body: Body) -> None:
    """Assign the defaults of the parameters without an argument."""
    defaults = target.function.__defaults__ or ()
    by_name = dict(zip(reversed(target.parameters), reversed(defaults), strict=False))
    for parameter in target.parameters:
        if parameter in inner.names or parameter == client:
            continue
        if parameter not in by_name:
            name = target.function.__name__
            reject(target.node, f"calls `{name}()` with other arguments than it takes")
        slot = body.new_local(parameter)
        made = {"literal": literal(target.node, by_name[parameter])}
        body.does.append({"set": {"local": slot, "to": made}})
        inner.names[parameter] = slot


def _result(body: Body, inner: Body, target: Callee, into: int | None) -> tuple[str, int]:
    """Return the kind of a function's result, and the variable for it."""
    values = [one.value for one in _returns(target.node)]
    value = [one for one in values if one is not None]
    plain = [one.value if isinstance(one, ast.Await) else one for one in value]
    names = {one.id for one in plain if isinstance(one, ast.Name) and one.id in inner.answers}
    asks = [one for one in plain if is_call_of(one, inner.client)]
    if not value or all(is_none(one) for one in plain):
        return "nothing", 0
    if not names and not asks:
        return "value", body.new_local(f"{target.function.__name__}()")
    is_whole = len(value) == len(values) and _ends(target.node.body)
    is_one = len(names) + bool(asks) == 1
    is_all = len(asks) == len(plain) or not asks
    others = [one for one in plain if not (isinstance(one, ast.Name) and one.id in names)]
    if not is_whole or not is_one or not is_all or (names and others):
        reject(target.node, f"has returns in `{target.function.__name__}()` of different kinds")
    for name in names:
        if into is not None and name in target.parameters:
            reject(target.node, f"returns its argument `{name}`")
        if into is not None:
            inner.names[name] = into
        return "answer", inner.slot(name)
    return "answer", body.new_local("answer") if into is None else into


def _returns(node: Function) -> list[ast.Return]:
    return [one for one in ast.walk(node) if isinstance(one, ast.Return)]


def is_none(value: ast.expr) -> bool:
    """Whether an expression is the literal None."""
    return isinstance(value, ast.Constant) and value.value is None


def _ends(statements: list[ast.stmt]) -> bool:
    """Whether every path through these statements returns or raises."""
    match statements[-1]:
        case ast.Return() | ast.Raise():
            return True
        case ast.If(body=body, orelse=orelse) if orelse:
            return _ends(body) and _ends(orelse)
        case ast.With(body=body):
            return _ends(body)
        case _:
            return False


def inline_return(body: Body, node: ast.Return) -> None:
    """Compile a return of an inlined function."""
    kind, result = body.result or ("nothing", 0)
    value = node.value
    if kind == "answer" and isinstance(value, ast.Name):
        body.must_be_bound(value)
    elif kind == "answer" and value is not None:
        if not body.request(value, result):
            reject(node, f"returns {describe(value)}")
    elif kind == "value":
        made: Any = {"literal": "none"} if value is None else body.expression(value)
        body.does.append({"set": {"local": result, "to": made}})
    elif value is not None and not is_none(value):
        body.expression_statement(value)
    body.does.append("return")
