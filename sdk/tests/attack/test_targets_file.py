"""Targets files: both formats are read as they are written, and anything else is an error."""

from __future__ import annotations

import base64
import io
import json
import re
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loadpilot.problem import Problem, Refused
from loadpilot.request.encoding import METHODS
from loadpilot.scenario_file.targets.request_list import CALLS_MAX, RequestList, Survey
from loadpilot.scenario_file.targets.target_request import TargetRequest
from loadpilot.scenario_file.targets.targets_file import (
    LINE_BYTES_MAX,
    PROBLEMS_MAX,
    TargetsFile,
    read_targets,
)

PLACE = re.compile(r"list:\d+:\d+")
WORD = st.text("abcxyz019-_", min_size=1, max_size=8)
HEADER = st.tuples(st.sampled_from(("X-A", "Accept", "x-lower", "Authorization")), WORD)
REQUESTS = st.lists(
    st.builds(
        TargetRequest,
        st.sampled_from(METHODS),
        st.sampled_from(("http://a.example", "http://b.example:8080")),
        st.builds("/{}{}".format, WORD, st.one_of(st.just(""), st.builds("?q={}".format, WORD))),
        st.lists(HEADER, max_size=3).map(tuple),
        st.binary(max_size=20),
    ),
    min_size=1,
    max_size=12,
)


def opened(content: bytes, folder: Path = Path(), name: str = "list") -> TargetsFile:
    return TargetsFile(io.BytesIO(content), name, folder)


def outcome(content: bytes) -> tuple[list[TargetRequest], list[Problem]]:
    """The requests of a list, or its mistakes."""
    try:
        return list(opened(content).requests()), []
    except Refused as refused:
        return [], refused.problems


def without_places(requests: list[TargetRequest]) -> list[TargetRequest]:
    return [
        TargetRequest(one.method, one.origin, one.path, one.headers, one.body) for one in requests
    ]


def as_json(request: TargetRequest) -> str:
    header: dict[str, list[str]] = {}
    for name, value in request.headers:
        header.setdefault(name, []).append(value)
    fields = {"method": request.method, "url": request.origin + request.path, "header": header}
    return json.dumps(fields | {"body": base64.b64encode(request.body).decode()})


