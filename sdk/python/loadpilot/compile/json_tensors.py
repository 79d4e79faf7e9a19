"""Finds tensors that a plan sends as JSON to a server that takes them as bytes, too.

A server of the Open Inference Protocol parses every number of a JSON body. For large tensors that
takes longer than the model, and is then measured instead of it. Looks only at bodies that the plan
knows: those that Python makes during the run are not judged.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..control.figures import count
from ..infer import ITEM_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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


def note_of(plan: Mapping[str, Any], bodies: Mapping[str, bytes]) -> str | None:
    """Write what the largest JSON tensors of a plan cost, and how to send them; None without any.

    ``bodies`` are the objects beside the plan, by SHA-256 in hex.
    """
    found = [*_recorded(plan, bodies), *_in_code(plan)]
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


def _in_code(plan: Mapping[str, Any]) -> Iterator[JsonTensors]:
    """Find the tensors that compiled code sends."""
    parts = plan.get("code", {}).get("tasks", [])
    for task, part in zip(plan["tasks"], parts, strict=False):
        for node in _dicts(part):
            match node:
                case {"path": path, "given": given} if INFER.search(_text(path)):
                    for one in given:
                        if one["what"] == "json":
                            value = _value(one["value"])
                            size = len(
                                json.dumps(
                                    value, ensure_ascii=False, separators=(",", ":")
                                ).encode()
                            )
                            yield from _of_request(task["name"], value, size)


def _of_text(task: str, body: bytes) -> Iterator[JsonTensors]:
    """Measure a body, if it is JSON."""
    try:
        request = json.loads(body)
    except ValueError:
        return
    yield from _of_request(task, request, len(body))


def _of_request(task: str, request: Any, size: int) -> Iterator[JsonTensors]:
    """Count the numbers in the inputs of a request of the given size in bytes."""
    numbers = 0
    raw: int | None = 0
    match request:
        case {"inputs": [*inputs]}:
            for tensor in inputs:
                match tensor:
                    case {"data": [*data]}:
                        here = _numbers(data)
                        numbers += here
                        each = ITEM_BYTES.get(str(tensor.get("datatype")))
                        raw = None if each is None or raw is None else raw + here * each
    if numbers:
        yield JsonTensors(task, numbers, size, raw)


def _numbers(data: list[Any]) -> int:
    """Count the numbers in a list and the lists within."""
    return sum(
        _numbers(one) if isinstance(one, list) else isinstance(one, int | float) for one in data
    )


def _dicts(code: Any) -> Iterator[dict[str, Any]]:
    """Go through all nodes of code."""
    if isinstance(code, dict):
        yield code
        code = list(code.values())
    if isinstance(code, list):
        for part in code:
            yield from _dicts(part)


def _text(path: Any) -> str:
    """Return a path in code, with x for what only the run knows."""
    match path:
        case {"literal": {"text": str(text)}}:
            return text
        case {"join": [*parts]}:
            return "".join(map(_text, parts))
        case _:
            return "x"


def _value(code: Any) -> Any:
    """Return the value of an expression, with None for what only the run knows."""
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
    """Return key and value of a dict in code: of a literal, or of an expression."""
    if isinstance(pair, dict):
        return pair["key"], _value(pair["value"])
    return pair[0], _value(pair[1])
