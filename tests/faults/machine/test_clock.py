"""Clocks that are wrong, or are set while a run is under way."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.faults.support.loads import SHARDS, WEIGHTED, Load, arrival_of, first_owner, lateness_us

if TYPE_CHECKING:
    from tests.e2e.support.command import Finished, Loadpilot
    from tests.faults.support.breakable_fleet import BreakableFleet
    from tests.faults.support.noise import NoiseMonitor
    from tests.oracle.oracle import Oracle

SOURCE = Path(__file__).parents[1] / "support/wrong_clock.c"
CC = shutil.which("cc")
LOAD = Load(100, 7)
SPREAD_US = 50_000

pytestmark = pytest.mark.skipif(
    CC is None, reason="needs a C compiler: apt-get install gcc libc6-dev"
)


class Clocks:
    """Makes wall clocks that are wrong by a number of seconds, each for some processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._library = folder / "wrong_clock.so"
        build = [str(CC), "-shared", "-fPIC", "-O1", "-o", str(self._library), str(SOURCE)]
        subprocess.run(build, check=True)

    def wrong(self, name: str, secs: int) -> Clock:
        clock = Clock(self._library, self._folder / f"clock-{name}")
        clock.set(secs)
        return clock


class Clock:
    """The wall clock of the processes started in its `with` block; it may be set afterwards."""

    def __init__(self, library: Path, file: Path) -> None:
        self._file = file
        self._known = {"LD_PRELOAD": str(library), "WRONG_CLOCK": str(file)}
        self._patch = pytest.MonkeyPatch()
        self._file.write_bytes(bytes(8))

    def set(self, secs: int) -> None:
        with self._file.open("r+b") as file:
            file.write(secs.to_bytes(8, sys.byteorder, signed=True))

    def __enter__(self) -> None:
        for name, value in self._known.items():
            self._patch.setenv(name, value)

    def __exit__(self, *_: object) -> None:
        self._patch.undo()


@pytest.fixture
def clocks(tmp_path: Path) -> Clocks:
    return Clocks(tmp_path)


def assert_started_together(
    breakable_fleet: BreakableFleet, finished: Finished, oracle: Oracle, noise_monitor: NoiseMonitor
) -> None:
    """Asserts that the agents started at the same time. Compared is the least lateness of each
    agent in the first second."""
    owner = first_owner(breakable_fleet.messages(finished.run))
    start_us = finished.report["run"]["start_at"]
    least: dict[str, int] = {}
    for one in oracle.requests():
        if arrival_of(one) < LOAD.rps:
            who = owner[arrival_of(one) % SHARDS]
            late = lateness_us(one, start_us, LOAD.rps)
            least[who] = min(least.get(who, late), late)
    spread = max(least.values()) - min(least.values())
    print(f"started within {spread} µs: {least}")
    assert len(least) == len(set(owner.values()))
    noise_monitor.judge(spread <= SPREAD_US, f"agents started {spread} µs apart: {least}")


@pytest.mark.case(n=15)
@pytest.mark.long
def test_agents_with_wrong_clocks_start_together(
    breakable_fleet: BreakableFleet,
    loadpilot: Loadpilot,
    oracle: Oracle,
    noise_monitor: NoiseMonitor,
    clocks: Clocks,
) -> None:
    """Broken if an agent takes the wall clock of its own machine for that of the fleet."""
    breakable_fleet.coordinator()
    breakable_fleet.agent("right")
    for name, offset in (("early", -300), ("late", 300)):
        with clocks.wrong(name, offset):
            breakable_fleet.agent(name)
    load = Load(LOAD.rps, LOAD.secs, agents=3)
    finished = breakable_fleet.run(loadpilot, WEIGHTED, oracle.url, *load.fleet)
    assert finished.judged == 0, finished.stderr
    breakable_fleet.assert_adds_up(finished, oracle, load.planned, quiet=True)
    assert_started_together(breakable_fleet, finished, oracle, noise_monitor)


@pytest.mark.long
@pytest.mark.case(n=15)
def test_coordinators_with_wrong_clocks_tell_one_time(
    breakable_fleet: BreakableFleet,
    loadpilot: Loadpilot,
    oracle: Oracle,
    noise_monitor: NoiseMonitor,
    clocks: Clocks,
) -> None:
    """Broken if a coordinator sends its agents the time of its own machine. Each agent takes the
    first answer; the start is in the time of the coordinator that decided it."""
    first = []
    for name, offset in (("behind", -300), ("ahead", 300)):
        with clocks.wrong(name, offset):
            first.append(breakable_fleet.coordinator())
    names = ("a-1", "a-2", "a-3", "a-4")
    for name in names:
        breakable_fleet.agent(name)
    load = Load(LOAD.rps, LOAD.secs, agents=len(names))
    with breakable_fleet.start(loadpilot, WEIGHTED, oracle.url, *load.fleet) as running:
        assert oracle.wait_count(3 * LOAD.rps, 30)
        # The other coordinator goes on, whichever of them has decided so far.
        first[0].kill()
        finished = running.end()
    assert finished.judged == 0, finished.stderr
    breakable_fleet.assert_adds_up(finished, oracle, load.planned, quiet=True)
    assert_started_together(breakable_fleet, finished, oracle, noise_monitor)


@pytest.mark.case(n=15)
@pytest.mark.long
@pytest.mark.parametrize(
    ("whose", "offset"),
    [
        ("coordinator", 300),
        ("agent", -300),
        ("coordinator", -300),
        ("agent", 300),
    ],
)
def test_a_clock_that_is_set_in_a_run_moves_nothing(
    breakable_fleet: BreakableFleet,
    loadpilot: Loadpilot,
    oracle: Oracle,
    noise_monitor: NoiseMonitor,
    clocks: Clocks,
    whose: str,
    offset: int,
) -> None:
    """Broken if a step of one process's wall clock ends the run, shifts its load in time, or makes
    the other processes look dead."""
    clock = clocks.wrong(whose, 0)
    if whose == "coordinator":
        with clock:
            breakable_fleet.coordinator()
        breakable_fleet.agent("a-1")
    else:
        breakable_fleet.coordinator()
        with clock:
            breakable_fleet.agent("a-1")
    breakable_fleet.agent("a-2")
    with breakable_fleet.start(loadpilot, WEIGHTED, oracle.url, *LOAD.fleet) as running:
        assert oracle.wait_count(3 * LOAD.rps, 30)
        clock.set(offset)
        finished = running.end()
    assert finished.judged == 0, finished.stderr
    breakable_fleet.assert_adds_up(finished, oracle, LOAD.planned, quiet=True)
    assert_started_together(breakable_fleet, finished, oracle, noise_monitor)
