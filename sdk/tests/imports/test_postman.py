"""Scripts and bodies of Postman collections."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from sdk.tests.support.imported_scenario import written

from loadpilot.scenario_file.imports.readers.postman.reader import read_postman
from loadpilot.scenario_file.imports.source import Source

KEEP = "pm.environment.set('order', pm.response.json().id);"


def source_of(*items: dict[str, Any]) -> Source:
    """Make a collection of requests."""
    collection = {"info": {"name": "Shop"}, "item": list(items)}
    return Source("shop.json", json.dumps(collection).encode())


def item(script: str = "", body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Make a request with a test script."""
    event = {"listen": "test", "script": {"exec": script.splitlines()}}
    request = {"method": "POST", "url": "http://a/b", "body": body}
    return {"name": "a", "event": [event], "request": request}


@pytest.mark.parametrize(
    ("script", "statuses"),
    [
        ("pm.test('ok', () => pm.response.to.have.status(200)); // .status(201)", [200]),
        ("// pm.response.to.have.status(404)\npm.response.to.have.status(200);", [200]),
        ("/*\npm.response.to.have.status(404)\n*/ pm.response.to.have.status(200);", [200]),
        ("pm.test('at // http://a', function () {\npm.response.to.have.status(200);\n});", [200]),
        (
            "if (a) {\npm.response.to.have.status(201);\n} else {\n  responseCode.code === 200\n}",
            [],
        ),
        ("if (isNew)\n  pm.response.to.have.status(201);\npm.response.to.have.status(202);", [202]),
        ("pm.test('a', function () { if (b({})) { pm.response.to.have.status(201); } });", []),
        ("isNew && pm.response.to.have.status(201);\npm.response.to.have.status(202);", [202]),
    ],
)
def test_only_a_check_that_always_runs_is_carried_over(script: str, statuses: list[int]) -> None:
    """Broken if a comment becomes a check, or if two branches become contradicting checks."""
    source = source_of(item(script))
    text = written(read_postman, source)
    found = [line.strip() for line in text.splitlines() if "assert" in line]
    assert found == [f"assert response.status_code == {one}" for one in statuses]
    has_condition = any(one in script for one in ("if (", "&&"))
    assert any("under a condition" in line for line in source.lines()) == has_condition


def test_a_value_in_quotes_is_sent_as_text() -> None:
    """Broken if a number of a response loses the quotes that the collection has around it."""
    raw = {"mode": "raw", "raw": '{"id": "{{order}}"}', "options": {"raw": {"language": "json"}}}
    text = written(read_postman, source_of(item(KEEP), item(body=raw)))
    assert 'json={"id": f"{order}"}' in text


def test_variables_of_graphql_may_be_templates() -> None:
    """Broken if a template without quotes makes the import fail, or is sent with quotes."""
    graphql = {"query": "{ a }", "variables": '{"i": {{order}}, "name": "{{name}}"}'}
    text = written(
        read_postman, source_of(item(KEEP), item(body={"mode": "graphql", "graphql": graphql}))
    )
    assert """"variables": {{"i": {order}, "name": "{NAME}"}}""" in text


def test_a_journey_has_the_order_of_the_collection() -> None:
    """Broken if a request at the root is sent before the login of a folder above it."""

    def sent(name: str, script: str = "") -> dict[str, Any]:
        header = [{"key": "X-Sess", "value": "{{sess}}"}] if not script else []
        event = [{"listen": "test", "script": {"exec": [script]}}] if script else []
        return {"event": event, "request": {"url": f"http://a/{name}", "header": header}}

    login = sent("login", "pm.environment.set('sess', pm.response.json().token);")
    text = written(
        read_postman,
        source_of(
            {"name": "Auth", "item": [login]},
            sent("me"),
            {"name": "Shop", "item": [sent("buy")]},
            sent("logout"),
        ),
    )
    assert re.findall(r'"/(\w+)"', text) == ["login", "me", "buy", "logout"]
    assert text.count('headers={"X-Sess": f"{sess}"}') == 3
    assert "env(" not in text


