"""Several scenarios in one run: arrivals and users have the types of the mix, measured at the
target."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.support.command import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.e2e.support.command import Finished, Loadpilot
    from tests.oracle.oracle import Oracle, Request

MIXED = SCENARIOS / "mix.py"
OF_USERS = SCENARIOS / "mix_of_users.py"
STATE = SCENARIOS / "mix_of_states.py"
PLANNED = 800
PATHS = {"/list": 420, "/view": 140, "/cart": 240}
"""Requests of 800 arrivals: 70 % browse, of which three of four list; 30 % buy."""
OF_TYPE = {"/list": "Browse", "/view": "Browse", "/cart": "Buy"}
BLOCK = 40
"""Arrivals after which all shares hold exactly."""
THINK_US = 400_000


def routes(requests: Iterable[Request]) -> dict[str, int]:
    return dict(Counter(one.route for one in requests))


def by_number(requests: Iterable[Request]) -> dict[int, str]:
    """The path that each arrival requested, by its number."""
    return {int((one.id or "").split("/")[1]): one.route for one in requests}


def types(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in report["types"]}


def assert_counted(finished: Finished, requests: list[Request]) -> None:
    """Asserts that each type and each task of the report has the requests that the target
    received."""
    report, seen = finished.report, routes(requests)
    of_types = Counter(OF_TYPE[one.route] for one in requests)
    for name, one in types(report).items():
        assert one["arrivals"]["started"] == one["finished"] == of_types[name]
        assert one["errors"] == 0
        assert one["response"]["count"] == of_types[name]
    tasks = {task["name"]: task["finished"] for task in report["tasks"]}
    assert tasks == {
        "Browse/list": seen["/list"],
        "Browse/view": seen["/view"],
        "Buy/view": seen["/cart"],
    }


@pytest.mark.slow
def test_each_arrival_is_of_one_type_whatever_the_number_of_agents(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if the shares are not exact to the last arrival, if a type is reported with tasks of
    another, or if four agents send other arrivals than one. 15 s."""
    finished = loadpilot.run(MIXED, oracle.url)
    assert finished.judged == 0, finished.stderr
    alone = oracle.requests()
    assert routes(alone) == PATHS
    assert_counted(finished, alone)
    assert finished.report["scenario"] == "Browse+Buy"
    gates = {gate["key"]: gate["passed"] for gate in finished.report["verdict"]["thresholds"]}
    assert gates == {"Buy:error_rate": True, "Buy/view:p99_ms": True}
    assert "types      Browse 70.00 %" in finished.stderr
    assert "Browse: share 70.00 %, 560 arrivals started, of 560 planned" in finished.stdout

    again = loadpilot.run(MIXED, oracle.url, "--agents", "4")
    assert again.judged == 0, again.stderr
    together = oracle.requests()[len(alone) :]
    assert by_number(together) == by_number(alone)
    assert_counted(again, together)


