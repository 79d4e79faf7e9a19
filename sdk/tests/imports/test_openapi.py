"""Values of OpenAPI descriptions: YAML 1.2, and the styles of parameters."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sdk.tests.support.imported_scenario import written

from loadpilot.scenario_file.imports.readers.openapi.reader import read_openapi
from loadpilot.scenario_file.imports.source import Source

HEAD = "openapi: 3.1.0\ninfo: {title: Shop}\nservers: [{url: 'http://a'}]\npaths:\n"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ("{enum: [NO, SE]}", '"NO"'),
        ("{enum: [yes, no]}", '"yes"'),
        ("{example: 12:30:00}", '"12:30:00"'),
        ("{example: 2026-01-31}", '"2026-01-31"'),
        ("{example: 1_000}", '"1_000"'),
        ("{example: 0b11}", '"0b11"'),
        ("{example: 010}", "10"),
        ("{example: 0o10}", "8"),
        ("{example: 0x1F}", "31"),
        ("{example: +12}", "12"),
        ("{example: 1e3}", "1000.0"),
        ("{example: -.5}", "-0.5"),
        ("{example: =}", '"="'),
        ("{enum: [TRUE]}", "True"),
        ("{example: ~, default: 7}", "7"),
        ("{properties: {on: {const: 1}, no: {const: 2}}}", '{"on": 1, "no": 2}'),
    ],
)
def test_yaml_is_that_of_version_1_2(schema: str, value: str) -> None:
    """Broken if the code of Norway is read as a boolean, a time as a number, or if a property is
    lost."""
    body = f"{{content: {{application/json: {{schema: {{properties: {{v: {schema}}}}}}}}}}}"
    text = HEAD + f"  /b: {{post: {{requestBody: {body}}}}}\n"
    assert f'json={{"v": {value}}}' in written(read_openapi, Source("a.yaml", text.encode()))


LIST, OBJECT = ["a b", "c"], {"R": 100, "G": "/"}


def sent(parameter: dict[str, Any]) -> str:
    """Write the request of an operation with one parameter."""
    path = "/b/{v}/c" if parameter["in"] == "path" else "/b"
    operation = {"parameters": [{"name": "v", "required": True, **parameter}]}
    whole = {
        "openapi": "3.1.0",
        "info": {"title": "Shop"},
        "servers": [{"url": "http://a"}],
        "paths": {path: {"get": operation}},
    }
    text = written(read_openapi, Source("a.json", json.dumps(whole).encode()))
    return " ".join(text[text.index("client.get(") :].split())


@pytest.mark.parametrize(
    ("style", "explode", "value", "segment"),
    [
        (None, None, LIST, "a%20b,c"),
        ("simple", True, LIST, "a%20b,c"),
        (None, None, OBJECT, "R,100,G,%2F"),
        ("simple", True, OBJECT, "R=100,G=%2F"),
        ("label", None, "x", ".x"),
        ("label", None, LIST, ".a%20b,c"),
        ("label", True, LIST, ".a%20b.c"),
        ("label", True, OBJECT, ".R=100.G=%2F"),
        ("matrix", None, "x", ";v=x"),
        ("matrix", False, LIST, ";v=a%20b,c"),
        ("matrix", True, LIST, ";v=a%20b;v=c"),
        ("matrix", False, OBJECT, ";v=R,100,G,%2F"),
        ("matrix", True, OBJECT, ";R=100;G=%2F"),
        (None, None, [], "1"),
    ],
)
def test_a_path_has_all_of_a_value(
    *, style: str | None, explode: bool | None, value: Any, segment: str
) -> None:
    """Broken if a segment contains only a part of its value, or has another style than the standard
    says."""
    how = {"style": style, "explode": explode, "example": value}
    assert f'"/b/{segment}/c"' in sent({"in": "path", **how})


@pytest.mark.parametrize(
    ("how", "value", "params"),
    [
        ({}, LIST, '{"v": ["a b", "c"]}'),
        ({"explode": False}, LIST, '{"v": "a b,c"}'),
        ({"style": "pipeDelimited"}, LIST, '{"v": "a b|c"}'),
        ({"style": "spaceDelimited", "explode": False}, ["a", "c"], '{"v": "a c"}'),
        ({"style": "pipeDelimited", "explode": True}, LIST, '{"v": ["a b", "c"]}'),
        ({}, OBJECT, '{"R": "100", "G": "/"}'),
        ({"explode": False}, OBJECT, '{"v": "R,100,G,/"}'),
        ({"style": "deepObject"}, OBJECT, '{"v[R]": "100", "v[G]": "/"}'),
    ],
)
def test_a_query_has_the_style_of_its_parameter(
    how: dict[str, Any], value: Any, params: str
) -> None:
    """Broken if the members of a list are joined by another character than the description says."""
    assert f"params={params}" in sent({"in": "query", "example": value, **how})


@pytest.mark.parametrize(
    ("where", "explode", "value", "header"),
    [
        ("header", None, OBJECT, '{"v": "R,100,G,/"}'),
        ("header", True, OBJECT, '{"v": "R=100,G=/"}'),
        ("header", None, LIST, '{"v": "a b,c"}'),
    ],
)
def test_a_header_has_the_names_of_its_members(
    *, where: str, explode: bool | None, value: Any, header: str
) -> None:
    """Broken if a header has the values of an object without their names."""
    assert f"headers={header}" in sent({"in": where, "example": value, "explode": explode})


@pytest.mark.parametrize("is_required", [True, False])
def test_a_parameter_with_a_content_type_is_a_text_of_it(*, is_required: bool) -> None:
    """Broken if a parameter that 'content' describes is empty or left out."""
    content = {"application/json": {"example": {"a": [1, "b"]}}}
    text = sent({"in": "query", "required": is_required, "content": content})
    assert """params={"v": '{"a":[1,"b"]}'}""" in text
    schema = {"content": {"application/json": {"schema": {"properties": {"a": {"const": 1}}}}}}
    assert """{"v": '{"a":1}'}""" in sent({"in": "header", **schema})


def test_an_operation_that_cannot_be_sent_is_noted() -> None:
    """Broken if an operation is left out without a note."""
    source = Source("a.yaml", (HEAD + "  /b: {get: {}, trace: {}}\n").encode())
    assert 'client.get("/b")' in written(read_openapi, source)
    assert any("TRACE requests are left out" in line for line in source.lines())
