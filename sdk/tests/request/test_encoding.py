"""Requests are encoded as httpx encodes them: httpx itself is the oracle."""

from __future__ import annotations

import base64
import math
import string
import textwrap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadpilot.compile.plan import compile_scenario
from loadpilot.compile.scenario.settings import Overrides
from loadpilot.scenario_file.load import choose, load

BASE = "http://target.example"
CLIENT = httpx.Client(base_url=BASE, transport=httpx.MockTransport(lambda _: httpx.Response(200)))
CLIENT.headers.clear()
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")

ANY: Any = ("L", "M", "N", "P", "S", "Z", "Cc", "Cf")
PRINTABLE: Any = ("L", "M", "N", "P", "S", "Z", "Cf")
text = st.text(st.characters(codec="utf-8", categories=ANY), max_size=12)
printable = st.text(st.characters(codec="utf-8", categories=PRINTABLE), max_size=12)
numbers = st.integers(-(10**12), 10**12) | st.floats(allow_nan=False, allow_infinity=False)
primitives = st.none() | st.booleans() | numbers | text
json_values = st.recursive(
    primitives,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
fields = st.dictionaries(text, primitives | st.lists(primitives, max_size=3), max_size=3)
header_names = st.sampled_from(["X-One", "Accept", "Content-Type", "host", "User-Agent"])
header_values = st.text(string.ascii_letters + string.digits + ",;=/ .", max_size=9).map(str.strip)
segments = st.text(
    st.characters(codec="utf-8", categories=PRINTABLE, exclude_characters="#?/"),
    max_size=8,
).filter(lambda segment: segment not in {".", ".."})
paths = st.lists(segments, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, dict[str, Any]]:
    """One request: method, path, extras."""
    path = draw(paths.filter(lambda path: not path.startswith("//")))
    extras: dict[str, Any] = {}
    if draw(st.booleans()):
        extras["params"] = draw(fields)
    elif draw(st.booleans()):
        path += "?" + draw(printable.filter(lambda query: "#" not in query))
    if draw(st.booleans()):
        extras["headers"] = draw(st.dictionaries(header_names, header_values, max_size=3))
    body = draw(st.sampled_from(["none", "json", "data", "content", "bytes"]))
    if body == "json":
        extras["json"] = draw(json_values)
    elif body == "data":
        extras["data"] = draw(fields)
    elif body == "content":
        extras["content"] = draw(text)
    elif body == "bytes":
        extras["content"] = draw(st.binary(max_size=12))
    return draw(st.sampled_from(METHODS)), path, extras


def source_of(calls: list[tuple[str, str, dict[str, Any]]]) -> str:
    """Write a scenario file whose one task makes these calls."""
    lines = [
        f"client.{method.lower()}({path!r}"
        + "".join(f", {name}={value!r}" for name, value in extras.items())
        + ")"
        for method, path, extras in calls
    ]
    body = textwrap.indent("\n".join(lines), "        ")
    return (
        "from loadpilot import VUser, scenario, task\n"
        "@scenario(mode='constant')\nclass S(VUser):\n    @task\n"
        f"    def t(self, client):\n{body}\n"
    )


@pytest.mark.slow
@settings(max_examples=100)
@given(st.lists(requests(), min_size=1, max_size=3))
def test_a_compiled_task_sends_exactly_what_httpx_would_send(
    calls: list[tuple[str, str, dict[str, Any]]],
) -> None:
    """Broken if any call is lost, reordered, or encoded otherwise than by httpx."""
    with TemporaryDirectory() as folder:
        scene = Path(folder) / "scene.py"
        scene.write_text(source_of(calls), encoding="utf-8")
        loaded = load(scene)
        compiled = compile_scenario(loaded, choose(loaded, None), BASE, Overrides())
    (task,) = compiled.plan["tasks"]
    assert len(task["steps"]) == len(calls)
    for step, (method, path, extras) in zip(task["steps"], calls, strict=True):
        expected = CLIENT.build_request(method, path, **extras)
        assert step["method"] == method
        assert step["path"].encode() == expected.url.raw_path
        assert body_of(step) == expected.content
        assert headers_of(step) == own_headers(expected)


def body_of(step: dict[str, Any]) -> bytes:
    match step.get("body"):
        case None:
            return b""
        case {"text": content}:
            return str(content).encode()
        case {"base64": content}:
            return base64.b64decode(content)
        case other:
            raise AssertionError(other)


def headers_of(step: dict[str, Any]) -> list[tuple[str, str]]:
    return [(header["name"].lower(), header["value"]) for header in step.get("headers", [])]


def own_headers(request: httpx.Request) -> list[tuple[str, str]]:
    """All headers except those that the transport adds: Host, unless it was set, and the body's
    length."""
    return [
        (name.lower(), value)
        for name, value in request.headers.multi_items()
        if name != "content-length" and not (name == "host" and value == "target.example")
    ]


def test_the_oracle_disagrees_with_a_wrong_encoding() -> None:
    """Broken if the comparison above could not fail: a body with blanks is not httpx's JSON."""
    expected = CLIENT.build_request("POST", "/", json={"a": 1})
    assert expected.content != b'{"a": 1}'
    assert math.isclose(len(expected.content), 7)
