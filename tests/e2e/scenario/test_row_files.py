"""Rows that agents read from a file, recorded at the target."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

RPS, SECS = 100, 3
PLANNED = RPS * SECS
PADDING = "é, \n" * 400
"""Makes rows so long that a few hundred of them are not kept in memory."""
SCENE = """
from loadpilot import LoadClient, VUser, feed, scenario, task


@scenario(rps=100, duration="1s", mode="constant", users=50, compile=COMPILE)
class Shop(VUser):
    users = feed("FILE", unique=True, order="ORDER")

    @task
    def take(self, client: LoadClient) -> None:
        row = next(self.users)
        assert row["padding"].count("é") == 400
        client.get("/take", params={"name": row["name"]}, name="take")
"""
FLEET_COORDINATOR = ("--lost-after", "3s", "--fence-after", "2s", "--takeover-room", "500ms")
FLEET_AGENT = ("--fence", "2s", "--heartbeat", "200ms")


def scene(file: str, order: str = "file", *, compiled: bool = True) -> str:
    text = SCENE.replace("FILE", file).replace("ORDER", order)
    return text.replace(", compile=COMPILE", "" if compiled else ", compile=False")


def write(path: Path, rows: int) -> None:
    """Writes rows with long fields, in the format of the file's name."""
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            file.write("\ufeffname,padding\r\n")
            file.writelines(f'user{n},"{PADDING}"\r\n' for n in range(rows))
        else:
            lines = ({"name": f"user{n}", "padding": PADDING} for n in range(rows))
            file.writelines(json.dumps(line) + "\n" for line in lines)


def taken(oracle: Oracle) -> Counter[str]:
    queries = [parse_qs(urlsplit(request.path).query) for request in oracle.requests()]
    return Counter(query["name"][0] for query in queries)


@pytest.mark.parametrize("file", ["users.csv", "users.jsonl"])
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "Python"])
def test_rows_of_a_file_are_taken_once_by_all_agents_together(
    loadpilot: Loadpilot, oracle: Oracle, file: str, *, compiled: bool
) -> None:
    """Broken if code, Python or one of several agents gets another row of a file. 5 s each."""
    write(loadpilot.folder / file, PLANNED)
    text = scene(file, "shuffled", compiled=compiled)
    flags = ("--rps", str(RPS), "--duration", f"{SECS}s", "--agents", "3")
    finished = loadpilot.run(text, oracle.url, *flags)
    assert finished.judged == 0, finished.stderr
    assert taken(oracle) == {f"user{n}": 1 for n in range(PLANNED)}
    (feed,) = finished.report["run"]["feeds"]
    assert (feed["rows"], feed["taken"]) == (PLANNED, PLANNED)


@pytest.mark.slow
def test_unique_rows_of_a_file_survive_a_killed_agent(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if a row is taken twice when one of four agents dies, or if an agent uses a file in
    its folder that is not that of the run. One agent has the file, one has another file, two have
    none. 15 s."""
    secs = 10
    write(loadpilot.folder / "users.csv", RPS * secs)
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.mkdir()
    wrong.mkdir()
    content = (loadpilot.folder / "users.csv").read_bytes()
    (right / "users.csv").write_bytes(content)
    (wrong / "users.csv").write_bytes(content.replace(b"user", b"USER"))
    fleet.coordinator(*FLEET_COORDINATOR)
    fleet.agent("a-1", *FLEET_AGENT, "--feeds", str(right))
    fleet.agent("a-2", *FLEET_AGENT, "--feeds", str(wrong), "--feeds", str(right))
    fleet.agent("a-3", *FLEET_AGENT, "--feeds", str(wrong))
    victim = fleet.agent("a-4", *FLEET_AGENT)
    flags = ("--rps", str(RPS), "--duration", f"{secs}s", "--external-agents", "4")
    with fleet.start(loadpilot, scene("users.csv"), oracle.url, *flags) as running:
        assert oracle.wait_count(2 * RPS, 30)
        victim.kill()
        finished = running.end()
    counts = taken(oracle)
    assert set(counts.values()) == {1}, finished.stderr
    names = {f"user{n}" for n in range(RPS * secs)}
    assert set(counts) <= names
    assert len(finished.report["run"]["maps"]) > 1, "no shard moved to the other agents"
    assert len(counts) > len(names) // 2, "too few arrivals were performed"


@pytest.mark.slow
def test_a_file_that_no_store_holds_lies_in_a_folder_of_each_agent(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a large file prevents a run on the user's machine or on a fleet that has it, or if
    an agent without it does not say what to do. 10 s."""
    path = loadpilot.folder / "data" / "users.csv"
    path.parent.mkdir()
    with path.open("w", encoding="utf-8") as file:
        file.write("name,padding\n")
        padding = "é" * 400 + " " * 100_000
        file.writelines(f"user{n},{padding}\n" for n in range(700))
    assert path.stat().st_size > 64 << 20
    text = scene("data/users.csv")
    flags = ("--rps", "100", "--duration", "1s")
    alone = loadpilot.run(text, oracle.url, *flags, "--agents", "2")
    assert alone.judged == 0, alone.stderr
    expected = {f"user{n}": 1 for n in range(100)}
    assert taken(oracle) == expected
    fleet.coordinator()
    fleet.agent("a-1", "--label", "rows=none")
    absent = fleet.run(loadpilot, text, oracle.url, *flags, "--need", "rows=none")
    assert absent.judged != 0
    advice = "start the agent with --feeds DIR so that DIR/data/users.csv is it"
    assert advice in absent.stdout + absent.stderr
    assert taken(oracle) == expected, "an arrival was started"
    fleet.agent("a-2", "--label", "rows=here", "--feeds", str(loadpilot.folder))
    here = fleet.run(loadpilot, text, oracle.url, *flags, "--need", "rows=here")
    assert here.judged == 0, here.stderr
    assert taken(oracle) == dict.fromkeys(expected, 2)
