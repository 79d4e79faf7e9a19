"""Responses with content codings: scenarios read the decoded body, sizes are those on the wire, and
a body that cannot be decoded is a named error.

Python's gzip and zlib, brotli 1.2 and zstandard 0.25 made the bodies: a million letters in JSON.
"""

from __future__ import annotations

import gzip
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.echo import Answers, echo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.support.command import Finished, Loadpilot

RPS, FEW = 20, 4
PLAIN = b'{"token": "t-1", "pad": "' + b"x" * 1_000_000 + b'"}'
BR = bytes.fromhex(
    "5b5a420fd07960db22b70fccda804cfe71844a6f9118b2bd0587d7202c3a7daa250c1c7202fa3d8b22b4d2c0d01404"
    "964bd48826aabbe7e73ca401"
)
ZSTD = bytes.fromhex(
    "28b52ffda45b420f00040100b07b22746f6b656e223a2022742d31222c2022706164780200e3ff6e8ac14e26020010"
    "78020010780200107802001078020010780200107855000010227d01005642390002be908ea0"
)
BR_BOMB = bytes.fromhex(
    "cbffff3ff82700e2b14020f7fe8fffff7ff04f00c4611180eefd1fffffffe09f0088c30200ddfb3ffeffffc13f0110"
    "870500baf77ffcffff837f02200e0b0074effff8ffff07ff04401c1600e8defff1ffff0ffe0980382c00d0bdffe3ff"
    "ff1ffc1300715800a07bff97ffff5ff82700e2b00040f7fe0b"
)
"""A brotli body of 70 MiB of zeros."""
CODED: Answers = {
    "/gzip": ("gzip", gzip.compress(PLAIN)),
    "/deflate": ("deflate", zlib.compress(PLAIN)),
    "/br": ("br", BR),
    "/zstd": ("zstd", ZSTD),
    "/twice": ("zstd, gzip", gzip.compress(ZSTD)),
    "/cut-off": ("br", BR[:-9]),
    "/bomb": ("br", BR_BOMB),
    "/other": ("compress", PLAIN),
}
READING = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(rps=20, duration="1s", mode="constant", COMPILE)
class Shop(VUser):
    @task
    def look(self, client: LoadClient) -> None:
        answer = client.get("PATH", name="look")
        client.get("/next", params={"token": answer.json()["token"], "length": len(answer.text)})

    def check_look(self, status_code: int, body: dict[str, str]) -> None:
        assert status_code == 200
"""
STATIC = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(rps=20, duration="1s", mode="constant")
class Shop(VUser):
    @task
    def look(self, client: LoadClient) -> None:
        client.get("/cut-off", headers={"Accept-Encoding": "br"})
"""


@contextmanager
def ran(loadpilot: Loadpilot, scene: str) -> Iterator[tuple[Finished, list[tuple[str, ...]]]]:
    with echo(answers=CODED) as (url, received):
        yield loadpilot.run(scene, url), received


def reading(path: str, *, compiled: bool) -> str:
    mode = "users=4" if compiled else "users=4, compile=False"
    return READING.replace("PATH", path).replace("COMPILE", mode)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "Python"])
@pytest.mark.parametrize("path", ["/gzip", "/deflate", "/br", "/zstd", "/twice"])
def test_what_the_server_encoded_is_read(
    loadpilot: Loadpilot, path: str, *, compiled: bool
) -> None:
    """Broken if a coding is not decoded for tasks and checks, or the report counts decoded bytes.
    3 s each."""
    with ran(loadpilot, reading(path, compiled=compiled)) as (finished, received):
        assert finished.judged == 0, finished.stdout + finished.stderr
    paths = [path for _, path, *_ in received]
    following = f"/next?token=t-1&length={len(PLAIN)}"
    assert (paths.count(path), paths.count(following)) == (RPS, RPS)
    sent = RPS * (len(CODED[path][1]) + 2_000)
    assert finished.report["bytes"]["received"] < sent < len(PLAIN)


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "Python"])
@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/cut-off", "the answer is not br: "),
        ("/bomb", "the answer is longer than 64 MiB when its br is decoded"),
        ("/other", "the answer is encoded as compress, which is not decoded here; gzip, deflate, "),
    ],
)
def test_a_body_that_cannot_be_decoded_is_an_error(
    loadpilot: Loadpilot, path: str, says: str, *, compiled: bool
) -> None:
    """Broken if a broken body counts as a whole one, ends an agent, or is no named error. 3 s
    each."""
    scene = reading(path, compiled=compiled).replace("rps=20", "rps=2").replace('"1s"', '"2s"')
    with ran(loadpilot, scene) as (finished, received):
        assert finished.judged == 1, finished.stdout + finished.stderr
    assert [path for _, path, *_ in received] == [path] * FEW
    (task,) = finished.report["tasks"]
    assert sum(one["count"] for one in task["raised"]) >= FEW
    assert {one["text"].split(" (")[0][: len(f"ValueError: {says}")] for one in task["raised"]} == {
        f"ValueError: {says}"
    }


def test_what_nothing_reads_is_not_decoded(loadpilot: Loadpilot) -> None:
    """Broken if a step fails because of a body that nothing reads. 3 s."""
    with ran(loadpilot, STATIC) as (finished, received):
        assert finished.judged == 0, finished.stdout + finished.stderr
    assert len(received) == RPS
    assert finished.report["status"] == {"200": RPS}
