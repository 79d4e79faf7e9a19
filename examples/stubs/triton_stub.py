"""A stub of a Triton server with one model, `simple`, that adds and subtracts.

OUTPUT0 = INPUT0 + INPUT1, OUTPUT1 = INPUT0 - INPUT1, all INT32 of shape [1, 16]. It implements the
binary tensor data extension and refuses requests that violate it: a wrong length of the JSON part,
or a wrong datatype, shape or size in bytes of a tensor.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

from stub import Answer, Refused, as_json, port_of, serve

if TYPE_CHECKING:
    from collections.abc import Mapping

SHAPE = [1, 16]
FORMAT = "<16i"
HEAD_LENGTH = "Inference-Header-Content-Length"


def respond(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """Answer one request as Triton would."""
    match method, path:
        case "GET", "/v2/health/ready":
            return Answer(b"")
        case "POST", "/v2/models/simple/infer":
            return infer(headers, body)
        case _:
            raise Refused(f"nothing is at {method} {path}")


def infer(headers: Mapping[str, str], body: bytes) -> Answer:
    """Add and subtract the inputs."""
    length = headers.get(HEAD_LENGTH, "")
    if not length.isdigit() or not 0 < int(length) <= len(body):
        raise Refused(f"{HEAD_LENGTH} {length!r} with a body of {len(body)} bytes")
    if headers.get("Content-Type") != "application/octet-stream":
        raise Refused(f"Content-Type {headers.get('Content-Type')!r} for binary tensors")
    try:
        request = json.loads(body[: int(length)])
    except ValueError as error:
        raise Refused(f"the first {length} bytes are not JSON: {error}") from None
    tensors = split(request.get("inputs", []), body[int(length) :])
    if sorted(tensors) != ["INPUT0", "INPUT1"]:
        raise Refused(f"inputs {sorted(tensors)}")
    pairs = list(zip(tensors["INPUT0"], tensors["INPUT1"], strict=True))
    results = {"OUTPUT0": [a + b for a, b in pairs], "OUTPUT1": [a - b for a, b in pairs]}
    return outputs(request, results)


def split(inputs: list[dict[str, Any]], rest: bytes) -> dict[str, tuple[int, ...]]:
    """Split the bytes after the JSON into tensors, in the order of the inputs."""
    tensors = {}
    for given in inputs:
        if given.get("datatype") != "INT32" or given.get("shape") != SHAPE:
            raise Refused(f"{given.get('name')}: {given.get('datatype')} {given.get('shape')}")
        size = given.get("parameters", {}).get("binary_data_size")
        if size != struct.calcsize(FORMAT) or len(rest) < size:
            raise Refused(f"{given['name']}: binary_data_size {size} with {len(rest)} bytes left")
        tensors[given["name"]] = struct.unpack(FORMAT, rest[:size])
        rest = rest[size:]
    if rest:
        raise Refused(f"{len(rest)} bytes belong to no input")
    return tensors


def outputs(request: dict[str, Any], results: dict[str, list[int]]) -> Answer:
    """Write the requested outputs, each as bytes or as JSON as requested."""
    everywhere = request.get("parameters", {}).get("binary_data_output", False)
    wanted = request.get("outputs") or [{"name": name} for name in results]
    described, tail = [], b""
    for one in wanted:
        if one["name"] not in results:
            raise Refused(f"unknown output {one['name']!r}")
        values = results[one["name"]]
        head = {"name": one["name"], "datatype": "INT32", "shape": SHAPE}
        if one.get("parameters", {}).get("binary_data", everywhere):
            tensor = struct.pack(FORMAT, *values)
            head["parameters"] = {"binary_data_size": len(tensor)}
            tail += tensor
        else:
            head["data"] = values
        described.append(head)
    answer = {"model_name": "simple", "model_version": "1", "outputs": described}
    if not tail:
        return as_json(answer)
    text = json.dumps(answer).encode()
    return Answer(text + tail, "application/octet-stream", {HEAD_LENGTH: str(len(text))})


if __name__ == "__main__":
    serve(respond, port_of(str(__doc__), 8600))
