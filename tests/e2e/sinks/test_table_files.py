"""`loadpilot run --out`: rows are written while the run goes on, and in the end they are those of
`loadpilot dump`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import COMMAND

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Finished, Loadpilot, Running
    from tests.oracle.oracle import Oracle

PASSED = re.compile(r"^verdict {6}(PASS|VOID)\b", re.MULTILINE)
"""The gates hold. VOID: on a busy machine the certificate may be INVALID."""
RPS, SECS = 100, 6
LONG = ("--duration", "60s")
"""Duration of a run that goes on until the test stops it, since rows come late on a busy
machine."""
SHOP = f"""
from loadpilot import VUser, scenario, task

@scenario(rps={RPS}, duration="{SECS}s", mode="constant")
class Shop(VUser):
    @task(weight=9)
    def quick(self, client):
        client.get("/quick")

    @task
    def slow(self, client):
        client.get("/slow")
"""


def dumped(loadpilot: Loadpilot, finished: Finished, form: str) -> bytes:
    """The rows of the run in a file of `loadpilot dump`."""
    path = loadpilot.folder / f"dumped.{form}"
    done = loadpilot.call("dump", finished.run, "-o", str(path))
    assert done.code == 0, done.stderr
    return path.read_bytes()


def stopped(loadpilot: Loadpilot, running: Running) -> Finished:
    """Stops the run, which finishes all arrivals that it has started."""
    halted = loadpilot.call("stop", "last")
    assert halted.code == 0, halted.stderr
    finished = running.end()
    assert finished.report["run"]["ending"] == "stopped"
    return finished


def missed(finished: Finished, label: str) -> str:
    """The only line about an output, which names its fault."""
    lines = [line for line in finished.stderr.splitlines() if f"--out {label}: " in line]
    assert len(lines) == 1, finished.stderr
    return lines[0]


@pytest.mark.slow
def test_files_grow_and_end_as_a_dump(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if no row is written before the end, if a row is written before its calls have ended,
    or if a file ends with other rows than a dump. An existing file stays until then."""
    oracle.delay(1200, path="/slow")
    new, old = loadpilot.folder / "out/new.json", loadpilot.folder / "old.csv"
    old.write_text("old", encoding="utf-8")
    flags = ("--out", "json=out/new.json", "--out", "csv=old.csv", "--agents", "2", *LONG)
    with loadpilot.start(SHOP, oracle.url, *flags) as running:
        give_up = time.monotonic() + 30
        while not new.exists() or new.read_bytes().count(b"\n") < 2:
            assert time.monotonic() < give_up, running.output
            time.sleep(0.05)
        early = new.read_bytes()
        assert old.read_text(encoding="utf-8") == "old"
        finished = stopped(loadpilot, running)
    assert finished.judged == 0, finished.stderr
    whole = dumped(loadpilot, finished, "ndjson")
    assert new.read_bytes() == whole
    assert whole.startswith(early)
    assert old.read_bytes() == dumped(loadpilot, finished, "csv")
    rows = whole.splitlines()
    assert sum(json.loads(row)["finished"] for row in rows) == len(oracle.requests())
    assert f"out json=out/new.json: {len(rows)} rows\n" in finished.stderr
    assert [path.name for path in loadpilot.folder.glob(".old*")] == []


