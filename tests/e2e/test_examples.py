"""The examples for inference servers do what they say: a server that checks counts what it took."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.command import Loadpilot

EXAMPLES = Path(__file__).parents[2] / "examples"
RPS, SECS = 20, 2
TASKS = {
    "triton": {"POST /v2/models/simple/infer 200": 36, "GET /v2/health/ready 200": 4},
    "litserve": {"POST /predict 200": 40},
}


@contextmanager
def stub(name: str) -> Iterator[str]:
    """A stub server as a user starts it; gives its address, and ends it with Ctrl-C."""
    path = EXAMPLES / "stubs" / f"{name}_stub.py"
    argv = [sys.executable, str(path), "--port", "0"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0, "Ctrl-C ends it"
        finally:
            process.kill()


def counts(url: str) -> dict[str, int]:
    with urllib.request.urlopen(f"{url}/counts", timeout=10) as answer:  # noqa: S310
        found: dict[str, int] = json.load(answer)
    return found


@pytest.mark.parametrize("name", TASKS)
def test_an_example_sends_what_its_server_accepts(name: str, loadpilot: Loadpilot) -> None:
    """Broken if a request of an example is not understood, lost, or sent twice."""
    flags = ("--rps", str(RPS), "--duration", f"{SECS}s", "--agents", "2")
    with stub(name) as url:
        finished = loadpilot.run(EXAMPLES / f"{name}.py", url, *flags)
        seen = counts(url)
    assert seen == TASKS[name]
    report = finished.report
    assert report["arrivals"]["started"] == RPS * SECS
    assert finished.judged in {0, 1}, finished.stderr


@pytest.mark.parametrize(
    ("name", "path", "headers", "body"),
    [
        ("triton", "/v2/models/simple/infer", {}, b"{}"),
        ("triton", "/v2/models/simple/infer", {"Inference-Header-Content-Length": "9"}, b"{}"),
        ("litserve", "/predict", {"Content-Type": "application/json"}, b'{"input": [[1]]}'),
        ("litserve", "/predict", {"Content-Type": "text/plain"}, b'{"input": [[1]]}'),
    ],
)
def test_a_stub_refuses_what_a_real_server_would(
    name: str, path: str, headers: dict[str, str], body: bytes
) -> None:
    """Broken if the test above could not fail: a stub that takes anything counts nothing."""
    with stub(name) as url:
        request = urllib.request.Request(url + path, body, headers)  # noqa: S310
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=10)  # noqa: S310
        refused.value.close()
        assert counts(url) == {f"POST {path} 400": 1}
