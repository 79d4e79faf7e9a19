"""The nats-server is killed once, stays away, or is killed fifty times: no acknowledged event is
lost."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import nats
import pytest
from tests.faults.support.bursts import assert_no_burst, now_us
from tests.faults.support.checker import Sets
from tests.faults.support.loads import WEIGHTED, Load, arrival_of
from tests.faults.support.stored_log import of_server

if TYPE_CHECKING:
    import random

    from tests.e2e.support.command import Loadpilot
    from tests.faults.support.breakable_fleet import BreakableFleet
    from tests.faults.support.noise import NoiseMonitor
    from tests.oracle.oracle import Oracle

LEDGER = "lp.local.run.ledger.delta.ledger"
"""A subject of LP_DATA that no run uses."""


@pytest.mark.case(n=10)
@pytest.mark.long
def test_a_fleet_whose_log_is_killed_goes_on(
    breakable_fleet: BreakableFleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if an acknowledged event is in memory only, or if agents wait for the log."""
    load = Load(100, 10)
    breakable_fleet.coordinator()
    for name in ("a-1", "a-2"):
        breakable_fleet.agent(name)
    with breakable_fleet.start(loadpilot, WEIGHTED, oracle.url, *load.fleet) as running:
        for seen in (2, 5):
            assert oracle.wait_count(seen * load.rps, 30)
            breakable_fleet.kill_server()
            # Long enough for every agent to have a delta that it cannot publish.
            assert oracle.wait_count(int((seen + 1.5) * load.rps), 30), "agents wait for the log"
            breakable_fleet.start_server()
        finished = running.end()
    assert finished.judged == 0, finished.stderr
    breakable_fleet.assert_adds_up(
        finished, oracle, load.planned, quiet=True, late_max=load.late_max
    )


@pytest.mark.case(n=12)
@pytest.mark.long
@pytest.mark.timeout(200)
def test_a_log_that_stays_away_stops_the_load_and_not_the_run(
    breakable_fleet: BreakableFleet,
    loadpilot: Loadpilot,
    oracle: Oracle,
    noise_monitor: NoiseMonitor,
) -> None:
    """Broken if agents go on when no stop can reach them, or if a run does not survive a log
    outage."""
    load = Load(60, 60)
    breakable_fleet.coordinator()
    for name in ("a-1", "a-2"):
        breakable_fleet.agent(name)
    with breakable_fleet.start(loadpilot, WEIGHTED, oracle.url, *load.fleet) as running:
        assert oracle.wait_count(3 * load.rps, 30)
        breakable_fleet.kill_server()
        gone_us = now_us()
        time.sleep(25)
        back_us = now_us()
        breakable_fleet.start_server()
        finished = running.end()
    report = breakable_fleet.assert_adds_up(finished, oracle, load.planned)
    assert report["run"]["ending"] == "completed", finished.stderr
    requests = oracle.requests()
    assert [one for one in requests if gone_us + 8_500_000 < one.arrival_us < back_us] == []
    assert any(arrival_of(one) >= load.planned - load.rps for one in requests)
    after = [one for one in requests if one.arrival_us > back_us]
    assert_no_burst(after, report["run"]["start_at"], load, noise_monitor)


