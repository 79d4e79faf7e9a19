"""The note about tensors that a server has to parse from JSON, and when there is none."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from loadpilot.compile.json_tensors import note_of

if TYPE_CHECKING:
    from pathlib import Path

    from sdk.tests.conftest import Compile

SCENE = """
from loadpilot import file, rand
INFER = "/v2/models/m/infer"
ROW = [0.25] * {large}
LARGE = {{"inputs": [{{"name": "X", "shape": [{large}], "datatype": "FP32", "data": [ROW]}}]}}
SMALL = {{"inputs": [{{"name": "X", "datatype": "FP32", "data": [0.25] * {small}}}]}}
TEXT = {{"inputs": [{{"name": "X", "datatype": "BYTES", "data": ROW}}]}}
@scenario(mode="constant")
class S(VUser):
    @task
    def infer(self, client):
        {sends}
    @task
    def small(self, client):
        client.post(INFER, json=SMALL)
"""
LARGE_BYTES = (
    len(
        '{"inputs":[{"name":"X","shape":[1001],"datatype":"FP32","data":[['
        + "0.25," * 1001
        + "]]}]}"
    )
    - 1
)
LARGE_NOTE = (
    f"task infer sends 1,001 numbers as {LARGE_BYTES:,} bytes of JSON; the server parses them in "
    "each request. Send them as bytes (they are 4,004 bytes) with triton_binary() of "
    "loadpilot.infer"
)


@pytest.mark.parametrize(
    ("sends", "note"),
    [
        ("client.post(INFER, json=LARGE)", re.escape(LARGE_NOTE)),
        ('client.post("/v2/models/m/versions/2/infer?x=1", json=LARGE)', re.escape(LARGE_NOTE)),
        ('client.post(f"/v2/models/{rand.int(1, 9)}/infer", json=LARGE)', re.escape(LARGE_NOTE)),
        (
            (
                'client.post(INFER, json={"id": f"{rand.int(1, 9)}", "inputs": ['
                '{"name": "X", "datatype": "FP64", "data": ROW}]})'
            ),
            r"task infer sends 1,001 numbers as 5,\d\d\d bytes of JSON; .*they are 8,008 bytes\)",
        ),
        ("client.post(INFER, json=TEXT)", r"task infer sends 1,001 numbers as .* as bytes with"),
        ("client.post(INFER, json=SMALL)", None),
        ('client.post("/predict", json=LARGE)', None),
        ('client.post("/v2/models/m/inference", json=LARGE)', None),
        ('client.post(INFER, content=b"{no JSON")', None),
        ('client.post(INFER, content=file("large.json"))', r"task infer sends 90,000 numbers"),
        (
            (
                'client.post(INFER, content=file("large.json"),'
                ' headers={"inference-header-content-length": "9"})'
            ),
            None,
        ),
    ],
)
def test_large_tensors_as_json_are_noted(
    compile_text: Compile, tmp_path: Path, sends: str, note: str | None
) -> None:
    """Broken if a user measures the server's JSON parser without a note, or if tensors in bytes get
    one."""
    inputs = [{"name": "X", "datatype": "FP32", "shape": [90_000], "data": [0.5] * 90_000}]
    (tmp_path / "large.json").write_text(json.dumps({"inputs": inputs}))
    compiled = compile_text(SCENE.format(sends=sends, large=1001, small=1000))
    found = note_of(compiled.plan, compiled.bodies, compiled.json_tensors)
    if note is None:
        assert found is None
    else:
        assert found is not None
        assert re.match(note, found)


def test_other_tasks_are_counted(compile_text: Compile) -> None:
    """Broken if a second task stays slow after the first was corrected, and no note mentions it."""
    both = compile_text(
        SCENE.format(sends="client.post(INFER, json=LARGE)", large=1001, small=1002)
    )
    found = note_of(both.plan, both.bodies)
    assert found is not None
    assert re.match(r"task small sends 1,002 .* of JSON, and so does 1 more; the server", found)


SCRIPT = """
from array import array
INFER = "/v2/models/m/infer"
IMAGE = array("f", [0.25] * 1001)
LARGE = {{"inputs": [{{"name": "X", "datatype": "FP32", "data": IMAGE.tolist()}}]}}
@scenario(mode="constant", compile=False)
class S(VUser):
    def on_start(self, client):
        self.image = IMAGE.tolist()
    @task
    def infer(self, client):
        {}
"""
INLINE = 'client.post(INFER, json={{"inputs": [{{"datatype": "FP32", "data": {}}}]}})'


@pytest.mark.parametrize(
    ("sends", "is_noted"),
    [
        ("client.post(INFER, json=LARGE)", True),
        (INLINE.format("IMAGE.tolist()"), True),
        (INLINE.format("self.image"), False),
        ("client.post('/predict', json=LARGE)", False),
        ("client.post(INFER, json=print)", False),
    ],
)
def test_a_script_is_judged_by_its_globals(
    compile_text: Compile, sends: str, *, is_noted: bool
) -> None:
    """Broken if only compiled scenarios get the note, or if it guesses data that is made during the
    run."""
    compiled = compile_text(SCRIPT.format(sends))
    assert "script" in compiled.plan
    found = note_of(compiled.plan, compiled.bodies, compiled.json_tensors)
    assert (found is not None) == is_noted
    if found is not None:
        assert re.match(r"task infer sends 1,001 numbers as 5,0\d\d bytes of JSON; .*4,004", found)