@pytest.mark.slow
def test_users_keep_their_type(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a type has more or fewer users than its share, if a user has tasks or think times
    of another type, or if four agents have other users than one. 15 s."""
    owners = []
    for agents in ("1", "4"):
        before = len(oracle.requests())
        oracle.delay(20)
        finished = loadpilot.run(OF_USERS, oracle.url, "--agents", agents)
        assert finished.judged == 0, finished.stderr
        requests = oracle.requests()[before:]
        assert_counted(finished, requests)
        times: dict[int, list[int]] = defaultdict(list)
        of_user: dict[int, set[str]] = defaultdict(set)
        for one in requests:
            user = int((one.id or "").split("/")[1].partition(".")[0])
            times[user].append(one.arrival_us)
            of_user[user].add(OF_TYPE[one.route])
        assert all(len(found) == 1 for found in of_user.values())
        owners.append({user: found.pop() for user, found in of_user.items()})
        assert Counter(owners[-1].values()) == {"Browse": 14, "Buy": 6}
        for user, arrivals in times.items():
            gaps = [later - one for one, later in pairwise(arrivals)]
            if owners[-1][user] == "Browse":
                assert min(gaps) > THINK_US * 0.9
            else:
                assert min(gaps) < THINK_US
        of_types = types(finished.report)
        assert {name: one["users"] for name, one in of_types.items()} == {"Browse": 14, "Buy": 6}
        assert of_types["Browse"]["rest"] == {"wait": {"from_us": THINK_US, "to_us": THINK_US}}
        assert "14 users, thinking 0.4 s" in finished.stdout
    assert owners[0] == owners[1]


@pytest.mark.slow
def test_stages_of_users_have_the_mix(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if users that begin later are all of one type: the first ten of twenty must have the
    shares, too. 8 s."""
    oracle.delay(20)
    flags = ("--user-stages", "0s:10,2s:10,0s:20,2s:20", "--wait", "50ms", "--agents", "2")
    finished = loadpilot.run(MIXED, oracle.url, *flags)
    assert finished.judged == 0, finished.stderr
    requests = oracle.requests()
    assert_counted(finished, requests)
    of_user = {
        int((one.id or "").split("/")[1].partition(".")[0]): OF_TYPE[one.route] for one in requests
    }
    assert Counter(of_user[user] for user in range(10)) == {"Browse": 7, "Buy": 3}
    assert Counter(of_user.values()) == {"Browse": 14, "Buy": 6}


@pytest.mark.slow
def test_a_rate_that_is_raised_keeps_the_mix(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if steering sends arrivals of other types, or the report counts them otherwise."""
    flags = ("--rps", "40", "--duration", "10s", "--agents", "2")
    with loadpilot.start(MIXED, oracle.url, *flags) as running:
        running.run_id()
        assert oracle.wait_count(40, 30)
        assert loadpilot.call("rate", "last", "200").code == 0
        finished = running.end()
    assert finished.judged == 0, finished.stderr
    requests = oracle.requests()
    assert_counted(finished, requests)
    planned = finished.report["arrivals"]["planned"]
    assert planned == len(requests) > 400
    for path, count in routes(requests).items():
        assert abs(count - planned * PATHS[path] / PLANNED) < BLOCK


@pytest.mark.slow
def test_a_replayed_load_has_the_mix(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a recorded load cannot be played by several types. 6 s."""
    rows = "".join(f"{second},{count}\n" for second, count in enumerate([100, 0, 220]))
    curve = loadpilot.folder / "curve.csv"
    curve.write_text(f"second,count\n{rows}", encoding="utf-8")
    finished = loadpilot.run(MIXED, oracle.url, "--replay-curve", str(curve))
    assert finished.judged == 0, finished.stderr
    requests = oracle.requests()
    assert_counted(finished, requests)
    assert routes(requests) == {path: count * 320 // PLANNED for path, count in PATHS.items()}


def test_a_gate_of_one_type_fails_the_run(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a gate of a type judges another type, or both. 6 s."""
    oracle.delay(80, path="/cart")
    gates = ("Buy:p50_ms=60", "Browse:p50_ms=60")
    flags = [word for gate in gates for word in ("--threshold", gate)]
    finished = loadpilot.run(MIXED, oracle.url, "--duration", "2s", *flags)
    assert finished.judged == 1, finished.stderr
    passed = {gate["key"]: gate["passed"] for gate in finished.report["verdict"]["thresholds"]}
    assert (passed["Buy:p50_ms"], passed["Browse:p50_ms"]) == (False, True)


@pytest.mark.slow
@pytest.mark.parametrize("load", [("--agents", "2"), ("--users", "30", "--agents", "2")])
def test_types_with_state_stay_apart(
    loadpilot: Loadpilot, oracle: Oracle, load: tuple[str, ...]
) -> None:
    """Broken if a user has hooks, checks or rows of another type. 10 s each."""
    finished = loadpilot.run(STATE, oracle.url, *load, "--duration", "3s")
    assert finished.judged == 0, finished.stderr
    report, seen = finished.report, Counter(one.route for one in oracle.requests())
    hooks = {"/start/reader", "/start/writer", "/stop/writer"}
    assert seen.keys() == {"/reader/200/reader", "/writer/200/writer"} | hooks
    of_types = types(report)
    reads, writes = seen["/reader/200/reader"], seen["/writer/200/writer"]
    assert of_types["Reader"]["arrivals"]["started"] == reads
    assert of_types["Writer"]["arrivals"]["started"] == writes
    assert of_types["Reader"]["checks"] == {"passed": reads, "failed": 0}
    assert "checks" not in of_types["Writer"]
    if "--users" in load:
        assert (seen["/start/reader"], seen["/start/writer"]) == (20, 10)
    else:
        assert (reads, writes) == (180, 90)
        assert seen["/start/reader"] == seen["/start/writer"] >= 5
    assert seen["/stop/writer"] == seen["/start/writer"]
    rows = Counter(
        int(one.path.partition("row=")[2]) for one in oracle.requests() if "row=" in one.path
    )
    assert rows.keys() == set(range(30))
    if "--users" not in load:
        assert set(rows.values()) == {reads // 30}


@pytest.mark.slow
def test_what_cannot_run_together_starts_nothing(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if only a part of a mix runs, or if a run starts in spite of a mistake. 3 s."""
    for flags, message in {
        ("--share", "Sell=3"): "--share: unknown scenario 'Sell'",
        ("--share", "Buy=1", "--scenario", "Buy"): "--share: is for scenarios that run together",
        ("--users", "1"): "must give the type Browse at least one of the 1 users",
    }.items():
        finished = loadpilot.run(MIXED, oracle.url, *flags)
        assert finished.code == 2, finished.stderr
        assert message in finished.stderr
    assert oracle.requests() == []
