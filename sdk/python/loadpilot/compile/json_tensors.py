"""Finds tensors that a plan sends as JSON to a server that takes them as bytes, too.

A server of the Open Inference Protocol parses every number of a JSON body. For large tensors that
takes longer than the model, and is then measured instead of it. Looks only at bodies that are known
before the run: those of the plan, and of a script those made of globals of its file.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..control.figures import count
from ..infer import ITEM_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ..scenario_file.source import Sources

NUMBERS_MAX = 1_000
"""Maximum numbers of a body that are not worth a note."""
INFER = re.compile(r"/v2/models/[^/?]+(?:/versions/[^/?]+)?/infer(?:\?|$)")
HEADER = "inference-header-content-length"


@dataclass(frozen=True, slots=True)
class JsonTensors:
    """The tensors of one JSON body."""

    task: str
    numbers: int
    json_bytes: int
    """Size of the body."""
    raw_bytes: int | None
    """Size of the tensors as bytes; None with a datatype that has no fixed size."""


def note_of(
    plan: Mapping[str, Any], bodies: Mapping[str, bytes], scripted: Iterable[JsonTensors] = ()
) -> str | None:
    """Write what the largest JSON tensors of a plan cost, and how to send them; None without any.

    ``bodies`` are the objects beside the plan, by SHA-256 in hex; ``scripted`` the tensors that
    its script sends.
    """
    found = [*_recorded(plan, bodies), *_in_code(plan), *scripted]
    found = [one for one in found if one.numbers > NUMBERS_MAX]
    if not found:
        return None
    most = max(found, key=lambda one: one.numbers)
    others = len({one.task for one in found} - {most.task})
    also = f", and so does {others} more" if others == 1 else f", and so do {others} more"
    size = f" (they are {count(most.raw_bytes)} bytes)" if most.raw_bytes is not None else ""
    return (
        f"task {most.task} sends {count(most.numbers)} numbers as {count(most.json_bytes)} bytes "
        f"of JSON{also if others else ''}; the server parses them in each request. "
        f"Send them as bytes{size} with triton_binary() of loadpilot.infer"
    )


def _recorded(plan: Mapping[str, Any], bodies: Mapping[str, bytes]) -> Iterator[JsonTensors]:
    """Find the tensors of requests that are part of the plan."""
    for task in plan["tasks"]:
        for step in task["steps"]:
            names = {header["name"].lower() for header in step.get("headers", [])}
            if HEADER in names or not INFER.search(step.get("path", "")):
                continue
            match step.get("body"):
                case {"text": text}:
                    yield from _of_text(task["name"], text.encode())
                case {"object": {"sha256": digest}} if digest in bodies:
                    yield from _of_text(task["name"], bodies[digest])
                case _:
                    pass


def _in_code(plan: Mapping[str, Any]) -> Iterator[JsonTensors]:
    """Find the tensors that compiled code sends."""
    parts = plan.get("code", {}).get("tasks", [])
    for task, part in zip(plan["tasks"], parts, strict=False):
        for node in _dicts(part):
            if {"path", "given"} <= node.keys() and INFER.search(_text(node["path"])):
                for one in node["given"]:
                    if one["what"] == "json":
                        yield from _of_value(task["name"], _value(one["value"]))


def in_script(cls: type, names: Iterable[str], sources: Sources) -> Iterator[JsonTensors]:
    """Find the tensors that tasks of a script send, where globals of their files hold them."""
    for name in names:
        function = inspect.getattr_static(cls, name)
        if not isinstance(function, FunctionType):
            continue
        file = sources.of(function)
        definition = file.function(function) if file else None
        for node in ast.walk(definition) if definition else ():
            if not isinstance(node, ast.Call) or not node.args:
                continue
            known = function.__globals__
            if INFER.search(str(_constant(node.args[0], known))):
                for keyword in node.keywords:
                    if keyword.arg == "json":
                        yield from _of_value(name, _constant(keyword.value, known))


def _constant(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """Return the value of an expression of globals, with None for values known in the run only."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return known.get(name)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_constant(part, known) for part in parts]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {
                str(_constant(key, known)): _constant(value, known) for key, value in pairs if key
            }
        case ast.Call(func=ast.Attribute(value=value, attr="tolist"), args=[]):
            array = _constant(value, known)
            return array.tolist() if hasattr(array, "tolist") else None
        case _:
            return None


def _of_text(task: str, body: bytes) -> Iterator[JsonTensors]:
    """Measure a body, if it is JSON."""
    try:
        request = json.loads(body)
    except ValueError:
        return
    yield from _of_request(task, request, len(body))


def _of_value(task: str, value: Any) -> Iterator[JsonTensors]:
    """Measure the value of ``json=``."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError):
        return
    yield from _of_request(task, value, len(text.encode(errors="replace")))


def _of_request(task: str, request: Any, size: int) -> Iterator[JsonTensors]:
    """Count the numbers in the inputs of a request of the given size in bytes."""
    numbers = 0
    raw_bytes: int | None = 0
    inputs: Any = request.get("inputs") if isinstance(request, dict) else None
    for tensor in inputs if isinstance(inputs, list) else ():
        if isinstance(tensor, dict):
            elements = _numbers(tensor.get("data"))
            numbers += elements
            item_bytes = ITEM_BYTES.get(str(tensor.get("datatype")))
            if item_bytes is None or raw_bytes is None:
                raw_bytes = None
            else:
                raw_bytes += elements * item_bytes
    if numbers:
        yield JsonTensors(task, numbers, size, raw_bytes)


def _numbers(data: Any) -> int:
    """Count the numbers in a list and the lists within."""
    if isinstance(data, list):
        return sum(map(_numbers, data))
    return int(isinstance(data, int | float))


def _dicts(code: Any) -> Iterator[dict[str, Any]]:
    """Go through all nodes of code."""
    if isinstance(code, dict):
        yield code
        for part in code.values():
            yield from _dicts(part)
    elif isinstance(code, list):
        for part in code:
            yield from _dicts(part)


def _text(path: Any) -> str:
    """Return a path in code, with x for parts that are known in the run only."""
    match path:
        case {"literal": {"text": str(text)}}:
            return text
        case {"join": [*parts]}:
            return "".join(map(_text, parts))
        case _:
            return "x"


def _value(code: Any) -> Any:
    """Return the value of an expression, with None for values that are known in the run only."""
    match code:
        case {"literal": value}:
            return _value(value)
        case {"bool": value} | {"int": value} | {"text": value}:
            return value
        case {"float": str(value)}:
            return float(value)
        case {"list": [*parts]}:
            return [_value(part) for part in parts]
        case {"dict": [*pairs]}:
            return dict(_pair(pair) for pair in pairs)
        case _:
            return None


def _pair(pair: Any) -> tuple[str, Any]:
    """Return key and value of a dict in code: of an expression, or of a literal."""
    key, value = (pair["key"], pair["value"]) if "key" in pair else pair
    return key, _value(value)