def grouped(headers: tuple[tuple[str, str], ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in headers:
        found.setdefault(name, []).append(value)
    return found


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(requests=REQUESTS, between=st.lists(st.sampled_from(("", "  ", "# GET x")), max_size=3))
def test_a_list_of_text_is_read_as_it_was_written(
    requests: list[TargetRequest], between: list[str], tmp_path: Path
) -> None:
    """Broken if a request, a header or a body is lost, or belongs to the next target."""
    lines: list[str] = []
    for number, one in enumerate(requests):
        lines += [*between, f"{one.method} {one.origin}{one.path}"]
        lines += [f"{name}: {value}" for name, value in one.headers]
        if one.body:
            (tmp_path / str(number)).write_bytes(one.body)
            lines.append(f"@{number}")
        lines += [""] if one.headers or between else []
    read = opened("\n".join(lines).encode(), tmp_path).requests()
    assert without_places(list(read)) == requests


@settings(deadline=None)
@given(requests=REQUESTS)
def test_a_list_of_json_is_read_as_it_was_written(requests: list[TargetRequest]) -> None:
    """Broken if a field of a target in JSON is read as another one."""
    content = "\n".join(map(as_json, requests)).encode()
    read = list(opened(content).requests())
    for one, wanted in zip(read, requests, strict=True):
        assert grouped(one.headers) == grouped(wanted.headers)
    without = [TargetRequest(one.method, one.origin, one.path, (), one.body) for one in read]
    assert without == [
        TargetRequest(one.method, one.origin, one.path, (), one.body) for one in requests
    ]


VALID = b"""# a list
GET http://a.example/x?y=1
X-A: 1

POST http://b.example/
"""
AS_JSON = b'{"method": "GET", "url": "http://a/x", "header": {"X": ["1"]}, "body": "eHg="}\n' * 2
MUTATION = st.tuples(st.integers(0, 80), st.integers(0, 5), st.binary(max_size=6))


@settings(deadline=None, max_examples=300)
@given(
    content=st.one_of(
        st.binary(max_size=200),
        st.tuples(st.sampled_from((VALID, AS_JSON)), MUTATION).map(
            lambda one: one[0][: one[1][0]] + one[1][2] + one[0][one[1][0] + one[1][1] :]
        ),
        st.text(st.sampled_from('GET http://a\n@:# {}"'), max_size=60).map(str.encode),
    )
)
def test_any_bytes_are_requests_or_mistakes_with_a_place(content: bytes) -> None:
    """Broken if a damaged list ends in a traceback, or if a mistake has no line and column."""
    lines = content.count(b"\n") + 1
    requests, problems = outcome(content)
    assert len(problems) <= PROBLEMS_MAX
    for one in problems:
        assert PLACE.fullmatch(one.place), one
        assert 1 <= int(one.place.split(":")[1]) <= lines, one
    assert all(one.path.startswith("/") and one.method in METHODS for one in requests)


@pytest.mark.parametrize(
    ("content", "place", "what"),
    [
        ("\nGTE http://a/", "list:2:1", "the method must be one of"),
        ("get http://a/", "list:1:1", "write GET"),
        ("GET  /x", "list:1:6", "must be a URL"),
        ("GET http://a:b/", "list:1:5", "must be a URL"),
        ("GET http://u:secret@/", "list:1:5", "//…@"),
        ("GET http://u:secret/x@host/", "list:1:5", "(got 'http://…@host/')"),
        ("GET http://u:x@y:secret/z@host/", "list:1:5", "(got 'http://…@host/')"),
        ("GET u:secret@host/", "list:1:5", "(got '…@host/')"),
        ("http://u:secret@host/ x", "list:1:1", "(got 'http://…@host/')"),
        ("GET http://a/\nX-A 1", "list:2:1", "must be a header"),
        ("GET http://a/\nX-A: 1\nGET http://b/", "list:3:1", "a blank line ends a target"),
        ("GET http://a/\n  Content-Length: 4", "list:2:3", "the engine counts the body itself"),
        ("GET http://a/\n@../up.txt", "list:2:2", "must be a file in the folder"),
        ("GET http://a/\n@/etc/passwd", "list:2:2", "must be a file in the folder"),
        ("GET http://a/\n@none.txt", "list:2:2", "there is no file none.txt"),
        ('{"method": "GET", "url": "http://a/"', "list:1:37", "must be JSON"),
        ('{"method": "GET", "uri": "http://a/"}', "list:1:20", "did you mean url?"),
        ('{"method": "GET", "url": "http://a/", "body": "?"}', "list:1:40", "in base64"),
        ('{"method": "GET", "url": "http://a/", "header": {"A": "b"}}', "list:1:40", "header must"),
    ],
)
def test_a_mistake_has_its_line_and_column(
    content: str, place: str, what: str, tmp_path: Path
) -> None:
    """Broken if the author of a long list has to search for a mistake."""
    with pytest.raises(Refused) as refused:
        list(opened(content.encode(), tmp_path).requests())
    (one,) = refused.value.problems
    assert one.place == place
    assert what in one.what
    assert "secret" not in one.what


def test_a_body_outside_of_the_folder_is_refused_behind_a_link_too(tmp_path: Path) -> None:
    """Broken if a list from another author could send any file of this machine."""
    folder = tmp_path / "list"
    folder.mkdir()
    (tmp_path / "own.txt").write_text("mine", encoding="utf-8")
    (folder / "link").symlink_to(tmp_path / "own.txt")
    with pytest.raises(Refused, match="must be a file in the folder"):
        list(opened(b"PUT http://a/\n@link", folder).requests())


def test_every_mistake_is_named_up_to_a_limit() -> None:
    """Broken if only one mistake of a list is reported per run."""
    with pytest.raises(Refused) as refused:
        list(opened(b"GTE http://a/\nA b\n\nGET ftp://x\n").requests())
    assert [one.place for one in refused.value.problems] == ["list:1:1", "list:2:1", "list:4:5"]
    with pytest.raises(Refused) as refused:
        list(opened(b"GTE http://a/\n" * 100).requests())
    assert len(refused.value.problems) == PROBLEMS_MAX


def test_credentials_of_a_url_are_a_header(tmp_path: Path) -> None:
    """Broken if a password is sent in a path, or not at all."""
    path = tmp_path / "list.txt"
    path.write_text("GET http://me:p%40ss@a:81/x#y\n", encoding="utf-8")
    (one,) = read_targets(path)
    assert (one.origin, one.path) == ("http://a:81", "/x")
    assert one.headers == (("Authorization", f"Basic {base64.b64encode(b'me:p@ss').decode()}"),)


class Lines(io.RawIOBase):
    """A long list that is generated on reading and never in memory as a whole."""

    def __init__(self, count: int) -> None:
        self._count, self._at = count, 0

    def seek(self, _place: int, _whence: int = 0) -> int:
        self._at = 0
        return 0

    def readline(self, _size: int | None = -1) -> bytes:
        self._at += 1
        if self._at > self._count:
            return b""
        return f"GET http://a.example/users/{self._at}/orders?q={self._at}\n".encode()


@pytest.mark.slow
def test_memory_does_not_grow_with_a_list() -> None:
    """Broken if a list, or the calls that it is reported as, are held in memory."""

    def peak(count: int) -> int:
        targets = TargetsFile(Lines(count), "list", Path())  # type: ignore[arg-type]
        tracemalloc.start()
        listed = RequestList(Survey.of(targets))
        written = sum(1 for _ in listed.rows(targets))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert written == count
        assert [step["name"] for step in listed.steps] == ["GET /users/{id}/orders"]
        return peak

    peak(500)
    assert peak(8_000) < peak(500) + 64 * 1024
    with pytest.raises(Refused, match="list:1:1: the line is longer"):
        list(opened(b"x" * (LINE_BYTES_MAX + 1)).requests())


@settings(deadline=None)
@given(requests=REQUESTS)
def test_rows_are_the_requests_in_their_order(requests: list[TargetRequest]) -> None:
    """Broken if a row and its step together make another request than the list."""
    targets = opened("\n".join(map(as_json, requests)).encode())
    listed = RequestList(Survey.of(targets))
    rows = [json.loads(row) for row in listed.rows(targets)]
    secrets = listed.secrets.values()
    origins = list(listed.survey.origins)
    for row, wanted in zip(rows, requests, strict=True):
        step = listed.steps[row["step"]]
        headers = row.get("headers", step.get("headers", []))
        found: dict[str, list[str]] = {}
        for one in headers:
            value = one["value"]
            text = value if isinstance(value, str) else secrets[value["secret"]]
            found.setdefault(one["name"], []).append(text)
        body = row.get("body", step.get("body", {"text": ""}))
        content = base64.b64decode(body["base64"]) if "base64" in body else body["text"].encode()
        assert (step["method"], origins[step.get("target", 0)]) == (wanted.method, wanted.origin)
        assert row.get("path", step["path"]) == wanted.path
        assert (found, content) == (grouped(wanted.headers), wanted.body)
    assert len(listed.steps) <= CALLS_MAX
