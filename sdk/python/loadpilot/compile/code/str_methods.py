"""Compiles methods of ``str``, formats of f-strings, slices and comprehensions."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from .literals import literal, reject

if TYPE_CHECKING:  # expressions imports this module; only the type refers back
    from .expressions import Lowering

METHODS = {
    "lower": (0, 0),
    "upper": (0, 0),
    "strip": (0, 1),
    "lstrip": (0, 1),
    "rstrip": (0, 1),
    "split": (0, 1),
    "startswith": (1, 1),
    "endswith": (1, 1),
    "replace": (2, 2),
    "join": (1, 1),
}
"""Minimum and maximum number of arguments in code."""
SPEC = re.compile(r"(0?)(\d{0,2})(?:d|\.(\d{1,2})f)")
"""Formats in code: `04d`, `8.2f`."""
TIMES_MAX = 10_000


def text_method(lowering: Lowering, node: ast.Call) -> Any:
    """Compile ``a.lower()``; None for another method."""
    match node.func:
        case ast.Attribute(value=of, attr=name) if name in METHODS:
            least, most = METHODS[name]
        case _:
            return None
    if node.keywords or not least <= len(node.args) <= most:
        reject(node, f"calls `.{name}()` with other arguments than it takes in code")
    if isinstance(of, ast.Name) and not lowering.is_local(of.id):
        refusal = lowering.file.bindings.why_not_constant(of.id)
        if of.id in (lowering.user, lowering.client) or refusal is not None:
            return None
    to = [lowering.expression(lowering.not_starred(one)) for one in [of, *node.args]]
    lowering.may_have_raised = True
    line = lowering.note_line(node.func.end_lineno or node.lineno)
    return {"call": {"function": name, "to": to, "line": line}}


def formatted(lowering: Lowering, node: ast.FormattedValue) -> Any:
    """Compile ``{x:04d}`` of an f-string; None for another format."""
    match node.format_spec:
        case ast.JoinedStr(values=[ast.Constant(value=str() as spec)]) if node.conversion == -1:
            found = SPEC.fullmatch(spec)
        case _:
            return None
    if found is None:
        return None
    zero, width, digits = found.groups()
    made: dict[str, Any] = {"of": lowering.expression(node.value)}
    if digits is not None:
        made["digits"] = int(digits)
    made |= {"width": int(width or 0), "zeros": bool(zero), "line": lowering.note_raise(node)}
    return {"format": made}


def slice_of(lowering: Lowering, node: ast.Subscript, key: ast.Slice) -> Any:
    """Compile ``a[1:3]``."""
    if key.step is not None:
        reject(node, "takes a slice with a step")
    of = lowering.expression(node.value)
    nothing = ast.copy_location(ast.Constant(None), node)
    ends = [lowering.expression(one or nothing) for one in (key.lower, key.upper)]
    line = lowering.note_raise(node)
    return {"slice": {"of": of, "from": ends[0], "to": ends[1], "line": line}}


def comprehension(lowering: Lowering, node: ast.ListComp) -> Any:
    """Compile ``[item for name in over if test]``."""
    match node.generators:
        case [ast.comprehension(target=ast.Name(id=name), iter=over, ifs=tests, is_async=0)] if (
            len(tests) < 2 and name not in lowering.answers and name not in lowering.batches
        ):
            pass
        case _:
            reject(node, "contains a comprehension of several parts")
    made: dict[str, Any] = {"over": _over(lowering, over)}
    around, was_bound = lowering.names.get(name), name in lowering.bound
    made["local"] = lowering.new_local(name)
    lowering.names[name] = made["local"]
    lowering.bound.add(name)
    if tests:
        made["test"] = lowering.conditional(tests[0])
    made["item"] = lowering.conditional(node.elt)
    if around is None:
        del lowering.names[name]
    else:
        lowering.names[name] = around
    if not was_bound:
        lowering.bound.discard(name)
    return {"comprehension": {**made, "line": lowering.note_raise(node)}}


def _over(lowering: Lowering, node: ast.expr) -> Any:
    match node:
        case ast.Call(
            func=ast.Name(id="range"), args=[ast.Constant(value=int() as times)], keywords=[]
        ) if lowering.is_builtin("range") and times <= TIMES_MAX:
            return {"literal": literal(node, list(range(times)))}
        case _:
            return lowering.collection(node)
