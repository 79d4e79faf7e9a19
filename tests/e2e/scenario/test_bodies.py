"""Bodies from files, small and large: the target receives their bytes, and recent ones are not
pruned."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.rawlog import objects

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

SCENE = """
from loadpilot import VUser, file, scenario, task

@scenario(rps=10, duration="2s", mode="constant")
class Bodies(VUser):
    @task
    def small(self, client):
        client.post("/small", content=file("small.json"))

    @task
    def large(self, client):
        client.post("/large", content=file("large.bin"))
"""


SMALL = b'{"input": [0.5]}'
LARGE = random.Random(20261121).randbytes(700_001)  # noqa: S311  (no secret: any bytes will do)
NAME = f"lp.local.body.{hashlib.sha256(LARGE).hexdigest()}"


def fnv1a(content: bytes) -> str:
    """The digest of a body in the oracle's log."""
    digest = 0xCBF29CE484222325
    for byte in content:
        digest = (digest ^ byte) * 0x100000001B3 % 2**64
    return f"{digest:016x}"


@pytest.mark.slow
def test_files_reach_the_target_and_are_stored_once_and_not_pruned_while_they_are_young(
    tmp_path: Path, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a body is changed, stored twice, removed while a run names or may name it."""
    (loadpilot.folder / "small.json").write_bytes(SMALL)
    (loadpilot.folder / "large.bin").write_bytes(LARGE)
    first, second = (loadpilot.run(SCENE, oracle.url, "--agents", "2") for _ in range(2))
    for finished in (first, second):
        assert finished.judged == 0, finished.stderr
        assert finished.report["arrivals"]["started"] == 20
    seen = Counter((r.path, r.body_len, r.body_fnv1a) for r in oracle.requests())
    assert seen == {
        ("/small", len(SMALL), fnv1a(SMALL)): 20,
        ("/large", len(LARGE), fnv1a(LARGE)): 20,
    }
    assert oracle.broken() == []

    (log,) = loadpilot.log.iterdir()
    assert objects(log, tmp_path / "both") == {NAME: LARGE}
    assert loadpilot.call("runs", "prune", first.run).code == 0
    assert objects(log, tmp_path / "one") == {NAME: LARGE}
    assert loadpilot.call("runs", "prune", "--all").code == 0
    # Another command may be about to request a run that sends the body.
    assert objects(log, tmp_path / "young") == {NAME: LARGE}
