"""The requests of a scenario, compared with the file of another tool: bodies, cookies, secrets."""

from __future__ import annotations

import functools
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from sdk.tests.imports.test_bad_files import FILES, written

from loadpilot.problem import Refused
from loadpilot.scenario_file.imports.readers.curl.reader import read_curl
from loadpilot.scenario_file.imports.readers.har import read_har
from loadpilot.scenario_file.imports.readers.jmx.reader import read_jmx
from loadpilot.scenario_file.imports.readers.k6.reader import read_k6
from loadpilot.scenario_file.imports.readers.postman.reader import read_postman
from loadpilot.scenario_file.imports.source import Source

if TYPE_CHECKING:
    from sdk.tests.conftest import Compile

JSON_WEB_TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc"  # noqa: S105


def of_curl(text: str) -> str:
    """Return the scenario of curl commands."""
    return written(read_curl, Source("shop.sh", text.encode()))


def of_har(*entries: dict[str, Any]) -> str:
    """Return the scenario of a recording."""
    content = json.dumps({"log": {"entries": entries}}).encode()
    return written(functools.partial(read_har, with_assets=False), Source("shop.har", content))


def entry(
    url: str,
    *,
    status: int = 200,
    cookie: str = "",
    sets: str = "",
    method: str = "GET",
    posted: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return one entry of a HAR file."""
    headers = [{"name": "Cookie", "value": cookie}] if cookie else []
    request = {"method": method, "url": url, "headers": headers}
    return {
        "startedDateTime": "2026-11-26T10:00:00.000+01:00",
        "time": 1,
        "request": request | ({"postData": posted} if posted else {}),
        "response": {
            "status": status,
            "headers": [{"name": "Set-Cookie", "value": sets}] if sets else [],
            "content": {"mimeType": "application/json"},
        },
    }


def test_cookies_of_a_recording_are_beside_those_that_the_target_sets() -> None:
    """Broken if a recorded header replaces the session that a login set."""
    text = of_har(
        entry("http://h/login", status=302, sets="sid=s1; Path=/", cookie="lang=de"),
        entry("http://h/home", cookie="sid=s1; lang=de"),
    )
    assert 'response = client.get("/login", cookies={"lang": LANG_COOKIE})' in text
    assert 'client.get("/home", cookies={"lang": LANG_COOKIE})' in text
    assert text.count("raise_for_status") == 1
    assert "headers" not in text


def test_only_the_target_itself_sets_cookies_and_only_where_it_did_not_fail() -> None:
    """Broken if a scenario expects a cookie from a response that never comes, or that fails each
    time."""
    text = of_har(
        entry("http://sso/login", sets="sso=x1"),
        entry("http://h/missing", status=404, sets="trace=x2"),
        entry("http://h/home", cookie="sso=x1; trace=x2"),
    )
    assert 'cookies={"sso": SSO_COOKIE, "trace": TRACE_COOKIE}' in text
    assert "raise_for_status" not in text
    assert "x1" not in text
    assert "x2" not in text


XML = "curl http://h/a -H 'Content-Type: text/xml' "
SECRETS = {
    "a query that stays as it is": "curl 'http://h/q?api_key=hunter2&next=/home'",
    "a number": """curl http://h/a --json '{"password":4711,"api_key":"hunter2"}'""",
    "JSON of a form": """curl http://h/a -d '{"password": "hunter2", "token": 4711}'""",
    "JSON as text": """curl http://h/a -H 'Content-Type: text/plain' -d '{"password":"hunter2"}'""",
    "lines": """curl http://h/a -H 'Content-Type: application/x-ndjson' --data-binary '{"n":1}
{"password":"hunter2"}'""",
    "an element": XML + "-d '<w:Password w:type=\"text\">hunter2</w:Password>'",
    "an attribute": XML + "-d '<user password=\"hunter2\">Ann</user>'",
    "a form out of order": "curl http://h/a -d 'a=1&b=2&a=3&password=hunter2'",
    "a part": """curl http://h/a -F 'm={"password":"hunter2"};type=application/json'""",
    "a variable": "PASSWORD=hunter2\ncurl http://h/login/$PASSWORD",
    "a part of a variable": "Q='a=/b&api_key=hunter2'\ncurl http://h/q?$Q",
    "a part of a header": "curl http://h/a -e 'http://h/b?access_token=hunter2'",
    "an escaped text": XML + """-d '{"password":"hunter2 \\" 4711"}'""",
    "a token": f"curl http://h/verify/{JSON_WEB_TOKEN}/hunt",
}
HIDDEN = ("hunter2", "4711", JSON_WEB_TOKEN, "hbg")


