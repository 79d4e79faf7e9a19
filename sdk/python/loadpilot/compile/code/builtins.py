"""Compiles calls of LoadPilot's own functions: random values, time, parameters, feeds, metrics.

Each depends only on the seed, the arrival and the plan, so that the engine computes the same as
`loadpilot.inputs.random` and `loadpilot.metrics`. A name counts as LoadPilot's only if both its
import and its value are LoadPilot's.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ... import metrics as own_metrics
from ...inputs import params, random
from ...problem import Reason
from .literals import literal, reject
from .signatures import global_value, root

if TYPE_CHECKING:  # expressions imports this module; only the type refers back
    from collections.abc import Iterator

    from ...scenario_file.source import SourceFile
    from .expressions import Lowering

DRAWS = {
    "rand.int": ("rand_int", 2),
    "rand.float": ("rand_float", 0),
    "rand.choice": ("rand_choice", 1),
    "rand.uuid": ("rand_uuid", 0),
    "rand.text": ("rand_text", 1),
}
"""Functions for random values: name in code, and number of arguments."""
TIMES = {"isoformat": "now_isoformat", "timestamp": "now_timestamp"}
"""Methods of ``now()`` that code can compute."""
METRICS = {
    "loadpilot.metrics.counter": own_metrics.counter,
    "loadpilot.metrics.trend": own_metrics.trend,
    "loadpilot.metrics.rate": own_metrics.rate,
}


def value(lowering: Lowering, node: ast.Call) -> Any:
    """Compile a call of one of these functions that returns a value; None for another call."""
    match node.func:
        case ast.Name(id="next") if lowering.is_builtin("next"):
            return _row(lowering, node)
        case ast.Attribute(value=ast.Call(func=function, args=[], keywords=[]), attr=attr) if (
            _origin(lowering, function) == "now" and attr in TIMES
        ):
            if node.args or node.keywords:
                reject(node, f"calls `now().{attr}()` with arguments")
            return _call(lowering, node, TIMES[attr], [])
        case function:
            origin = _origin(lowering, function)
    if origin == "env":
        return _parameter(lowering, node)
    if origin not in DRAWS:
        return None
    made, count = DRAWS[origin]
    if node.keywords or len(node.args) != count:
        reject(
            node, f"calls `{ast.unparse(function)}()` with other arguments than it takes in code"
        )
    given = [lowering.not_starred(one) for one in node.args]
    is_choice = origin == "rand.choice"
    to = [lowering.collection(one) if is_choice else lowering.expression(one) for one in given]
    return _call(lowering, node, made, to)


def _call(lowering: Lowering, node: ast.Call, function: str, to: list[Any]) -> Any:
    # Python names the line of a method's name.
    lowering.may_have_raised = True
    line = lowering.note_line(node.func.end_lineno or node.lineno)
    return {"call": {"function": function, "to": to, "line": line}}


def _origin(lowering: Lowering, node: ast.expr) -> str | None:
    """Return the name of LoadPilot's function in an expression, "rand.int"; None for others."""
    name = root(node)
    if not name or lowering.hides(name):
        return None
    origin = lowering.file.bindings.origin_of(node) or ""
    found = global_value(lowering.function, node)
    name = origin.removeprefix("loadpilot.")
    own: dict[str, Any] = {"now": random.now, "env": params.env}
    own |= {one: getattr(random.rand, one.removeprefix("rand.")) for one in DRAWS}
    is_own = origin.startswith("loadpilot.") and name in own and own[name] == found
    return name if is_own else None


def _parameter(lowering: Lowering, node: ast.Call) -> Any:
    """Compile a call of ``env()`` into its value, which is read before the run."""
    named = {keyword.arg: keyword.value for keyword in node.keywords}
    match node.args[0] if node.args else named.get("name"):
        case ast.Constant(value=str() as name) if name in lowering.context.parameters:
            found = lowering.context.parameters[name]
        case _:
            reject(node, "calls env() with a computed name")
    if found.is_secret:
        reject(node, f"reads the secret {name}, which code must not hold")
    return {"literal": literal(node, found.value)}


def _row(lowering: Lowering, node: ast.Call) -> Any:
    """Compile ``next(self.users)``; None unless that is a feed."""
    match node:
        case ast.Call(args=[ast.Attribute(value=ast.Name(id=user), attr=name)], keywords=[]) if (
            user == lowering.user and not lowering.is_local(user)
        ):
            feed = lowering.context.feeds.get(name)
            return None if feed is None else {"row": {"feed": feed}}
        case _:
            return None


def measure(lowering: Lowering, node: ast.expr) -> Any:
    """Compile the ``add()`` of a metric into a statement; None for another expression."""
    match node:
        case ast.Call(func=ast.Attribute(value=of, attr="add"), args=args, keywords=[]):
            pass
        case _:
            return None
    found = of
    if isinstance(of, ast.Name) and not lowering.hides(of.id):
        found = lowering.file.bindings.value_of(of.id) or of
    is_inside = found is of
    if not isinstance(found, ast.Call) or (is_inside and lowering.hides(root(found.func))):
        return None
    kind = _kind(lowering.file, found)
    if kind is None:
        return None
    name = _name(found)
    if name is None or len(args) > 1 or (not args and kind != "counter"):
        reject(node, f"contains a call of `{ast.unparse(node.func)}()`")
    made: dict[str, Any] = {"kind": kind, "name": name}
    if args:
        made["value"] = lowering.expression(lowering.not_starred(args[0]))
    return {"measure": {**made, "line": lowering.note_line(node.func.end_lineno or node.lineno)}}


def _kind(file: SourceFile, call: ast.Call) -> str | None:
    origin = file.bindings.origin_of(call.func)
    return None if origin not in METRICS else origin.rpartition(".")[2]


def _name(call: ast.Call) -> str | None:
    """Return the name of a metric; None unless it is a valid literal."""
    match call:
        case ast.Call(args=[ast.Constant(value=str() as name)], keywords=[]):
            return name if own_metrics.is_name(name) else None
        case _:
            return None


def ambiguous_metrics(file: SourceFile) -> Iterator[Reason]:
    """Find metrics of a file that could raise: two kinds of one name, or too many names."""
    known: dict[str, str] = {}
    for node in ast.walk(file.tree):
        if not isinstance(node, ast.Call):
            continue
        kind, name = _kind(file, node), _name(node)
        if kind is None:
            continue
        if name is None:
            yield Reason(file.at(node), "a metric has no literal name")
        elif known.setdefault(name, kind) != kind:
            yield Reason(file.at(node), f"the metric {name} is a {known[name]} elsewhere")
    if len(known) > own_metrics.METRICS_MAX:
        what = f"it has {len(known)} metrics, the maximum is {own_metrics.METRICS_MAX}"
        yield Reason(file.at(1), what)
