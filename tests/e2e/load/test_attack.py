"""`loadpilot attack`: lists of requests, counted by the target."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import COMMAND, ID_HEADER
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Finished, Loadpilot
    from tests.oracle.oracle import Request

RATE = 40


def attack(loadpilot: Loadpilot, *flags: str) -> Finished:
    """An attack to its end, with a results file."""
    results = loadpilot.folder / "attack.json"
    more = ("--results-json", str(results), "--id-header", ID_HEADER)
    with loadpilot.begin("attack", *flags, *more) as running:
        running.results = results
        return running.end()


def number(request: Request) -> int:
    """Number of the arrival of a request."""
    return int((request.id or "").split("/")[1])


@pytest.mark.slow
def test_arrivals_send_the_requests_of_a_list_in_turn(loadpilot: Loadpilot, tmp_path: Path) -> None:
    """Broken if a request, its body, header or origin depends on the agent that sends it, or if the
    order differs from that of the file.

    Costs 6 s.
    """
    (loadpilot.folder / "bodies").mkdir()
    (loadpilot.folder / "bodies" / "new.json").write_bytes(b'{"a": 1}')
    for agents in (1, 3):
        with ExitStack() as stack:
            logs = [tmp_path / f"{agents}-{place}.jsonl" for place in range(2)]
            first, other = (
                stack.enter_context(Oracle(built_binary(), log, log_headers=True)) for log in logs
            )
            text = (
                f"GET {first.url}/a?x=1\n\n# again, with a body\nPOST {other.url}/things\n"
                "X-Account-ID: 7\nAuthorization: Token DEADBEEF\n@bodies/new.json\n"
                f"GET {first.url}/a?x=2\nDELETE {other.url}/a\nX-Twice: 1\nX-Twice: 2\n\n"
                f"GET {first.url}/a?x=1\n"
            )
            (loadpilot.folder / "targets.txt").write_text(text, encoding="utf-8")
            load = ("--rate", f"{RATE}/1s", "--duration", "1s", "--agents", str(agents))
            finished = attack(loadpilot, "--targets", "targets.txt", "-H", "X-All: a", *load)
            assert finished.judged == 0, finished.stderr
            seen = {
                number(one): (place, one.method, one.path, one.body_len, one)
                for place, oracle in enumerate((first, other))
                for one in oracle.requests()
            }
        wanted = [
            (0, "GET", "/a?x=1", 0),
            (1, "POST", "/things", 8),
            (0, "GET", "/a?x=2", 0),
            (1, "DELETE", "/a", 0),
            (0, "GET", "/a?x=1", 0),
        ]
        assert [seen[n][:4] for n in range(RATE)] == [wanted[n % 5] for n in range(RATE)]
        for n, (*_, one) in seen.items():
            assert one.header("x-all") == "a"
            twice = [value for name, value in one.headers or () if name == "x-twice"]
            assert twice == (["1", "2"] if n % 5 == 3 else [])
            token = "Token DEADBEEF" if n % 5 == 1 else None
            assert one.header("authorization") == token
        report = finished.report
        calls = {one["name"]: one["counts"]["attempted"] for one in report["tasks"][0]["calls"]}
        hosts = [oracle.url.removeprefix("http://") for oracle in (first, other)]
        assert calls == {
            f"GET {hosts[0]}/a": 24,
            f"POST {hosts[1]}/things": 8,
            f"DELETE {hosts[1]}/a": 8,
        }
        everything = finished.stdout + finished.stderr + json.dumps(report)
        assert "DEADBEEF" not in everything
    assert list((loadpilot.log / "targets").iterdir()) == []


@pytest.mark.slow
def test_two_attacks_with_one_list_keep_their_rows(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if an attack, or a dry run, deletes the rows that agents of another attack read.

    Costs 4 s.
    """
    lines = "".join(f"GET {oracle.url}/{n}\n" for n in range(3))
    (loadpilot.folder / "targets.txt").write_text(lines, encoding="utf-8")
    words = ("attack", "--targets", "targets.txt", "--duration", "60s", "--rate", "20")
    rows = loadpilot.log / "targets"
    with loadpilot.begin(*words) as running:
        running.until("LoadPilot")
        (folder,) = rows.iterdir()
        (file,) = folder.iterdir()
        assert loadpilot.call(*words, "--dry-run").code == 0
        assert (list(rows.iterdir()), file.exists()) == ([folder], True)
        running.signal(signal.SIGINT)
        assert running.end().code == 130
    assert list(rows.iterdir()) == []


