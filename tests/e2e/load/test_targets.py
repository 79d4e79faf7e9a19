"""Several targets of one run: arrivals go to them in turn."""

from __future__ import annotations

import csv
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot

RPS = 60
SCENE = f"""
from loadpilot import LoadClient, VUser, scenario, task

@scenario(rps={RPS}, duration="1s", mode="constant")
class Shop(VUser):
    @task
    def look(self, client: LoadClient) -> None:
        client.get("/")
        client.get("/items")
"""
HOSTS = SCENE.replace(
    'mode="constant"',
    'mode="constant", connections={"other_targets": ["http://b.example", "http://c.example"]}',
)


@pytest.mark.slow
def test_arrivals_take_the_targets_in_turn(loadpilot: Loadpilot, tmp_path: Path) -> None:
    """Broken if the target of an arrival depends on the number of agents, or if one arrival uses
    several targets.

    Costs 6 s.
    """
    for agents in (1, 3):
        with ExitStack() as stack:
            logs = [tmp_path / f"{agents}-{place}.jsonl" for place in range(3)]
            oracles = [stack.enter_context(Oracle(built_binary(), log)) for log in logs]
            more = [word for one in oracles[1:] for word in ("--target", one.url)]
            finished = loadpilot.run(SCENE, oracles[0].url, *more, "--agents", str(agents))
            assert finished.judged == 0, finished.stderr
            for place, oracle in enumerate(oracles):
                arrivals = range(place, RPS, 3)
                ids = [f"{finished.run}/{n}/{step}" for n in arrivals for step in (0, 1)]
                assert sorted(one.id or "" for one in oracle.requests()) == sorted(ids)
        others = finished.report["run"]["connections"]["other_targets"]
        assert others == [oracle.url for oracle in oracles[1:]]
        assert finished.report["target_url"] == oracles[0].url
        assert f"further targets {', '.join(others)}" in finished.stdout


@pytest.mark.slow
def test_samples_name_the_target(loadpilot: Loadpilot, tmp_path: Path) -> None:
    """Broken if rows of samples name another target than that of their call.

    Costs 4 s.
    """
    with ExitStack() as stack:
        logs = [tmp_path / f"{place}.jsonl" for place in range(2)]
        first, other = (stack.enter_context(Oracle(built_binary(), log)) for log in logs)
        other_url = f"{other.url}/api"
        flags = ("--target", other_url, "--samples", str(tmp_path / "calls.csv"))
        finished = loadpilot.run(SCENE, first.url, *flags, "--agents", "2")
        assert finished.judged == 0, finished.stderr
        wanted = Counter(
            f"{one.url}{seen.path}" for one in (first, other) for seen in one.requests()
        )
    path = tmp_path / "calls.vegeta.csv"
    dumped = loadpilot.call("dump", finished.run, "--what", "samples", "-o", str(path))
    assert dumped.code == 0, dumped.stderr
    with path.open(encoding="utf-8", newline="") as lines:
        table = [(row[10], row[1]) for row in csv.reader(lines)]
    assert Counter(url for url, _ in table) == wanted
    assert set(wanted) == {
        f"{url}{path}" for url in (first.url, other_url) for path in ("/", "/items")
    }


def test_virtual_hosts_behind_one_address(loadpilot: Loadpilot, tmp_path: Path) -> None:
    """Broken if the hosts behind a load balancer cannot be loaded before DNS points at it.

    Costs 3 s.
    """
    with Oracle(built_binary(), tmp_path / "hosts.jsonl", log_headers=True) as oracle:
        address = oracle.url.removeprefix("http://")
        finished = loadpilot.run(HOSTS, "http://a.example", "--connect-to", address)
        assert finished.judged == 0, finished.stderr
        hosts = [
            (int((one.id or "").split("/")[1]), one.header("host")) for one in oracle.requests()
        ]
    wanted = [(n, f"{'abc'[n % 3]}.example") for n in range(RPS) for _ in range(2)]
    assert sorted(hosts) == wanted
