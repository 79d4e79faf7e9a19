"""Bodies for inference servers: tensors as bytes, as Triton and KServe take them.

The format is the binary tensor data extension of the Open Inference Protocol v2: a JSON object that
describes the tensors, then their bytes, little-endian and row by row, in the same order. Needs no
numpy, and takes its arrays. Must never send a tensor that is not what its description says.
"""

from __future__ import annotations

import json
import operator
import sys
from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, TypeAlias, TypedDict, Union

from .files import File
from .nearest import nearest

if TYPE_CHECKING:
    from typing_extensions import Buffer

ITEM_BYTES = {
    "BOOL": 1,
    "UINT8": 1,
    "UINT16": 2,
    "UINT32": 4,
    "UINT64": 8,
    "INT8": 1,
    "INT16": 2,
    "INT32": 4,
    "INT64": 8,
    "FP16": 2,
    "BF16": 2,
    "FP32": 4,
    "FP64": 8,
}
"""Bytes of one element; BYTES is not here, since each of its elements has its own length."""
DATATYPES = (*ITEM_BYTES, "BYTES")
NUMPY_NAMES = {
    "BOOLEAN": "BOOL",
    "HALF": "FP16",
    "FLOAT16": "FP16",
    "BFLOAT16": "BF16",
    "FLOAT": "FP32",
    "FLOAT32": "FP32",
    "DOUBLE": "FP64",
    "FLOAT64": "FP64",
    "INT": "INT32",
    "STR": "BYTES",
    "STRING": "BYTES",
}
"""What others call a datatype, in upper case."""
TYPE_CODE_FAMILIES = {
    "?": "BOOL",
    **dict.fromkeys("bhilqn", "INT"),
    **dict.fromkeys("BHILQN", "UINT"),
}
"""Families of datatypes by the type code of a buffer; e, f and d are FP."""
UNTYPED_CODES = frozenset("Bc")
"""Type codes of buffers that are bytes and say nothing about what they hold."""

Data: TypeAlias = Union["Buffer", File, Sequence[bytes | str | File]]
"""A tensor: anything with the buffer protocol (bytes, array, numpy), a file; for BYTES a list."""
Input: TypeAlias = tuple[str, Sequence[int], str, Data]
"""Name, shape, datatype, data."""


class BinaryRequest(TypedDict):
    """What ``client.post(path, **…)`` needs."""

    content: bytes
    headers: dict[str, str]