@pytest.mark.parametrize("what", SECRETS)
def test_no_secret_is_written(what: str) -> None:
    """Broken if the scenario contains the value of a secret of the file, or has no parameter for
    it."""
    text = of_curl(SECRETS[what])
    assert not [one for one in HIDDEN if one in text.lower() or one in text]
    assert "secret=True" in text


def test_secrets_of_other_files_are_not_written() -> None:
    """Broken if the reader of another kind of file overlooks a secret."""
    har = of_har(entry("http://h/q?access_token=hunter2&next=/home"))
    script = 'import http from "k6/http";\nexport default function () {\n'
    script += '  http.post("http://h/a", JSON.stringify({password: "hunter2"}));\n}\n'
    k6 = written(read_k6, Source("shop.js", script.encode()))
    raw = {"mode": "raw", "raw": '{"a": {{PASSWORD}}'}
    items = [{"name": "a", "request": {"method": "POST", "url": "http://h/a", "body": raw}}]
    collection = {
        "info": {"name": "shop"},
        "item": items,
        "variable": [{"key": "PASSWORD", "value": "hunter2"}],
    }
    content = json.dumps(collection).encode()
    postman = written(read_postman, Source("shop.json", content))
    for text in (har, k6, postman):
        assert "hunter2" not in text
        assert "secret=True" in text


def test_basic_credentials_are_user_and_password_where_they_can_be_read() -> None:
    """Broken if the value of a header with credentials is written, under any name."""
    text = of_curl(
        """curl http://h/a -H 'Authorization: Basic YW5uOmh1bnRlcjI='
        curl http://h/b -H 'Authorization: Basic YW5u'
        curl http://h/c -H 'X-Api-Key: Basic YW5u'"""
    )
    assert 'auth=("ann", PASSWORD)' in text
    assert 'headers={"Authorization": AUTHORIZATION}' in text
    assert 'headers={"X-Api-Key": AUTHORIZATION}' in text
    assert "YW5u" not in text


BODIES = {
    """-d '{"q":"a=b"}'""": """content='{"q":"a=b"}'""",
    '-d "$BODY"': "content=BODY",
    "-d 'i[][a]=1&i[][b]=2&i[][a]=3'": 'content="i[][a]=1&i[][b]=2&i[][a]=3"',
    "-d 'a=1&a=2&b=3'": 'data={"a": ["1", "2"], "b": "3"}',
    "-F 'm={};type=application/json'": 'files={"m": (None, "{}", "application/json")}',
    "-F a=1": 'files={"a": (None, "1")}',
    "-F a=1 -F b=2 -F a=3": 'files=[("a", (None, "1")), ("b", (None, "2")), ("a", (None, "3"))]',
    '"http://h/b?$QUERY"': 'client.get(f"/b?{QUERY}")',
}


@pytest.mark.parametrize("flags", BODIES)
def test_a_body_is_sent_as_curl_sends_it(flags: str) -> None:
    """Broken if a text without fields is split into fields, or if fields lose their order or become
    a form."""
    text = of_curl(f"curl http://h/a {flags}")
    assert BODIES[flags] in " ".join(text.split()).replace("( ", "(").replace(" )", ")")


@pytest.mark.parametrize(
    ("names", "wanted"),
    [(("{{k}}", "b"), 'data={K: "1", "b": "1"}'), (("a", "b", "a"), 'content="a=1&b=1&a=1"')],
)
def test_fields_of_a_collection_keep_their_names_and_order(
    names: tuple[str, ...], wanted: str
) -> None:
    """Broken if a variable in a name is lost, or if a repeated field is moved next to the first."""
    fields = [{"key": name, "value": "1"} for name in names]
    body = {"mode": "urlencoded", "urlencoded": fields}
    items = [{"name": "a", "request": {"method": "POST", "url": "http://h/a", "body": body}}]
    content = json.dumps({"info": {"name": "shop"}, "item": items}).encode()
    assert wanted in written(read_postman, Source("shop.json", content))


