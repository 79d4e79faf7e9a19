"""`loadpilot verify` accepts a sound log, and names the damage in another one."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import nats
import pytest
from tests.e2e.support.command import SCENARIOS, Loadpilot
from tests.e2e.support.rawlog import read, served

if TYPE_CHECKING:
    from tests.oracle.oracle import Oracle

VARIED = SCENARIOS / "varied.py"
INVARIANTS = 17
STORED = Path(__file__).with_name("stored_logs") / "run_file_v1.lprun"


@pytest.mark.slow
def test_a_log_is_verified_and_damage_is_found(
    tmp_path: Path, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a log that lost a delta passes."""
    oracle.status(503, fraction=0.1)
    finished = loadpilot.run(VARIED, oracle.url, "--agents", "2")
    assert finished.judged == 0, finished.stderr

    sound = loadpilot.call("verify", "last", "--report", str(finished.results))
    assert sound.code == 0, sound.stdout + sound.stderr
    assert f"{INVARIANTS} of {INVARIANTS} invariants hold" in sound.stdout
    found = json.loads(loadpilot.call("verify", finished.run, "--json").stdout)
    assert (found["holds"], found["run"]) == (True, finished.run)
    assert found["digest"] == finished.report["digest"]

    edited = tmp_path / "edited.json"
    report = finished.report
    report["arrivals"]["started"] += 1
    edited.write_text(json.dumps(report), encoding="utf-8")
    false = loadpilot.call("verify", "last", "--report", str(edited))
    assert (false.code, broken(false.stdout)) == (3, ["digest"])

    (log,) = loadpilot.log.iterdir()
    deltas = [e for e in read(log, tmp_path / "whole") if e.kind == "delta"]
    inner = next(e for e in deltas if e.event["seq"] == 2)
    copy = tmp_path / "damaged"
    with served(log, copy) as url:
        asyncio.run(forget(url, inner.seq))
    elsewhere = Loadpilot(tmp_path / "elsewhere")
    shutil.copytree(copy / "store", elsewhere.log / log.name / "store")
    damaged = elsewhere.call("verify", "last")
    assert (damaged.code, broken(damaged.stdout)) == (3, ["sequence"]), damaged.stdout
    assert "1 of" in damaged.stdout
    assert "are missing" in damaged.stdout


def test_nonsense_is_refused_by_name(loadpilot: Loadpilot, tmp_path: Path) -> None:
    """Broken if a typo in the command looks like a sound log."""
    unknown = loadpilot.call("verify", "01nothing")
    assert unknown.code == 2
    assert "there is no run '01nothing'" in unknown.stderr
    for name, content in (("none", None), ("empty", "{}"), ("list", "[]"), ("cut", '{"digest":')):
        file = tmp_path / name
        if content is not None:
            file.write_text(content, encoding="utf-8")
        refused = loadpilot.call("verify", str(STORED), "--report", str(file))
        assert (refused.code, refused.stdout) == (2, ""), refused.stdout
        assert "--report: must be a results file of a run" in refused.stderr


def broken(text: str) -> list[str]:
    """The broken invariants in the output of a verification."""
    return [line.split()[1] for line in text.splitlines() if line.startswith("VIOLATED")]


async def forget(url: str, seq: int) -> None:
    """Removes one delta from a log, which the product never does."""
    connection = await nats.connect(url)
    try:
        assert await connection.jetstream().delete_msg("LP_DATA", seq)
    finally:
        await connection.close()
