"""A shared fleet admits runs: waiting runs show their place in the queue and the reason."""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support import rawlog
from tests.e2e.support.command import SCENARIOS, Loadpilot, Running
from tests.e2e.support.short_run import PLANNED, SHORT, assert_whole

if TYPE_CHECKING:
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

WEIGHTED = SCENARIOS / "weighted.py"
HOME = ("--tenant", "fleet")
SHOP = ("--tenant", "shop")
SEARCH = ("--tenant", "search")
LONG = ("--rps", "20", "--duration", "60s")
INTERRUPTED = 130
QUEUED_S = 45
"""Timeout until five commands have requested a run; below the time for which a run waits for
agents."""


def shared(fleet: Fleet, tenants: str) -> Running:
    """Start a coordinator that serves these tenants."""
    path = fleet.folder / "tenants.toml"
    path.write_text(tenants, encoding="utf-8")
    return fleet.coordinator(*HOME, "--tenants", str(path))


def entries(fleet: Fleet) -> list[rawlog.Entry]:
    return rawlog.read_from(f"nats://{fleet.token}@127.0.0.1:{fleet.port}")


def decisions(fleet: Fleet) -> list[tuple[str, str]]:
    """Kind and run of all decisions, in the order of the log."""
    found = []
    for entry in entries(fleet):
        tokens = entry.subject.split(".")
        if tokens[2] == "adm":
            found.append((entry.event["type"], entry.event["run"]))
        elif tokens[4:] == ["ctl"]:
            found.append((entry.event["type"], tokens[3]))
    return found


def most_at_once(fleet: Fleet, first: str, last: str) -> int:
    """The greatest number of runs that were between these two decisions at one time."""
    runs: set[str] = set()
    most = 0
    for kind, run in decisions(fleet):
        if kind == first:
            runs.add(run)
        elif kind == last:
            runs.discard(run)
        most = max(most, len(runs))
    return most


def queued(fleet: Fleet) -> set[str]:
    return {run for kind, run in decisions(fleet) if kind == "RunQueued"}