@pytest.mark.slow
def test_a_long_list_stays_in_its_file(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a list that is not kept in memory is sent in another order, or if each path has a
    row in the report.

    Costs 4 s.
    """
    count = 20_000
    lines = "".join(f"GET {oracle.url}/users/{n}\n" for n in range(count))
    (loadpilot.folder / "targets.txt").write_text(lines, encoding="utf-8")
    finished = attack(
        loadpilot, "--targets", "targets.txt", "--rate", "200", "--duration", "1s", "-a", "2"
    )
    assert finished.judged == 0, finished.stderr
    seen = {number(one): one.path for one in oracle.requests()}
    assert seen == {n: f"/users/{n}" for n in range(200)}
    (call,) = finished.report["tasks"][0]["calls"]
    assert (call["name"], call["counts"]["attempted"]) == ("GET /users/{id}", 200)


@pytest.mark.slow
def test_rates_tag_each_call_on_standard_output(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a call has another rate than the planned one at its due time, or if standard output
    has lines other than calls.

    Costs 7 s.
    """
    rates = ("--rates", "10:30:10", "--each", "1s")
    finished = attack(loadpilot, f"{oracle.url}/x?y=1", *rates, "--output", "csv")
    assert finished.judged == 0, finished.stderr
    rows = list(csv.reader(io.StringIO(finished.stdout), strict=True))
    start_us = finished.report["run"]["start_at"]
    assert len(rows) == len(oracle.requests()) == 60
    for row in rows:
        second = (int(row[0]) // 1000 - start_us) // 1_000_000
        assert row[7] == str(10 * (second + 1))
        assert (row[9], row[10]) == ("GET", f"{oracle.url}/x?y=1")
    by_rate = [sorted(int(row[8]) for row in rows if row[7] == str(rate)) for rate in (10, 20, 30)]
    assert by_rate == [list(range(rate)) for rate in (10, 20, 30)]
    levels = finished.report["load_curve"]["levels"]
    assert [round(one["planned_rps"]) for one in levels] == [10, 20, 30]
    dumped = loadpilot.call("dump", finished.run, "--what", "samples", "--format", "csv")
    assert dumped.stdout == finished.stdout


def test_requests_come_from_a_pipe_and_calls_go_into_one(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if standard input is not read, or if the run goes on after its reader has ended.

    Costs 5 s.
    """
    targets = json.dumps({"method": "PUT", "url": f"{oracle.url}/p", "body": "eHk="})
    argv = [str(COMMAND), "attack", "--rate", "20", "--output", "ndjson", "--duration"]
    process = subprocess.Popen(
        [*argv, "1s"],
        cwd=loadpilot.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    output, errors = process.communicate(targets.encode(), timeout=60)
    assert process.returncode in {0, 3}, errors.decode()
    rows = [json.loads(line) for line in output.splitlines()]
    assert [one["planned_rate"] for one in rows] == [20] * 20
    assert {(one.method, one.path, one.body_len) for one in oracle.requests()} == {("PUT", "/p", 2)}
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [*argv, "1h"],
        cwd=loadpilot.folder,
        stdin=subprocess.PIPE,
        stdout=writing,
        stderr=subprocess.PIPE,
    )
    os.close(writing)
    assert process.stdin is not None
    process.stdin.write(targets.encode())
    process.stdin.close()
    assert oracle.wait_count(25, 60)
    os.close(reading)
    assert process.wait(60) == 130
    assert process.stderr is not None
    with process.stderr:
        said = process.stderr.read().decode()
    assert "Traceback" not in said
    assert "verdict" in said
