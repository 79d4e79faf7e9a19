"""A scenario that was written from a file of another tool sends the requests of that file."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.imports.request_comparison import fnv1a, seen
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot

FILES = Path(__file__).parents[3] / "sdk" / "tests" / "imports" / "files"
NAMED = "http://127.0.0.1:8000"
"""The target that the files name."""
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
SECRETS = {"TOKEN": "token-of-ann", "X_API_KEY": "k-123456", "SECURITY_KEY": "k-765432"}


@dataclass(frozen=True)
class Expected:
    """The requests of a file, written by hand."""

    file: str
    requests: list[tuple[str, str, bytes]]
    """Method, path and body."""
    headers: list[dict[str, str]]
    """Headers that each request must have."""
    load: tuple[str, ...] = ("--rps", "1", "--duration", "1s", "--mode", "constant")
    """Flags with which each task runs once."""
    is_ordered: bool = True
    user_stages: str = ""
    """The closed loop of the scenario, which the test replaces by one arrival."""
    beside: dict[str, str] = field(default_factory=dict)
    """Files beside the scenario."""


KINDS = {
    "har": Expected(
        "shop.har",
        [
            ("GET", "/products?page=1", b""),
            ("POST", "/api/basket/42/items", b'{"product":7,"count":1.5}'),
            ("POST", "/search", b"q=dark+blue&n=5"),
        ],
        [
            {},
            {"content-type": JSON, "x-requested-with": "XMLHttpRequest"},
            {"content-type": FORM, "accept": JSON},
        ],
    ),
    "postman": Expected(
        "shop.postman_collection.json",
        [
            ("GET", "/products?page=1&city=New+York", b""),
            ("GET", "/products/17", b""),
            ("POST", "/api/orders", b'{"product":7,"city":"New York"}'),
            ("POST", "/profile", b"name=Ann"),
        ],
        [
            {"accept": JSON},
            {},
            {"content-type": JSON, "authorization": "Bearer token-of-ann"},
            {"content-type": FORM, "x-api-key": "k-123456"},
        ],
        ("--rps", "2", "--duration", "1s", "--mode", "constant"),
        is_ordered=False,
    ),
    "targets": Expected(
        "shop.targets",
        [
            ("GET", "/products?page=1", b""),
            ("GET", "/products?page=1", b""),
            ("POST", "/api/orders", b'{"product":7}'),
            ("PUT", "/products/17", b"a photo\n"),
        ],
        [
            {"x-trace": "vegeta"},
            {"x-trace": "vegeta"},
            {"content-type": JSON},
            {"x-api-key": "k-123456"},
        ],
        ("--rps", "4", "--duration", "1s", "--mode", "constant"),
        is_ordered=False,
    ),
    "openapi": Expected(
        "shop.openapi.yaml",
        [
            ("GET", "/products?page=1&tag=new&tag=red", b""),
            ("GET", "/products/boots%207", b""),
            (
                "PUT",
                "/products/boots%207",
                b'{"name":"boots","price":9.5,"made":"2026-11-01","parts":[%b]}'
                % b'{"size":42,"colour":"red"}',
            ),
            ("POST", "/profile", b"name=Ann&since=2026-01-31"),
        ],
        [
            {},
            {},
            {"content-type": JSON, "x-trace": "yes-please", "x-api-key": "k-765432"},
            {"content-type": FORM, "x-api-key": "k-765432"},
        ],
        ("--rps", "4", "--duration", "1s", "--mode", "constant"),
        is_ordered=False,
    ),
    "jmx": Expected(
        "shop.jmx",
        [
            ("GET", "/products?page=1&city=New+York", b""),
            ("POST", "/api/orders", b'{"product":7,"user":"ann"}'),
            ("POST", "/profile/ann", b"town=Rome"),
        ],
        [
            {"x-trace": "jmeter & co"},
            {"x-trace": "jmeter & co", "content-type": JSON},
            {"content-type": FORM},
        ],
        user_stages='user_stages=[("10s", 4), ("50s", 4)]',
        beside={"users.csv": "user,town\nann,Rome\n"},
    ),
    "k6": Expected(
        "shop.k6.js",
        [
            ("GET", "/products?page=1", b""),
            ("POST", "/api/orders", b'{"product":7,"tags":["a","b\\n"]}'),
            ("POST", "/profile", b"city=New+York"),
            ("GET", "/a", b""),
            ("PUT", "/b", b'{"on":true}'),
            ("GET", "/c", b""),
            ("DELETE", "/orders/3", b""),
        ],
        [
            {},
            {"content-type": JSON, "x-trace": "k6"},
            {"content-type": FORM},
            {},
            {"content-type": JSON, "x-trace": "k6"},
            {},
            {},
        ],
        user_stages='user_stages=[("10s", 5), ("20s", 5)]',
        is_ordered=False,  # three of them are sent at the same time
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_requests_are_those_of_the_file(
    loadpilot: Loadpilot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Broken if a request of the file is lost, changed, or sent in another order. 3 s each."""
    expected = KINDS[kind]
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    scenario = tmp_path / "scenario.py"
    for name, text in expected.beside.items():
        (tmp_path / name).write_text(text)
    written = loadpilot.call("import", kind, str(FILES / expected.file), "-o", str(scenario))
    assert written.code == 0, written.stderr
    assert "k-123" not in written.stderr + scenario.read_text()
    text = scenario.read_text()
    assert expected.user_stages in text
    scenario.write_text(text.replace(expected.user_stages or "rps=1", "rps=1"))
    with Oracle(built_binary(), tmp_path / "o.jsonl", log_headers=True) as oracle:
        finished = loadpilot.run(scenario, oracle.url, *expected.load)
        assert finished.judged == 0, finished.stderr
        requests = oracle.requests()
    wanted = [
        (method, path, len(body), fnv1a(body), tuple(sorted(headers.items())))
        for (method, path, body), headers in zip(expected.requests, expected.headers, strict=True)
    ]
    names = [{name for name, _ in one[4]} for one in wanted]
    found = seen(requests, {name for some in names for name in some})
    by_request = {(one[:4]): some for one, some in zip(wanted, names, strict=True)}
    found = [
        (*one[:4], tuple(pair for pair in one[4] if pair[0] in by_request.get(one[:4], set())))
        for one in found
    ]
    if expected.is_ordered:
        assert found == wanted
    else:
        assert sorted(found) == sorted(wanted)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl: sudo apt-get install curl")
