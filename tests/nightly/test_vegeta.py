"""Vegeta beside `loadpilot attack`: the same list sends the same requests in the same order, and
vegeta reads the output of an attack through a pipe.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.e2e.load.test_attack import attack, number
from tests.e2e.support.command import COMMAND
from tests.e2e.support.fixtures import loadpilot, oracle
from tests.nightly.test_readers import FETCH_S, VEGETA, fetched, tool
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Request

__all__ = ["loadpilot", "oracle"]

pytestmark = [pytest.mark.long, pytest.mark.timeout(2 * FETCH_S)]

RATE = 30
TEXT = """
# a list with all that there is
GET {url}/a?x=1&y=%20z
HEAD {url}/b
GET http://me:pass@{host}/c
X-Account-ID: 8675309
# of the same target
x-lower: 1
X-Twice: 1
X-Twice: 2

POST {url}/things
X-Account-ID: 99
@new.json
PUT {url}/things/7#part
@empty.txt
DELETE {url}/things/7
Authorization: Token DEADBEEF

GET {url}
"""
JSON = """
{{"method": "POST", "url": "{url}/j", "body": "AAECww==", "header": {{"X-A": ["1", "2"]}}}}

{{"method": "GET", "url": "{url}/k?q=1"}}
"""


@pytest.fixture(scope="module")
def vegeta(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The program vegeta, built from the Go module proxy."""
    go, folder = tool("go", "apt-get install golang"), tmp_path_factory.mktemp("bin")
    install = ["env", f"GOBIN={folder}", go, "install", VEGETA]
    fetched(install, "vegeta from the Go module proxy")
    return str(folder / "vegeta")


def sent(request: Request) -> tuple[object, ...]:
    """The request as the list describes it."""
    ours = ("x-", "authorization", "content-type", "content-length")
    headers = sorted(
        (name, value)
        for name, value in request.headers or ()
        if name.startswith(ours) and name not in ("x-request-id", "x-vegeta-seq")
    )
    return (request.method, request.path, request.body_len, request.body_fnv1a, *headers)


@pytest.mark.parametrize(("form", "text"), [("http", TEXT), ("json", JSON)])
def test_the_same_list_sends_the_same_requests_in_the_same_order(
    form: str, text: str, vegeta: str, loadpilot: Loadpilot, tmp_path: Path
) -> None:
    """Broken if a request, a header, a body or the order differs from vegeta's. 60 s for the first
    build, then 5 s."""
    (loadpilot.folder / "new.json").write_text('{"a": 1}', encoding="utf-8")
    (loadpilot.folder / "empty.txt").write_text("", encoding="utf-8")
    targets = loadpilot.folder / "targets.txt"
    seen = []
    for name in ("vegeta", "loadpilot"):
        with Oracle(built_binary(), tmp_path / f"{name}.jsonl", log_headers=True) as oracle:
            written = text.format(url=oracle.url, host=oracle.url.removeprefix("http://"))
            targets.write_text(written, encoding="utf-8")
            load = ("--rate", f"{RATE}/1s", "--duration", "2s", "--header", "X-All: a")
            if name == "vegeta":
                subprocess.run(
                    [vegeta, "attack", "-format", form, "-targets", str(targets), *load],
                    cwd=loadpilot.folder,
                    stdout=subprocess.DEVNULL,
                    check=True,
                    timeout=60,
                )
                requests = sorted(oracle.requests(), key=lambda one: one.arrival_us)
            else:
                finished = attack(loadpilot, "--targets", "targets.txt", *load, "--agents", "2")
                assert finished.judged == 0, finished.stderr
                requests = sorted(oracle.requests(), key=number)
            seen.append([sent(one) for one in requests])
    theirs, ours = seen
    assert len(ours) == 2 * RATE
    # Vegeta sends one more at the end of the time.
    assert theirs[: len(ours)] == ours


def test_a_pipe_into_vegeta(
    vegeta: str, loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if vegeta cannot read the calls of an attack, or draws no line for a rate. 8 s."""
    argv = [str(COMMAND), "attack", f"{oracle.url}/x", "--rates", "10:30:10", "--each", "1s"]
    calls = tmp_path / "calls.csv"
    with calls.open("wb") as file:
        done = subprocess.run(
            [*argv, "--output", "csv"],
            cwd=loadpilot.folder,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode in {0, 3}, done.stderr.decode()
    report = fetched([vegeta, "report", "-type", "json", str(calls)], "vegeta")
    assert json.loads(report)["requests"] == len(oracle.requests()) == 60
    plot = fetched([vegeta, "plot", str(calls)], "vegeta")
    for rate in (10, 20, 30):
        assert f'"{rate}: OK"' in plot