@pytest.mark.case(n=26)
@pytest.mark.long
@pytest.mark.timeout(200)
def test_a_log_that_is_lost_stops_the_run_and_its_coordinator(
    breakable_fleet: BreakableFleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if agents go on without a log, if no kill switch reaches them then, or if a
    coordinator waits for ever in a log that is gone. 20 s."""
    flags = ("--nats-url", breakable_fleet.url)
    coordinator = breakable_fleet.coordinator()
    breakable_fleet.agent("a-1")
    short = ("--rps", "50", "--external-agents", "1", "--duration")
    with breakable_fleet.start(loadpilot, WEIGHTED, oracle.url, *short, "60s") as running:
        run = running.run_id()
        assert oracle.wait_count(100, 30)
        breakable_fleet.kill_server()
        (breakable_fleet.folder / "store").rename(breakable_fleet.folder / "lost")
        breakable_fleet.start_server()
        finished = running.end()
    assert finished.code == 4
    assert "the kill switch is thrown" in finished.stderr
    assert "error: stream LP_CTL does not exist" in finished.stderr
    time.sleep(1)
    sent = oracle.counts().received
    time.sleep(2)
    assert oracle.counts().received == sent, "agents send on"

    ended = coordinator.end(30)
    assert ended.code == 4
    assert ended.stderr.splitlines()[-1] == ("loadpilot-coordinator: stream LP_CTL does not exist")
    without_log = loadpilot.call("halt", run, "--yes", *flags)
    breakable_fleet.coordinator()
    unknown = loadpilot.call("halt", run, "--yes", *flags)
    for halted in (without_log, unknown):
        assert halted.code == 4, halted.stderr
        assert "the kill switch needs no log" in halted.stderr
        assert "the kill switch is thrown" in halted.stderr
    again = breakable_fleet.run(loadpilot, WEIGHTED, oracle.url, *short, "3s")
    assert again.judged == 0, again.stderr


@pytest.mark.case(n=23)
@pytest.mark.long
@pytest.mark.timed  # no arrival may be late by half a second
@pytest.mark.timeout(600)
def test_fifty_deaths_of_the_log_lose_nothing_that_it_acknowledged(
    breakable_fleet: BreakableFleet, loadpilot: Loadpilot, oracle: Oracle, rng: random.Random
) -> None:
    """Broken if an acknowledgement is sent before the message is on the disk."""
    load = Load(50, 120)
    breakable_fleet.coordinator()
    for name in ("a-1", "a-2"):
        breakable_fleet.agent(name)
    with breakable_fleet.start(loadpilot, WEIGHTED, oracle.url, *load.fleet) as running:
        assert oracle.wait_count(load.rps, 30)
        attempted, acked = asyncio.run(die_and_write(breakable_fleet, rng, deaths=50))
        finished = running.end()
    there = [
        one.event["n"]
        for one in of_server(breakable_fleet.url, breakable_fleet.token)
        if one.subject == LEDGER and one.event is not None
    ]
    sets = Sets.of(attempted, acked, there)
    print(f"{len(attempted)} attempted, {len(acked)} acked, {len(sets.recovered)} recovered")
    assert len(acked) > 500
    assert sets.lost == sets.unexpected == sets.duplicated == frozenset()
    assert finished.judged == 0, finished.stderr
    breakable_fleet.assert_adds_up(finished, oracle, load.planned, quiet=True)


async def die_and_write(
    breakable_fleet: BreakableFleet, rng: random.Random, deaths: int
) -> tuple[set[int], set[int]]:
    """Writes numbered messages as fast as the log takes them, while its server is killed again and
    again; returns the numbers that were sent and those that were acknowledged."""
    attempted: set[int] = set()
    acked: set[int] = set()
    connections: list[Any] = []
    over = asyncio.Event()

    async def write() -> None:
        number = 0
        while not over.is_set():
            with suppress(Exception):
                connection = await nats.connect(
                    breakable_fleet.url,
                    token=breakable_fleet.token,
                    allow_reconnect=False,
                    connect_timeout=1,
                )
                connections.append(connection)
                jetstream = connection.jetstream(timeout=1)
                while not over.is_set():
                    number += 1
                    attempted.add(number)
                    entry = json.dumps({"v": 1, "event": {"n": number}}).encode()
                    await jetstream.publish(LEDGER, entry, headers={"Nats-Msg-Id": f"{number}"})
                    acked.add(number)
            await asyncio.sleep(0.01)

    async def close() -> None:
        for connection in connections:
            with suppress(Exception):
                await connection.close()

    writer = asyncio.create_task(write())
    for _ in range(deaths):
        await asyncio.sleep(rng.uniform(0.3, 1.5))
        await asyncio.to_thread(breakable_fleet.kill_server)
        await asyncio.to_thread(breakable_fleet.start_server)
    over.set()
    await writer
    await close()
    return attempted, acked
