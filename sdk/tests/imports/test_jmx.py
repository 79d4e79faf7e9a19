"""Functions, controllers and arguments of JMeter test plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sdk.tests.support.imported_scenario import written

from loadpilot.problem import Refused
from loadpilot.scenario_file.imports.readers.jmx.reader import read_jmx
from loadpilot.scenario_file.imports.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable

PLAN = """<jmeterTestPlan><hashTree><TestPlan/><hashTree><ThreadGroup testname="Users"/><hashTree>
{}
</hashTree></hashTree></hashTree></jmeterTestPlan>"""


def scenario(elements: str, encoding: str = "utf-8", head: str = "") -> tuple[str, list[str]]:
    """Write the scenario of the elements of a thread group; returns the notes as well."""
    source = Source("shop.jmx", (head + PLAN.format(elements)).encode(encoding))
    return written(read_jmx, source), list(source.lines())


def argument(value: str, name: str = "", always_encode: str = "true") -> str:
    """Write an argument."""
    return f"""<elementProp name="q" elementType="HTTPArgument">
        <boolProp name="HTTPArgument.always_encode">{always_encode}</boolProp>
        <stringProp name="Argument.name">{name}</stringProp>
        <stringProp name="Argument.value">{value}</stringProp></elementProp>"""


def sampler(
    method: str = "GET",
    arguments: Iterable[str] = (),
    flags: Iterable[str] = (),
    below: str = "",
) -> str:
    """Write a sampler."""
    return f"""<HTTPSamplerProxy testname="a"><stringProp name="HTTPSampler.path">/b</stringProp>
        <stringProp name="HTTPSampler.domain">a</stringProp>
        <stringProp name="HTTPSampler.method">{method}</stringProp>
        {"".join(f'<boolProp name="HTTPSampler.{one}">true</boolProp>' for one in flags)}
        <elementProp name="HTTPsampler.Arguments" elementType="Arguments">
        <collectionProp name="Arguments.arguments">{"".join(arguments)}</collectionProp>
        </elementProp></HTTPSamplerProxy><hashTree>{below}</hashTree>"""


@pytest.mark.parametrize("code", ["__time", "__time()", "__time(,)", "__time(,now)"])
def test_a_time_without_a_format_is_in_milliseconds(code: str) -> None:
    """Broken if a time that a plan sends is left out."""
    text, notes = scenario(sampler(arguments=[argument(f"${{{code}}}", "q")]))
    assert "int(now().timestamp() * 1000)" in text
    assert not notes


@pytest.mark.parametrize("code", ["__time(yyyyMMdd)", "__time(YMD,day)", "__time(/1000,)"])
def test_a_time_with_a_format_is_noted(code: str) -> None:
    """Broken if milliseconds are sent in place of a date, without a note."""
    text, notes = scenario(sampler(arguments=[argument(f"${{{code}}}", "q")]))
    assert "timestamp" not in text
    assert any(f"{code!r} is not carried over" in one for one in notes)


COOKIE = """<CookieManager><collectionProp name="CookieManager.cookies">
    <elementProp name="theme" elementType="Cookie"><stringProp name="Cookie.value">dark
    </stringProp></elementProp></collectionProp></CookieManager><hashTree/>"""


@pytest.mark.parametrize(
    ("elements", "what"),
    [
        (f"<RandomController/><hashTree>{sampler()}</hashTree>", "RandomController"),
        (COOKIE + sampler(), "the cookie 'theme'"),
        (sampler(flags=["auto_redirects"]), "automatic redirects"),
    ],
)
def test_what_a_plan_does_otherwise_is_noted(elements: str, what: str) -> None:
    """Broken if a part of a plan is left out without a note."""
    text, notes = scenario(elements)
    assert "client.get" in text
    assert ("follow_redirects=True" in text) == ("redirects" in what)
    assert [what in one for one in notes] == [True]
    _, notes = scenario("<CookieManager/><hashTree/>" + sampler(flags=["follow_redirects"]))
    assert not notes


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_argument_is_encoded_once(method: str) -> None:
    """Broken if an encoded argument is encoded again, or if an argument that is not encoded is
    decoded."""
    arguments = [argument("a%20b", "p%5B%5D", "false"), argument("c%20d", "q")]
    text, _ = scenario(sampler(method, arguments))
    assert '={"p[]": "a b", "q": "c%20d"}' in text


def test_a_value_in_quotes_is_sent_as_text() -> None:
    """Broken if a number of a response loses the quotes that the plan has around it."""
    extractor = """<JSONPostProcessor>
        <stringProp name="JSONPostProcessor.referenceNames">order</stringProp>
        <stringProp name="JSONPostProcessor.jsonPathExprs">$.id</stringProp>
        </JSONPostProcessor><hashTree/>"""
    header = """<HeaderManager><collectionProp name="HeaderManager.headers"><elementProp name="">
        <stringProp name="Header.name">Content-Type</stringProp>
        <stringProp name="Header.value">application/json</stringProp>
        </elementProp></collectionProp></HeaderManager><hashTree/>"""
    body = argument('{"id": "${order}"}')
    second = sampler("POST", [body], ["postBodyRaw"], header)
    text, _ = scenario(sampler(below=extractor) + second)
    assert 'json={"id": f"{order}"}' in text


@pytest.mark.parametrize(
    ("encoding", "value", "is_noted"),
    [
        ("ISO-8859-1", "gr\xfcn", True),
        ("ISO-8859-1", "${colour}", True),
        ("no-such", "green", True),
        ("ISO-8859-1", "green", False),
        ("utf8", "gr\xfcn ${colour}", False),
    ],
)
def test_another_encoding_of_a_body_is_noted(encoding: str, value: str, *, is_noted: bool) -> None:
    """Broken if other bytes than in JMeter are sent without a note."""
    sent = sampler("POST", [argument(value, "q")])
    prop = f'<stringProp name="HTTPSampler.contentEncoding">{encoding}</stringProp>'
    _, notes = scenario(sent.replace("<stringProp", f"{prop}<stringProp", 1))
    what = f"the encoding {encoding!r} is not carried over: texts are sent as UTF-8"
    assert [what in one for one in notes] == [True] * is_noted


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "UTF-16", "windows-1252", "utf-8-sig"])
def test_a_plan_is_read_in_the_encoding_that_it_declares(encoding: str) -> None:
    """Broken if a plan of an editor that writes no UTF-8 is refused, or read wrongly."""
    head = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>'
    text, _ = scenario(sampler("POST", [argument("gr\xfcn", "q")]), encoding, head)
    assert 'data={"q": "gr\xfcn"}' in text


@pytest.mark.parametrize("declared", ["no-such", "gb18030", "base64"])
def test_an_encoding_that_cannot_be_read_is_named(declared: str) -> None:
    """Broken if such a plan ends the command with a traceback."""
    head = f'<?xml version="1.0" encoding="{declared}"?>'
    with pytest.raises(Refused, match=f"declares the encoding '{declared}'.*save it as UTF-8"):
        scenario(sampler(), head=head)
    with pytest.raises(Refused, match=r"line 3, column 1: is not XML: not well-formed"):
        scenario("\n\xff", "latin-1")