def test_the_requests_are_those_that_curl_itself_sends(
    loadpilot: Loadpilot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a scenario sends other requests than the curl commands that it was made from.
    4 s."""
    monkeypatch.setenv("PASSWORD", "wonder")
    (tmp_path / "photo.txt").write_text("a photo\n")
    names = {"accept", "authorization", "content-type", "x-trace"}
    with Oracle(built_binary(), tmp_path / "curl.jsonl", log_headers=True) as oracle:
        script = tmp_path / "shop.sh"
        script.write_text((FILES / "shop.sh").read_text().replace(NAMED, oracle.url))
        subprocess.run(
            ["bash", "-c", f"jq() {{ cat >/dev/null; }}; . {script}"],  # noqa: S607
            cwd=tmp_path,
            check=True,
            capture_output=True,
            timeout=60,
        )
        wanted = seen(oracle.requests(), names, defaults={"accept": "*/*"})
    scenario = tmp_path / "scenario.py"
    written = loadpilot.call("import", "curl", str(FILES / "shop.sh"), "-o", str(scenario))
    assert written.code == 0, written.stderr
    with Oracle(built_binary(), tmp_path / "run.jsonl", log_headers=True) as oracle:
        finished = loadpilot.run(scenario, oracle.url, *KINDS["har"].load)
        assert finished.judged == 0, finished.stderr
        found = seen(oracle.requests(), names, defaults={"accept": "*/*"})
    assert len(wanted) == 16
    assert found == wanted


def test_reasons_are_named_where_nothing_is_left(loadpilot: Loadpilot, tmp_path: Path) -> None:
    """Broken if the command refuses a file without saying which of its requests it left out."""
    commands = tmp_path / "a.sh"
    commands.write_text("curl -X PURGE http://127.0.0.1:8801/x\n")
    refused = loadpilot.call("import", "curl", str(commands))
    assert refused.code == 2
    why, nothing = (
        refused.stderr.index(one)
        for one in ("PURGE requests are left out", "no request that can be carried over")
    )
    assert why < nothing