def triton_binary(
    inputs: Sequence[Input],
    outputs: Sequence[str] = (),
    *,
    binary_outputs: bool = True,
    parameters: Mapping[str, str | int | float | bool] | None = None,
    headers: Mapping[str, str] | None = None,
) -> BinaryRequest:
    """Build an inference request whose tensors are bytes.

    ``client.post("/v2/models/m/infer", **triton_binary([("INPUT0", [1, 16], "FP32", DATA)]))``

    ``inputs``
        ``(name, shape, datatype, data)`` each. Data is anything with the buffer protocol or a
        ``file(…)``, shape times size of the datatype bytes long; for BYTES a list of its elements.
    ``outputs``
        Names of the outputs that are wanted; all of the model's when there are none.
    ``binary_outputs``
        Whether they are to come as bytes too.
    ``parameters``, ``headers``
        Parameters of the request, such as ``{"priority": 1}``; headers beside the format's own.

    Raises ValueError that names every input whose data is not what shape and datatype say.
    """
    problems: list[str] = []
    described: list[dict[str, object]] = []
    tensors: list[bytes] = []
    for number, given in enumerate(inputs):
        try:
            name, shape, datatype, tensor = _tensor(number, given)
        except ValueError as error:
            problems.append(str(error))
            continue
        if name in {one["name"] for one in described}:
            problems.append(f"input {name!r} is given twice")
        size = {"binary_data_size": len(tensor)}
        one: dict[str, object] = {
            "name": name,
            "shape": shape,
            "datatype": datatype,
            "parameters": size,
        }
        described.append(one)
        tensors.append(tensor)
    if not inputs:
        problems.append("inputs must have at least one (name, shape, datatype, data)")
    if isinstance(outputs, str) or not all(_is_name(name) for name in outputs):
        problems.append(f"outputs must be a list of names (got {outputs!r})")
    if problems:
        raise ValueError("triton_binary: " + "; ".join(problems))
    request: dict[str, object] = {}
    of_request = dict(parameters or {})
    if binary_outputs and not outputs:
        of_request["binary_data_output"] = True
    if of_request:
        request["parameters"] = of_request
    request["inputs"] = described
    if outputs:
        binary = {"parameters": {"binary_data": True}} if binary_outputs else {}
        request["outputs"] = [{"name": name} | binary for name in outputs]
    head = json.dumps(request, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    own = {
        "Content-Type": "application/octet-stream",
        "Inference-Header-Content-Length": str(len(head)),
    }
    return {"content": b"".join([head, *tensors]), "headers": {**own, **(headers or {})}}


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name != ""


def _tensor(number: int, given: object) -> tuple[str, list[int], str, bytes]:
    """Check one input and write its bytes."""
    if not isinstance(given, tuple | list) or len(given) != 4:
        raise ValueError(f"inputs[{number}] must be (name, shape, datatype, data)")
    name, shape, datatype, data = given
    if not _is_name(name):
        raise ValueError(f"inputs[{number}] must begin with the input's name (got {name!r})")
    place = f"input {name!r}"
    if datatype not in DATATYPES:
        raise ValueError(f"{place}: {datatype!r} is no datatype; {_nearest(datatype)}")
    sizes = _sizes(place, shape)
    elements = prod(sizes)
    if datatype == "BYTES":
        return name, sizes, datatype, _bytes_elements(place, elements, data)
    tensor = _buffer_bytes(place, datatype, data)
    wanted = elements * ITEM_BYTES[datatype]
    if len(tensor) != wanted:
        raise ValueError(
            f"{place}: shape {sizes} of {datatype} is {elements} * {ITEM_BYTES[datatype]} = "
            f"{wanted} bytes, but the data has {len(tensor)}"
        )
    return name, sizes, datatype, tensor


def _nearest(datatype: object) -> str:
    """Name the datatype that was probably meant, or all."""
    said = str(datatype).upper()
    near = nearest(NUMPY_NAMES.get(said, said), DATATYPES)
    return f"did you mean {near!r}?" if near else f"it must be one of {', '.join(DATATYPES)}"


def _sizes(place: str, shape: object) -> list[int]:
    """Read a shape."""
    rule = f"{place}: the shape must be a list of sizes, each 0 or more (got {shape!r})"
    if not isinstance(shape, Sequence) or any(isinstance(size, bool | str) for size in shape):
        raise ValueError(rule)
    try:
        sizes = [operator.index(size) for size in shape]
    except TypeError:
        raise ValueError(rule) from None
    if any(size < 0 for size in sizes):
        raise ValueError(f"{rule}; where the model says -1, say the size that is sent")
    return sizes


def _buffer_bytes(place: str, datatype: str, data: object) -> bytes:
    """Take the bytes of a buffer, row by row; raises ValueError if it holds something else."""
    if isinstance(data, File):
        return data.content
    try:
        view = memoryview(data)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(
            f"{place}: data must be bytes, an array, file(…) or anything with the buffer "
            f"protocol, not {type(data).__name__}"
        ) from None
    code = view.format.lstrip("@=<|")
    if code not in UNTYPED_CODES and not _is_of_datatype(view, code, datatype):
        raise ValueError(
            f"{place}: {datatype} was said, but the data holds elements of {view.itemsize} bytes "
            f"with the type code {view.format!r}"
        )
    foreign = view.format[:1] in {">", "!"} or sys.byteorder == "big"
    if view.itemsize > 1 and foreign:
        raise ValueError(f"{place}: the data must be little-endian")
    return view.tobytes()


def _is_of_datatype(view: memoryview, code: str, datatype: str) -> bool:
    """Whether the elements of a buffer are of the datatype."""
    family = TYPE_CODE_FAMILIES.get(code, "FP" if code in set("efd") else None)
    return family is not None and datatype == (
        family if family == "BOOL" else f"{family}{8 * view.itemsize}"
    )


def _bytes_elements(place: str, elements: int, data: object) -> bytes:
    """Write the elements of a BYTES tensor, each behind its length."""
    if not isinstance(data, list | tuple):
        what = f"{place}: BYTES takes a list of bytes, text or file(…), one per element"
        raise ValueError(what)  # noqa: TRY004  (every refusal of a tensor is a ValueError)
    if len(data) != elements:
        raise ValueError(f"{place}: the shape has {elements} elements, but the data {len(data)}")
    written = []
    for element in data:
        match element:
            case File(content=content):
                raw = content
            case str():
                raw = element.encode()
            case bytes() | bytearray() | memoryview():
                raw = bytes(element)
            case _:
                what = f"{place}: an element of BYTES is {type(element).__name__}"
                raise ValueError(f"{what}; it must be bytes, text or file(…)")
        written += [len(raw).to_bytes(4, "little"), raw]
    return b"".join(written)
