"""Request bodies for inference servers such as Triton and KServe, with binary tensors.

The format is the binary tensor data extension of the Open Inference Protocol v2: a JSON object that
describes the tensors, then their bytes, little-endian and in row-major order, in the same sequence.
Works with numpy arrays and without numpy. Refuses data that does not match shape and datatype.
"""

from __future__ import annotations

import json
import operator
import sys
from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, TypeAlias, TypedDict, Union

from .inputs.files import File
from .problem import nearest

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
"""Size of one element in bytes, without BYTES: each of its elements has its own length."""
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
"""Names of datatypes elsewhere, in upper case, used for suggestions."""
TYPE_CODE_FAMILIES = {
    "?": "BOOL",
    **dict.fromkeys("bhilqn", "INT"),
    **dict.fromkeys("BHILQN", "UINT"),
}
"""Prefix of the datatype by the type code of a buffer; e, f and d are FP."""
UNTYPED_CODES = frozenset("Bc")
"""Type codes of plain bytes, which fit any datatype."""

Data: TypeAlias = Union["Buffer", File, Sequence[bytes | str | File]]
"""A tensor: a buffer (bytes, array, numpy array) or a file; for BYTES a list of elements."""
Input: TypeAlias = tuple[str, Sequence[int], str, Data]
"""Name, shape, datatype, data."""


class BinaryRequest(TypedDict):
    """Keyword arguments for ``client.post(path, **…)``."""

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
    """Build an inference request with binary tensors.

    ``client.post("/v2/models/m/infer", **triton_binary([("INPUT0", [1, 16], "FP32", DATA)]))``

    ``inputs``
        ``(name, shape, datatype, data)`` each. Data is anything with the buffer protocol or a
        ``file(…)``, shape times size of the datatype bytes long; for BYTES a list of its elements.
    ``outputs``
        Names of the requested outputs; default: all outputs of the model.
    ``binary_outputs``
        Whether the outputs are requested as bytes, too.
    ``parameters``, ``headers``
        Parameters of the request, such as ``{"priority": 1}``; headers beside the format's own.

    Raises ValueError that names every input whose data does not match its shape and datatype.
    """
    problems: list[str] = []
    described: list[dict[str, object]] = []
    tensors: list[bytes] = []
    for number, one_input in enumerate(inputs):
        try:
            name, shape, datatype, tensor = _tensor(number, one_input)
        except ValueError as error:
            problems.append(str(error))
            continue
        if name in {one["name"] for one in described}:
            problems.append(f"input {name!r} is given twice")
        size = {"binary_data_size": len(tensor)}
        described.append({"name": name, "shape": shape, "datatype": datatype, "parameters": size})
        tensors.append(tensor)
    if not inputs:
        problems.append("inputs must have at least one (name, shape, datatype, data)")
    if isinstance(outputs, str) or not all(_is_name(name) for name in outputs):
        problems.append(f"outputs must be a list of names (got {outputs!r})")
    if problems:
        raise ValueError("triton_binary: " + "; ".join(problems))
    head = _json_header(described, outputs, dict(parameters or {}), binary_outputs=binary_outputs)
    own = {
        "Content-Type": "application/octet-stream",
        "Inference-Header-Content-Length": str(len(head)),
    }
    return {"content": b"".join([head, *tensors]), "headers": {**own, **(headers or {})}}


def _json_header(
    inputs: list[dict[str, object]],
    outputs: Sequence[str],
    parameters: dict[str, str | int | float | bool],
    *,
    binary_outputs: bool,
) -> bytes:
    """Write the JSON object that precedes the tensors."""
    request: dict[str, object] = {}
    if binary_outputs and not outputs:
        parameters["binary_data_output"] = True
    if parameters:
        request["parameters"] = parameters
    request["inputs"] = inputs
    if outputs:
        binary = {"parameters": {"binary_data": True}} if binary_outputs else {}
        request["outputs"] = [{"name": name} | binary for name in outputs]
    return json.dumps(request, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name != ""


def _tensor(number: int, one_input: object) -> tuple[str, list[int], str, bytes]:
    """Check one input; returns its name, shape, datatype and bytes."""
    if not isinstance(one_input, tuple | list) or len(one_input) != 4:
        raise ValueError(f"inputs[{number}] must be (name, shape, datatype, data)")
    name, shape, datatype, data = one_input
    if not _is_name(name):
        raise ValueError(f"inputs[{number}] must begin with the input's name (got {name!r})")
    place = f"input {name!r}"
    if datatype not in DATATYPES:
        raise ValueError(f"{place}: unknown datatype {datatype!r}; {_nearest(datatype)}")
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
    """Suggest the nearest datatype, or list all."""
    name = str(datatype).upper()
    near = nearest(NUMPY_NAMES.get(name, name), DATATYPES)
    return f"did you mean {near!r}?" if near else f"it must be one of {', '.join(DATATYPES)}"


def _sizes(place: str, shape: object) -> list[int]:
    """Check a shape; returns its sizes."""
    rule = f"{place}: the shape must be a list of sizes, each 0 or more (got {shape!r})"
    if not isinstance(shape, Sequence) or any(isinstance(size, bool | str) for size in shape):
        raise ValueError(rule)
    try:
        sizes = [operator.index(size) for size in shape]
    except TypeError:
        raise ValueError(rule) from None
    if any(size < 0 for size in sizes):
        raise ValueError(f"{rule}; for a dimension of -1 in the model write the size that is sent")
    return sizes


def _buffer_bytes(place: str, datatype: str, data: object) -> bytes:
    """Return the bytes of a buffer in row-major order; ValueError for another datatype."""
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
            f"{place}: the datatype is {datatype}, but the elements have {view.itemsize} bytes "
            f"and the type code {view.format!r}"
        )
    foreign = view.format[:1] in {">", "!"} or sys.byteorder == "big"
    if view.itemsize > 1 and foreign:
        raise ValueError(f"{place}: the data must be little-endian")
    return view.tobytes()


def _is_of_datatype(view: memoryview, code: str, datatype: str) -> bool:
    """Whether the elements of a buffer have the datatype."""
    family = TYPE_CODE_FAMILIES.get(code, "FP" if code in set("efd") else None)
    return family is not None and datatype == (
        family if family == "BOOL" else f"{family}{8 * view.itemsize}"
    )


def _bytes_elements(place: str, elements: int, data: object) -> bytes:
    """Write the elements of a BYTES tensor, each after its length in 4 bytes."""
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