def test_fields_of_other_files_are_multipart_where_the_file_says_so(compile_text: Compile) -> None:
    """Broken if a form without a file is sent as another type than in the file."""
    params = [{"name": "a", "value": "1"}]
    posted = {"mimeType": "multipart/form-data; boundary=x", "params": params}
    har = of_har(entry("http://h/a", method="POST", posted=posted))
    assert 'files={"a": (None, "1")}' in har
    (step,) = compile_text(har).plan["tasks"][0]["steps"]
    kinds = [one["value"] for one in step["headers"] if one["name"].lower() == "content-type"]
    assert kinds[0].startswith("multipart/form-data; boundary=")
    flag = '<boolProp name="HTTPSampler.DO_MULTIPART_POST">true</boolProp>'
    plan = (FILES / "shop.jmx").read_text(encoding="utf-8")
    begin = plan.index("<HTTPSamplerProxy", plan.index("/profile") - 2_000)
    end = plan.index(">", plan.rindex("<HTTPSamplerProxy", begin, plan.index("/profile"))) + 1
    jmx = written(read_jmx, Source("shop.jmx", (plan[:end] + flag + plan[end:]).encode()))
    assert "files={" in jmx


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("curl http://h/a -d @- <<EOF\nit's one line\nEOF\ncurl http://h/b", "standard input"),
        ("curl http://h/a -F f=@-", "standard input"),
        ("curl http://h/a -T -", "standard input"),
        ("curl http://h/a -d a=1 -d @f -d b=2", "from one file alone"),
        ("curl http://h/a -G -d @f", "from one file alone"),
    ],
)
def test_a_body_that_is_not_known_is_refused(command: str, says: str) -> None:
    """Broken if a part of a body is lost, or if its lines are read as commands."""
    with pytest.raises(Refused, match=says):
        of_curl(command)


def test_a_here_document_holds_no_commands() -> None:
    """Broken if its lines are requests, or its quotes end the import."""
    text = of_curl("cat <<EOF >f\ncurl http://h/no\nit's\nEOF\ncurl http://h/yes --max-filesize 10")
    assert "/no" not in text
    assert '"/yes"' in text


@pytest.mark.parametrize("count", [100, 101, 2_001])
def test_a_scenario_of_many_requests_is_compiled(compile_text: Compile, count: int) -> None:
    """Broken if the command refuses its own output."""
    text = of_curl("".join(f"curl http://h/a{number}b\n" for number in range(count)))
    plan = compile_text(text).plan
    assert len(plan["tasks"][0]["steps"]) == (count if count <= 100 else 0)
    assert ("code" in plan or "script" in plan) == (count > 100)


def of_urls(*urls: str) -> tuple[str, list[str]]:
    """Return the scenario of a collection without values for its variables, and its notes."""
    items = [{"request": {"url": url}} for url in urls]
    content = json.dumps({"info": {"name": "shop"}, "item": items}).encode()
    source = Source("shop.json", content)
    return written(read_postman, source), list(source.lines())


LITERAL = "http://h:8801/"


@pytest.mark.parametrize(
    ("urls", "kept", "target", "left_out"),
    [
        ((f"{LITERAL}a", f"{LITERAL}b", "https://{{pay}}/c"), "ab", "http://h:8801", "{pay}"),
        (("{{base}}/a", "{{base}}/b"), "ab", None, None),
        (("{{base}}/a", "{{base}}/b", f"{LITERAL}c"), "ab", None, "http://h:8801"),
        (("https://{{t}}.a.example/a", "https://{{t}}.b.example/b"), "a", None, "{t}.b.example"),
        (("/a", f"{LITERAL}b", "{{other}}/c"), "ab", "http://h:8801", "{other}"),
    ],
)
def test_a_host_in_a_variable_is_an_origin_of_its_own(
    urls: tuple[str, ...], kept: str, target: str | None, left_out: str | None
) -> None:
    """Broken if a request, and its token, goes to a target that it is not meant for."""
    text, notes = of_urls(*urls)
    assert re.findall(r'client\.get\("/(\w+)"', text) == list(kept)
    assert (f"go to {target!r}".replace("'", '"') in text) == (target is not None)
    assert any("name it with --target" in note for note in notes) == (target is None)
    out = [note for note in notes if "are left out: a scenario has one target" in note]
    assert len(out) == (left_out is not None)
    assert all(left_out in note for note in out if left_out)
