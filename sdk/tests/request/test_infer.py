"""Tensors as bytes, read back by a reader of the format that shares no code with the writer."""

from __future__ import annotations

import base64
import json
import math
import struct
from array import array
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadpilot.infer import triton_binary
from loadpilot.inputs.files import File

if TYPE_CHECKING:
    from pathlib import Path

    from sdk.tests.conftest import Compile, Refuse

CODES = {
    "BOOL": "?",
    "UINT8": "B",
    "UINT16": "H",
    "UINT32": "I",
    "UINT64": "Q",
    "INT8": "b",
    "INT16": "h",
    "INT32": "i",
    "INT64": "q",
    "FP16": "e",
    "FP32": "f",
    "FP64": "d",
}
SCENE = """
{}
@scenario(mode="constant")
class S(VUser):
    @task
    def t(self, client):
        client.post("/v2/models/m/infer", {})
"""


def read(request: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Parse a request as the extension specifies: the JSON part, then one tensor after another."""
    length = int(request["headers"]["Inference-Header-Content-Length"])
    head, rest = json.loads(request["content"][:length]), request["content"][length:]
    tensors = []
    for tensor in head["inputs"]:
        size = tensor["parameters"]["binary_data_size"]
        tensors.append(rest[:size])
        rest = rest[size:]
    assert rest == b""
    return head, tensors


@st.composite
def tensors(draw: st.DrawFn) -> tuple[list[int], str, bytes]:
    """Shape, datatype, and bytes of that size."""
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    datatype = draw(st.sampled_from(sorted(CODES)))
    size = math.prod(shape) * struct.calcsize("<" + CODES[datatype])
    return shape, datatype, draw(st.binary(min_size=size, max_size=size))


@given(
    given_=st.lists(tensors(), min_size=1, max_size=3),
    outputs=st.lists(st.text(min_size=1)),
    binary=st.booleans(),
)
def test_a_reader_of_the_specification_finds_every_tensor(
    given_: list[tuple[list[int], str, bytes]],
    outputs: list[str],
    *,
    binary: bool,
) -> None:
    """Broken if the length of the JSON part, the order or a size is wrong."""
    inputs = [(f"IN{n}ä", *tensor) for n, tensor in enumerate(given_)]
    request = triton_binary(inputs, outputs, binary_outputs=binary)
    head, found = read(dict(request))
    assert found == [data for *_, data in inputs]
    described = [(t["name"], t["shape"], t["datatype"]) for t in head["inputs"]]
    assert described == [(name, shape, datatype) for name, shape, datatype, _ in inputs]
    everywhere = head.get("parameters", {}).get("binary_data_output", False)
    requested = head.get("outputs", [])
    assert [one["name"] for one in requested] == outputs
    wanted = [one.get("parameters", {}).get("binary_data", everywhere) for one in requested]
    assert all(one is binary for one in wanted or [everywhere])
    assert request["headers"]["Content-Type"] == "application/octet-stream"


@pytest.mark.parametrize("datatype", sorted(CODES.keys() - {"FP16"}))  # memoryview makes none of it
def test_a_buffer_is_written_little_endian_and_row_by_row(datatype: str) -> None:
    """Broken if a tensor from an array or from numpy arrives with its elements in other places."""
    code = CODES[datatype]
    values = [True, False, True, True, False, False] if code == "?" else [0, 1, 2, 3, 4, 5]
    packed = struct.pack(f"<6{code}", *values)
    rows = memoryview(packed).cast(code, shape=[2, 3])
    _, (tensor,) = read(dict(triton_binary([("A", [2, 3], datatype, rows)])))
    assert tensor == packed
    strided = memoryview(bytearray(12))[::2]
    assert read(dict(triton_binary([("A", [6], "UINT8", strided)])))[1] == [bytes(6)]


def test_texts_are_written_behind_their_lengths(tmp_path: Path) -> None:
    """Broken if a server reads the text of one element as the length of the next."""
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8")
    texts = ["ä", b"", File("a.jpg", tmp_path)]
    _, (tensor,) = read(dict(triton_binary([("A", [3, 1], "BYTES", texts)])))
    assert tensor == b"\x02\x00\x00\x00\xc3\xa4" + b"\0\0\0\0" + b"\x02\0\0\0\xff\xd8"


FLOATS = array("f", [0.0] * 4)
WRONG: dict[str, tuple[Any, str]] = {
    "size": (("A", [1, 3], "FP32", FLOATS), "3 * 4 = 12 bytes, but the data has 16"),
    "raw size": (("A", [5], "INT64", bytes(39)), "5 * 8 = 40 bytes, but the data has 39"),
    "unknown": (("A", [4], "FP33", FLOATS), "unknown datatype 'FP33'; did you mean 'FP32'?"),
    "numpy": (("A", [4], "float32", FLOATS), "did you mean 'FP32'?"),
    "lower": (("A", [4], "int32", FLOATS), "did you mean 'INT32'?"),
    "nothing like it": (("A", [4], "qqq", FLOATS), "must be one of BOOL, UINT8"),
    "other elements": (("A", [4], "INT32", FLOATS), "type code 'f'"),
    "wider": (("A", [8], "FP32", array("d", [0.0] * 4)), "elements have 8 bytes"),
    "dynamic": (("A", [-1, 4], "FP32", FLOATS), "a dimension of -1"),
    "shape": (("A", 4, "FP32", FLOATS), "the shape must be a list of sizes"),
    "fraction": (("A", [4.0], "FP32", FLOATS), "the shape must be a list of sizes"),
    "list": (("A", [2], "FP32", [0.0, 1.0]), "must be bytes, an array, file(…)"),
    "text": (("A", [2], "UINT8", "ab"), "must be bytes, an array, file(…)"),
    "bytes": (("A", [2], "BYTES", b"ab"), "BYTES takes a list"),
    "elements": (("A", [2], "BYTES", ["a"]), "2 elements, but the data 1"),
    "element": (("A", [1], "BYTES", [5]), "an element of BYTES is int"),
    "name": ((5, [1], "UINT8", b"a"), "must begin with the input's name"),
    "parts": (("A", [1], b"a"), "must be (name, shape, datatype, data)"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_tensor_that_is_not_what_it_says_is_refused(case: str) -> None:
    """Broken if an invalid tensor is detected only by the target, once for each request."""
    wrong, text = WRONG[case]
    with pytest.raises(ValueError, match="triton_binary") as refused:
        triton_binary([("OK", [1], "UINT8", b"x"), wrong])
    assert text in str(refused.value)


def test_all_wrong_inputs_are_named_at_once() -> None:
    """Broken if a user has to correct one input to learn of the next."""
    with pytest.raises(ValueError, match=r"'A'.*'B'.*given twice.*outputs"):
        triton_binary(
            [
                ("A", [1], "FP32", b""),
                ("B", [1], "FP99", b""),
                ("C", [1], "UINT8", b"x"),
                ("C", [1], "UINT8", b"x"),
            ],
            "OUT",
        )
    with pytest.raises(ValueError, match="at least one"):
        triton_binary([])


SPELLINGS = {
    "in the task": ("from loadpilot.infer import triton_binary", "**triton_binary({})"),
    "by module": ("from loadpilot import infer", "**infer.triton_binary({})"),
    "by package": ("import loadpilot.infer", "**loadpilot.infer.triton_binary({})"),
    "a constant": ("from loadpilot.infer import triton_binary\nBODY = triton_binary({})", "**BODY"),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_task_sends_what_the_function_returns(spelling: str, compile_text: Compile) -> None:
    """Broken if a natural way to write the request is refused, or if its headers are lost."""
    head, use = SPELLINGS[spelling]
    inputs = "[('IN', [2, 2], 'UINT8', b'abcd')], ['OUT'], headers={'X-Own': 'y'}"
    scene = SCENE.format(head.format(inputs), use.format(inputs))
    (step,) = compile_text(scene).plan["tasks"][0]["steps"]
    expected = triton_binary([("IN", [2, 2], "UINT8", b"abcd")], ["OUT"], headers={"X-Own": "y"})
    assert step["body"] == {"text": expected["content"].decode()}
    sent = {header["name"]: header["value"] for header in step["headers"]}
    assert sent == expected["headers"]


def test_arguments_of_a_constant_may_be_computed(compile_text: Compile, tmp_path: Path) -> None:
    """Broken if a scenario has to contain a preprocessed tensor byte by byte."""
    (tmp_path / "in.bin").write_bytes(b"\0" * 12)
    head = (
        "from array import array\nfrom loadpilot import file\n"
        "from loadpilot.infer import triton_binary\n"
        "VALUES = array('f', (n / 2 for n in range(4)))\n"
        "BODY = triton_binary([('A', (2, 2), 'FP32', VALUES), ('B', [3], 'FP32', file('in.bin'))])"
    )
    (step,) = compile_text(SCENE.format(head, "**BODY")).plan["tasks"][0]["steps"]
    sent = base64.b64decode(step["body"]["base64"])
    assert sent.endswith(struct.pack("<7f", 0, 0.5, 1, 1.5, 0, 0, 0))


def test_a_mistake_is_named_with_the_line_of_the_call(refuse_text: Refuse) -> None:
    """Broken if the error does not name the invalid tensor."""
    call = "triton_binary([('IN', [9], 'UINT8', b'abcd')])"
    head = "from loadpilot.infer import triton_binary"
    (problem,) = refuse_text(SCENE.format(head, f"**{call}"))
    assert problem.place.endswith("scene.py:8")
    assert "9 * 1 = 9 bytes, but the data has 4" in problem.what
    (problem,) = refuse_text(SCENE.format(f"{head}\nBODY = {call}", "**BODY"))
    assert problem.place.endswith("scene.py:4")
    assert "9 * 1 = 9 bytes, but the data has 4" in problem.what