@pytest.mark.parametrize(
    ("where", "value", "wanted", "variable"),
    [
        ("header", "k-1", 'headers={"X-Shop": X_SHOP}', "X_SHOP"),
        ("header", "Basic k-1", 'headers={"X-Shop": X_SHOP}', "X_SHOP"),
        ("query", "k-1", 'params={"v": "1", "X-Shop": X_SHOP}', "X_SHOP"),
        ("header", "{{shop}}", 'headers={"X-Shop": SHOP}', "SHOP"),
    ],
)
def test_an_api_key_is_a_secret_under_any_name(
    where: str, value: str, wanted: str, variable: str
) -> None:
    """Broken if the value of a key that the collection declares is written."""
    pairs = {"in": where, "key": "X-Shop", "value": value}
    auth = {"type": "apikey", "apikey": [{"key": k, "value": v} for k, v in pairs.items()]}
    source = source_of({"request": {"url": "http://a/b?v=1", "auth": auth}})
    text = written(read_postman, source)
    assert wanted in text
    assert f'{variable} = env("{variable}", secret=True)' in text
    assert "k-1" not in text
    assert any(f"is a secret: set {variable}" in line for line in source.lines())


BASE = {"key": "baseUrl", "value": "http://h:8801"}


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        (
            {
                "host": ["{{baseUrl}}"],
                "path": ["pets"],
                "query": [{"key": "limit", "value": "5"}],
            },
            'get("/pets", params={"limit": "5"})',
        ),
        ({"protocol": "http", "host": ["h"], "port": "8801", "path": ["ok"]}, 'get("/ok")'),
        ({"host": "h", "port": 8801, "path": "/a/:id"}, 'get(f"/a/{ID}"'),
        (
            {
                "raw": "{{baseUrl}}/raw?off=1&x=2",
                "host": ["{{baseUrl}}"],
                "path": ["parts", ""],
                "query": [
                    {"key": "off", "value": "1", "disabled": True},
                    {"key": "more", "value": "3"},
                ],
            },
            'get("/parts/", params={"more": "3"})',
        ),
        (
            {
                "host": ["{{baseUrl}}"],
                "query": [{"key": "a=", "value": "b&c=d"}, {"key": "e", "value": None}],
            },
            'get("/?a%3D=b%26c=d&e")',
        ),
        ({"raw": "{{baseUrl}}/raw?x=2"}, 'get("/raw", params={"x": "2"})'),
        ("h:8801/text", 'get("/text")'),
        ("{{host}}/text", 'get("/text")'),
    ],
)
def test_a_url_is_that_of_its_parts(url: str | dict[str, Any], wanted: str) -> None:
    """Broken if a part of a URL is lost, or if a disabled field of its query is sent."""
    variables = [BASE, {"key": "host", "value": "h:8801"}]
    collection = {
        "info": {"name": "Shop"},
        "variable": variables,
        "item": [{"request": {"url": url}}],
    }
    text = written(read_postman, Source("shop.json", json.dumps(collection).encode()))
    assert 'go to "http://h:8801"' in text
    assert wanted in text


def test_a_header_with_a_variable_in_its_name_is_named() -> None:
    """Broken if a note does not say which header is left out, and why."""
    header = [{"key": "X-{{id}}", "value": "1"}, {"key": "a b", "value": "1"}]
    source = source_of({"request": {"url": "http://a/b", "header": header}})
    written(read_postman, source)
    notes = "\n".join(source.lines())
    assert "a header is left out: the name 'X-{id}' must be constant" in notes
    assert "a header is left out: the name 'a b' must be" in notes


def test_a_request_that_is_a_text_has_the_credentials_of_the_collection() -> None:
    """Broken if a short request is sent without the token that Postman sends with it."""
    auth = {"type": "bearer", "bearer": [{"key": "token", "value": "{{token}}"}]}
    collection = {"info": {"name": "Shop"}, "auth": auth, "item": [{"request": "http://a/b"}]}
    text = written(read_postman, Source("shop.json", json.dumps(collection).encode()))
    assert 'client.get("/b", headers={"Authorization": f"Bearer {TOKEN}"})' in text
