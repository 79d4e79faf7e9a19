"""Constants of k6 scripts: their value in JavaScript."""

from __future__ import annotations

import re

import pytest
from sdk.tests.support.imported_scenario import written

from loadpilot.scenario_file.imports.readers.k6.reader import read_k6
from loadpilot.scenario_file.imports.source import Source


def scenario(statements: str) -> str:
    """Write the scenario of a default function."""
    script = f"import http from 'k6/http';\nexport default function () {{ {statements} }}\n"
    return written(read_k6, Source("shop.js", script.encode()))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("52.5200066", "52.5200066"),
        ("1234567.5", "1234567.5"),
        ("2.0", "2"),
        ("0.1 + 0.2", "0.30000000000000004"),
        ("0.000001", "0.000001"),
        ("1.5e-7", "1.5e-7"),
        ("123456789012345680000", "123456789012345680000"),
        ("12345678901234567", "12345678901234568"),
        ("1e21", "1e+21"),
        ("1.25e22", "1.25e+22"),
        ("0.0", "0"),
        ("1e2", "100"),
    ],
)
def test_numbers_are_written_as_javascript_does(number: str, text: str) -> None:
    """Broken if a number is rounded, or has another form than k6 sends."""
    sent = scenario(f"http.post('http://a/b', {{ n: {number}, s: String({number}) }});")
    assert f'data={{"n": "{text}", "s": "{text}"}}' in sent
    sent = scenario(f"http.get(`http://a/b/${{{number}}}/c`);")
    assert f'"/b/{text}/c"' in sent
    body = "JSON.stringify({ n: NUMBER }), { headers: { 'Content-Type': 'application/json' } }"
    sent = scenario(f"http.post('http://a/b', {body.replace('NUMBER', number)});")
    assert [float(one) for one in re.findall(r'"n": ?([^},]+)', sent)] == [float(text)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"'\ud83d\ude00'", "\U0001f600"),
        (r"`\ud83d\ude00`", "\U0001f600"),
        (r"'\u{1F600}'", "\U0001f600"),
        (r"'\ude00'", "\ufffd"),
        ("encodeURIComponent('a&b c/\u00e9!')", "a%26b%20c%2F%C3%A9!"),
        ("encodeURIComponent(2.50)", "2.5"),
    ],
)
def test_texts_are_those_of_javascript(text: str, value: str) -> None:
    """Broken if an escaped letter is lost, or if a field of a query is split at characters of its
    value."""
    assert f'"q": "{value}"' in scenario(f"http.post('http://a/b', {{ q: {text} }});")


def test_an_encoded_field_stays_whole() -> None:
    """Broken if a value with & becomes two fields of a query."""
    sent = scenario("http.get(`http://a/b?q=${encodeURIComponent('a&b')}&n=1`);")
    assert 'params={"q": "a&b", "n": "1"}' in sent


def test_requests_with_names_of_their_own_are_no_loop() -> None:
    """Broken if requests are reported under the name of the first one."""
    names = ("first", "second", "third")
    calls = [
        f"http.get('http://a/b/{at}', {{ tags: {{ name: '{name}' }} }});"
        for at, name in enumerate(names, 1)
    ]
    sent = scenario(" ".join(calls))
    assert [name for name in names if f'name="{name}"' in sent] == list(names)


def test_a_value_of_a_response_keeps_its_type() -> None:
    """Broken if a number of a response is sent as a text by JSON.stringify."""
    body = "JSON.stringify({ id: order }), { headers: { 'Content-Type': 'application/json' } }"
    sent = scenario(
        f"const order = http.get('http://a/b').json('id'); http.post('http://a/c', {body});"
    )
    assert 'json={"id": order}' in sent
