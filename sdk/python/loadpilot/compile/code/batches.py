"""Compiles batches of concurrent requests, and the use of their responses.

Each request must be a dict display, so that its fields are known. A variable that holds the
responses of a batch is not a list of values.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ...request.encoding import METHODS
from ...scenario_file.constants import describe
from .literals import reject
from .signatures import is_batch_of

if TYPE_CHECKING:  # statements imports this module; only the type refers back
    from .statements import Body

PARTS = frozenset({"path", "method", "params", "headers", "json", "data", "content", "name"})
"""Fields of a request in a batch that code can compute."""


def batch(body: Body, node: ast.expr, slot: int | None) -> bool:
    """Compile a batch into a statement; returns whether the expression is a batch."""
    call = node.value if isinstance(node, ast.Await) else node
    if body.client is None or not is_batch_of(call, body.client):
        return False
    if isinstance(node, ast.Await) != body.is_awaiting:
        reject(node, "awaits some of its requests and not others")
    match call:
        case ast.Call(args=[requests], keywords=[]) if (
            node.lineno == call.lineno == call.func.end_lineno
        ):
            pass
        case _:
            return reject(node, "calls batch() with other arguments than one list of requests")
    made: dict[str, Any] = {
        "requests": _requests(body, requests),
        "line": body.note_line(node.lineno),
    }
    if body.steps:
        made["steps"] = body.steps
    if slot is not None:
        made["answers"] = slot
    body.does.append({"batch": made})
    return True


def _requests(body: Body, node: ast.expr) -> Any:
    match node:
        case ast.List(elts=elements):
            for one in elements:
                _check_request(one)
        case ast.ListComp(elt=one):
            _check_request(one)
        case ast.Name(id=name) if name not in body.names:
            _check_constant_requests(node, body.constant(node))
        case _:
            reject(node, "makes a batch of requests that are not dict displays")
    return body.expression(node)


def _check_request(node: ast.expr) -> None:
    """Refuse a request with fields that code cannot compute."""
    match node:
        case ast.Dict(keys=keys, values=values):
            pass
        case _:
            reject(node, "makes a batch of requests that are not dict displays")
    parts = set()
    for key, value in zip(keys, values, strict=True):
        match key, value:
            case ast.Constant(value="method"), ast.Constant(value=str() as verb):
                if verb not in METHODS:
                    reject(value, f"makes a batch with the method {verb!r}")
            case ast.Constant(value="method"), _:
                reject(value, "makes a batch with a computed method")
            case ast.Constant(value=str() as part), _ if part in PARTS:
                pass
            case _:
                reject(key or node, f"makes a batch with {describe(key or node)} in a request")
        parts.add(key.value)
    if "path" not in parts:
        reject(node, "makes a batch with a request that has no path")


def _check_constant_requests(node: ast.Name, requests: Any) -> None:
    """Refuse requests in a constant of the module with fields that code cannot compute."""
    if type(requests) is not list or not all(type(one) is dict for one in requests):
        reject(node, f"makes a batch of `{node.id}`, which is not a list of dicts")
    for one in requests:
        unknown = [key for key in one if key not in PARTS]
        if unknown:
            reject(node, f"makes a batch with {unknown[0]!r} in a request")
        if one.get("method", "GET") not in METHODS:
            reject(node, f"makes a batch with the method {one['method']!r}")
        if "path" not in one:
            reject(node, "makes a batch with a request that has no path")


def unpack_batch(body: Body, target: ast.Tuple, value: ast.expr) -> bool:
    """Compile ``a, b = client.batch(…)``; returns whether the assignment is one."""
    call = value.value if isinstance(value, ast.Await) else value
    if not is_batch_of(call, body.client):
        return False
    names = [one.id for one in target.elts if isinstance(one, ast.Name)]
    match call:
        case ast.Call(args=[ast.List(elts=requests)]) if (
            len(names) == len(target.elts) == len(requests)
        ):
            pass
        case _:
            reject(target, "unpacks the responses of a batch into another number of names")
    several = body.new_local("answers")
    batch(body, value, several)
    for place, name in enumerate(names):
        pick(body, several, place, body.slot(name), value)
        body.bound.add(name)
    return True


def pick(body: Body, several: int, place: int, slot: int, node: ast.expr) -> None:
    """Add a statement that takes one response of a batch."""
    made = {"from": several, "place": place, "answer": slot, "line": body.note_line(node.lineno)}
    body.does.append({"pick": made})


def picked_answer(body: Body, node: ast.expr) -> int | None:
    """Take ``answers[0]`` into a variable before the statement; None for another expression."""
    match node:
        case ast.Subscript(value=ast.Name(id=name) as several, slice=key) if name in body.batches:
            pass
        case _:
            return None
    match key:
        case ast.Constant(value=int() as place) if not isinstance(place, bool):
            pass
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)) if (
            not isinstance(value, bool)
        ):
            place = -value
        case _:
            reject(key, "takes a response of a batch by a computed index")
    body.must_be_bound(several)
    count = body.batches[name]
    is_there = count is not None and -count <= place < count
    if (body.may_have_raised and not is_there) or body.conditional_depth:
        reject(node, "takes a response of a batch in the middle of an expression")
    slot = body.new_local(f"{name}[{place}]")
    pick(body, body.slot(name), place, slot, node)
    return slot


def batch_loop(body: Body, node: ast.For, answer: str) -> bool:
    """Compile a loop over the responses of a batch; returns whether the loop is one."""
    match node.iter:
        case ast.Name(id=name) as several if name in body.batches:
            body.must_be_bound(several)
            slot = body.slot(name)
        case over:
            slot = body.new_local("answers")
            if not batch(body, over, slot):
                return False
    made = {"answer": body.slot(answer), "from": slot}
    body.does.append({"each": {**made, "does": body.loop_body(answer, node.body)}})
    return True