def test_standard_output_has_rows_alone(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if the summary is on standard output, where a program reads rows."""
    finished = loadpilot.run(SHOP, oracle.url, "--duration", "2s", "--out", "json=-")
    assert finished.judged == 0, finished.stderr
    assert finished.stdout.encode() == dumped(loadpilot, finished, "ndjson")
    assert PASSED.search(finished.stderr), finished.stderr


@pytest.mark.long
@pytest.mark.timed
def test_a_sink_that_fails_costs_its_rows_only(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if a full disk, a pipe without a reader, or a reader that ends changes the load or the
    exit code, or is not reported."""
    silent, left = tmp_path / "silent", tmp_path / "left"
    os.mkfifo(silent)
    os.mkfifo(left)
    first = f"print(open({str(left)!r}, 'rb').readline().decode())"
    reader = subprocess.Popen([sys.executable, "-c", first], stdout=subprocess.PIPE)
    labels = ["csv=/dev/full", f"json={silent}", f"json={left}"]
    flags = [text for label in labels for text in ("--out", label)]
    begun = time.monotonic()
    finished = loadpilot.run(SHOP, oracle.url, *flags)
    assert time.monotonic() - begun < SECS + 20
    line, _ = reader.communicate(timeout=10)
    assert json.loads(line)["started"] == RPS
    assert finished.judged == 0, finished.stderr
    assert finished.report["arrivals"]["started"] == RPS * SECS == len(oracle.requests())
    full, unread, broken = (missed(finished, label) for label in labels)
    assert "No space left on device; it misses 6 of 6 rows" in full
    assert "it took too long to write; it misses 6 of 6 rows" in unread
    assert "Broken pipe; it misses " in broken
    assert broken.endswith(" of 6 rows")


@pytest.mark.slow
def test_mistakes_are_named_before_the_start(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a run starts whose output cannot be written, or would overwrite another file of the
    run."""
    for flags, words in (
        (("--out", "jsn=x"), "--out: must be one of csv, json"),
        (("--out", "jsn=x"), "did you mean json=?"),
        (("--out", "x.json"), "--out: must be KIND=URI such as json=FILE"),
        (("--out", "json="), "--out: must be KIND=URI"),
        (("--out", "json=."), "--out: must be a file, and . is a directory"),
        (("--out", "json=a", "--out", "csv=a"), "csv=a must be another file than that of --out"),
        (("--out", "json=a", "--report", "./a"), "json=a must be another file than that of --rep"),
        (("--out", "json=-", "--output", "json"), "json=-: standard output has the report"),
        (("--out", "json=-", "--out", "csv=-"), "csv=- must be another file"),
    ):
        refused = loadpilot.run(SHOP, oracle.url, *flags)
        assert (refused.code, words in refused.stderr) == (2, True), (flags, refused.stderr)
    mixed = subprocess.run(
        [COMMAND, "run", "scene_1.py", "--out", "json=-"],
        cwd=loadpilot.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert (mixed.returncode, b"would mix with the live view" in mixed.stdout) == (2, True)
    assert not loadpilot.log.exists()
    assert oracle.requests() == []


@pytest.mark.slow
def test_a_watch_has_outputs_of_its_own(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if `watch` cannot write the rows of a run of another command, or if an interrupted
    watch replaces a file by an incomplete one."""
    early, old = loadpilot.folder / "early.json", loadpilot.folder / "old.csv"
    old.write_text("old", encoding="utf-8")
    with loadpilot.start(SHOP, oracle.url, *LONG) as running:
        run = running.run_id()
        with (
            loadpilot.begin("watch", run, "--out", "json=-", "--out", "csv=new.csv") as watch,
            loadpilot.begin("watch", run, "--out", "csv=old.csv", "--out", f"json={early}") as left,
        ):
            give_up = time.monotonic() + 30
            while not early.exists():
                assert time.monotonic() < give_up, left.output
                time.sleep(0.05)
            left.signal(signal.SIGINT)
            ended = left.end()
            assert ended.code == 130
            for label in ("csv=old.csv", f"json={early}"):
                assert "the end of the run could not be read" in missed(ended, label)
                assert "(you left)" in missed(ended, label)
            finished, watched = stopped(loadpilot, running), watch.end()
    assert finished.judged == 0, finished.stderr
    assert watched.code == finished.code, watched.stderr
    assert re.search(r"^verdict {6}(STOPPED|VOID)\b", watched.stderr, re.MULTILINE), watched.stderr
    whole = dumped(loadpilot, finished, "ndjson")
    assert "warning: --out" not in watched.stderr, watched.stderr
    assert watched.stdout.splitlines() == whole.decode().splitlines()
    assert (loadpilot.folder / "new.csv").read_bytes() == dumped(loadpilot, finished, "csv")
    assert old.read_text(encoding="utf-8") == "old"
    assert whole.startswith(early.read_bytes())
    assert [path.name for path in loadpilot.folder.glob(".old*")] == []