@pytest.mark.slow
def test_runs_above_the_limit_wait_while_coordinators_are_killed(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if more runs than allowed go on at one time when coordinators race or die, or if a
    waiting run is lost."""
    limits = "[tenants.shop]\nmax_runs = 2\n"
    victim = shared(fleet, limits)
    shared(fleet, limits)
    with ExitStack() as commands:
        running = [
            commands.enter_context(fleet.start(loadpilot, WEIGHTED, oracle.url, *SHORT, *SHOP))
            for _ in range(5)
        ]
        # Without an agent, no run ends before the last one is created.
        running[0].run_id()
        give_up = time.monotonic() + QUEUED_S
        while len(queued(fleet)) < 3:
            assert time.monotonic() < give_up, decisions(fleet)
        fleet.agent("a-1", *HOME)
        assert oracle.wait_count(1, 60)
        victim.kill()
        shared(fleet, limits)
        ended = [command.end() for command in running]
    for finished in ended:
        assert_whole(finished, PLANNED)
    assert oracle.counts().received == 5 * PLANNED
    assert most_at_once(fleet, "RunCreated", "RunSealed") == 2
    assert most_at_once(fleet, "RunAdmitted", "RunReleased") == 2
    kinds = [kind for kind, _ in decisions(fleet)]
    assert kinds.count("RunAdmitted") == kinds.count("RunCreated") == 5
    waited = queued(fleet)
    assert len(waited) == 3
    for finished in ended:
        said = "waiting: place " in finished.stderr
        assert said == (finished.run in waited), finished.stderr


@pytest.mark.slow
def test_a_run_that_waits_is_shown_and_stopped(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a waiting run shows no place, or if its user cannot stop it."""
    shared(fleet, "[tenants.shop]\nmax_runs = 1\n")
    fleet.agent("a-1", *HOME)
    at = ("--nats-url", fleet.url, *SHOP)
    place = "waiting: place 1 of 1 of tenant shop; 1 of 1 runs at a time"
    with ExitStack() as commands:
        first = commands.enter_context(fleet.start(loadpilot, WEIGHTED, oracle.url, *LONG, *SHOP))
        active = first.run_id()
        assert oracle.wait_count(1, 30)
        second = commands.enter_context(fleet.start(loadpilot, WEIGHTED, oracle.url, *LONG, *SHOP))
        waiting = second.run_id()
        second.until(place)
        listed = loadpilot.call("runs", *at)
        (line,) = [line for line in listed.stdout.splitlines() if line.startswith(waiting)]
        assert "waiting" in line
        steered = loadpilot.call("rate", waiting, "10/s", *at)
        assert (steered.code, "waiting" in steered.stdout + steered.stderr) == (2, True)
        second.signal(signal.SIGINT)
        ended = second.end(30)
        assert ended.code == INTERRUPTED, ended.stderr
        assert ended.report["run"]["ending"] == "stopped"
        assert ended.report["calls"]["attempted"] == 0
        assert oracle.wait_count(oracle.counts().received + 20, 30), "the first run does not go on"
        assert loadpilot.call("stop", active, *at).code == 0
        assert first.end(30).report["calls"]["attempted"] == oracle.counts().received
    assert ("StartScheduled", waiting) not in decisions(fleet)


@pytest.mark.slow
def test_a_tenant_waits_for_agents_and_is_next(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a tenant that has no agents yet is admitted after another one that has some."""
    shared(fleet, "[fleet]\nmax_runs_per_agent = 1\n[tenants.shop]\n[tenants.search]\n")
    fleet.agent("a-1", *HOME)
    with ExitStack() as commands:

        def start(*flags: str) -> Running:
            return commands.enter_context(fleet.start(loadpilot, WEIGHTED, oracle.url, *flags))

        first = start(*LONG, *SHOP)
        assert oracle.wait_count(1, 30)
        second = start(*SHORT, *SHOP)
        second.until("waiting: place 1 of 1 of tenant shop; 1 of 1 agents in use")
        third = start(*SHORT, *SEARCH)
        third.until("waiting: place 1 of 1 of tenant search; 1 of 1 agents in use")
        at = ("--nats-url", fleet.url, *SHOP)
        assert loadpilot.call("stop", first.run_id(), *at).code == 0
        ended = [one.end() for one in (first, second, third)]
    for finished in ended[1:]:
        assert_whole(finished, PLANNED)
    order = [run for kind, run in decisions(fleet) if kind == "RunAdmitted"]
    # The second run had reserved the agents before the third one was requested.
    assert order == [finished.run for finished in ended]
    assert most_at_once(fleet, "RunCreated", "RunSealed") == 1


@pytest.mark.slow
def test_runs_that_may_not_wait_are_refused(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a limit of waiting runs, or of runs per day, is not enforced or not named."""
    shared(
        fleet,
        "[tenants.shop]\nmax_runs = 1\nmax_waiting = 1\n[tenants.search]\nmax_runs_per_day = 1\n",
    )
    fleet.agent("a-1", *HOME)
    assert_whole(fleet.run(loadpilot, WEIGHTED, oracle.url, *SHORT, *SEARCH), PLANNED)
    refused = fleet.run(loadpilot, WEIGHTED, oracle.url, *SHORT, *SEARCH)
    assert refused.code == 2
    assert 'runs in 24 hours: must be at most 1 of tenant search (got "2")' in refused.stderr
    assert refused.report["verdict"]["reasons"] == ["the run was refused"]
    assert "latency" not in refused.stdout, "a refused run has figures"
    with (
        fleet.start(loadpilot, WEIGHTED, oracle.url, *LONG, *SHOP) as first,
        ExitStack() as commands,
    ):
        assert oracle.wait_count(PLANNED + 1, 30)
        second = commands.enter_context(fleet.start(loadpilot, WEIGHTED, oracle.url, *LONG, *SHOP))
        second.until("waiting: place 1 of 1")
        refused = fleet.run(loadpilot, WEIGHTED, oracle.url, *LONG, *SHOP)
        assert refused.code == 2
        assert 'waiting runs: must be at most 1 of tenant shop (got "2")' in refused.stderr
        # The command has ended: its run waits no longer.
        second.kill()
        first.signal(signal.SIGINT)
        assert first.end(30).code == INTERRUPTED
