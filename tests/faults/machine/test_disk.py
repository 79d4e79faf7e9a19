"""Disks that are full or fail, and streams that have reached their limit."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import nats
import pytest
from tests.e2e.support.command import Loadpilot, assert_ended
from tests.e2e.support.processes import Part, descendants
from tests.faults.support.breakable_fleet import BreakableFleet
from tests.faults.support.checker import Evidence, check
from tests.faults.support.loads import WEIGHTED, Load
from tests.faults.support.stacks import messages_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.support.command import Finished, Running
    from tests.oracle.oracle import Oracle

MIB = 1 << 20
DISK_MIB, FLEET_DISK_MIB = 320, 6_144
"""Room for a log of the minimum size and the files of agents; room for the log of a fleet."""
LONG, SHORT = Load(100, 60), Load(50, 2)
ROOT = pytest.mark.skipif(
    os.geteuid() != 0, reason="needs root, to mount a small disk: run as root"
)
STRACE = pytest.mark.skipif(
    shutil.which("strace") is None, reason="needs strace: apt-get install strace"
)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk in memory, for one test."""
    with own_disk(tmp_path / "disk", DISK_MIB) as place:
        yield place


@contextmanager
def own_disk(place: Path, size_mib: int) -> Iterator[Path]:
    """Mounts a disk in memory. Only what is written to it takes memory."""
    place.mkdir()
    mount = ("mount", "-t", "tmpfs", "-o", f"size={size_mib}m", "tmpfs", str(place))
    subprocess.run(mount, check=True)
    try:
        yield place
    finally:
        unmount = ("umount", "--lazy", str(place))
        subprocess.run(unmount, check=True)


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """Fills the disk to its last byte."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (MIB, 4096, 1):
            while True:
                try:
                    file.write(b"x" * size)
                except OSError:
                    break
    try:
        yield
    finally:
        filler.unlink()


@pytest.mark.slow
@ROOT
@pytest.mark.case(n=16)
def test_a_full_disk_ends_the_run_in_words_and_what_was_stored_is_there(
    small_disk: Path, oracle: Oracle
) -> None:
    """Broken if a full disk kills agents, hangs the command, leaves the load running, or loses
    anything that had been acknowledged."""
    loadpilot = Loadpilot(small_disk / "work")
    with loadpilot.start(WEIGHTED, oracle.url, *LONG.local) as running:
        assert oracle.wait_count(3 * LONG.rps, 30)
        with full(small_disk):
            refused = assert_refused_in_words(running, "no space left on device")
    assert_healed(loadpilot, oracle, refused)


@ROOT
@pytest.mark.case(n=16)
@pytest.mark.long
@pytest.mark.timeout(240)
def test_a_full_disk_of_a_fleet_stops_the_load_and_costs_nothing_that_was_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a command waits in silence for a run of which nothing can be stored, if its load
    goes on, or if counts of agents are lost once the disk has room again."""
    with own_disk(tmp_path / "disk", FLEET_DISK_MIB) as disk:
        breakable_fleet = BreakableFleet(tmp_path, monkeypatch)
        store = f'"{breakable_fleet.folder / "store"}"'
        config = breakable_fleet.folder / "nats.conf"
        text = config.read_text(encoding="utf-8")
        assert store in text
        config.write_text(text.replace(store, f'"{disk}"'), encoding="utf-8")
        with breakable_fleet:
            breakable_fleet.coordinator()
            for name in ("a-1", "a-2"):
                breakable_fleet.agent(name)
            with breakable_fleet.start(loadpilot, WEIGHTED, oracle.url, *LONG.fleet) as running:
                assert oracle.wait_count(3 * LONG.rps, 30)
                with shrunk(disk):
                    running.until("log unavailable: ", 60)
                    refused = running.end(30)
                    assert refused.code == 3, refused.stderr
                    assert "loadpilot report" in refused.stderr
                    sent = oracle.counts().received
                    assert not oracle.wait_count(sent + LONG.rps // 10, 2), "the load goes on"
            # A nats-server stores nothing more in a stream that it could not write to.
            breakable_fleet.kill_server()
            breakable_fleet.start_server()
            seen = loadpilot.call("watch", refused.run, "--nats-url", breakable_fleet.url)
            assert seen.code == 3, seen.stderr
            shown = loadpilot.call(
                "report", refused.run, "--json", "--nats-url", breakable_fleet.url
            )
            report = json.loads(shown.stdout)
            messages = breakable_fleet.messages(refused.run)
            evidence = Evidence(refused.run, oracle.requests(), messages, report)
            found = check(evidence, planned=LONG.planned)
            assert found == [], "\n".join(found)
            # The halt may cancel a call before its request is sent.
            cancelled = report["calls"]["outcomes"].get("cancelled", 0)
            unsent = report["arrivals"]["started"] - len(oracle.requests())
            assert 0 <= unsent <= cancelled, report["calls"]["outcomes"]


@contextmanager
def shrunk(disk: Path) -> Iterator[None]:
    """Shrinks a disk to what is stored on it."""
    facts = os.statvfs(disk)
    used = (facts.f_blocks - facts.f_bfree) * facts.f_frsize
    for_now = ("mount", "-o", f"remount,size={used}", str(disk))
    subprocess.run(for_now, check=True)
    try:
        yield
    finally:
        again = ("mount", "-o", f"remount,size={FLEET_DISK_MIB}m", str(disk))
        subprocess.run(again, check=True)


@STRACE
@pytest.mark.case(n=16)
@pytest.mark.long
def test_a_disk_that_fails_to_sync_ends_the_run_in_words(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a write that did not reach the disk is acknowledged, or if the run goes on."""
    with loadpilot.start(WEIGHTED, oracle.url, *LONG.local) as running:
        assert oracle.wait_count(3 * LONG.rps, 30)
        (server,) = running.parts(Part.SERVER)
        with failing_sync(server.pid):
            refused = assert_refused_in_words(running, "input/output error")
    assert_healed(loadpilot, oracle, refused)


def assert_refused_in_words(running: Running, why: str) -> Finished:
    """Asserts that the command names the fault and the next command, and leaves no process
    behind."""
    below = descendants(running.pid)
    running.until("log unavailable: ", 60)
    finished = running.end(30)
    assert why in finished.stderr
    assert "loadpilot report" in finished.stderr
    assert finished.code == 3, finished.stderr
    assert_ended(below, 5)
    return finished


def assert_healed(loadpilot: Loadpilot, oracle: Oracle, refused: Finished) -> None:
    """Asserts that the next run is sound, and that the counts of the interrupted run add up."""
    requests = oracle.requests()
    fresh = loadpilot.run(WEIGHTED, oracle.url, *SHORT.local)
    assert fresh.judged == 0, fresh.stderr
    shown = loadpilot.call("report", refused.run, "--json")
    report = json.loads(shown.stdout)
    assert report["run"]["ending"] == "aborted"
    messages = messages_of(loadpilot.folder, refused.run)
    evidence = Evidence(refused.run, requests, messages, report)
    found = check(evidence, planned=LONG.planned, hidden=0)
    assert found == [], "\n".join(found)


@contextmanager
def failing_sync(pid: int) -> Iterator[None]:
    """Makes every sync of a process fail."""
    calls = "fsync,fdatasync,sync_file_range"
    argv = ["strace", "-f", "-qq", "-p", str(pid), "-e", f"trace={calls}"]
    argv += ["-e", f"inject={calls}:error=EIO", "-o", "/dev/null"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE) as tracer:
        try:
            yield
        finally:
            tracer.send_signal(signal.SIGINT)


@pytest.mark.slow
@pytest.mark.case(n=17)
@pytest.mark.parametrize("stream", ["LP_DATA", pytest.param("LP_CTL", marks=pytest.mark.long)])
def test_a_stream_at_its_limit_ends_the_run_in_words(
    breakable_fleet: BreakableFleet, loadpilot: Loadpilot, oracle: Oracle, stream: str
) -> None:
    """Broken if load goes on of which nothing can be reported, or if the run ends without a
    reason."""
    load = Load(100, 40)
    breakable_fleet.coordinator()
    for name in ("a-1", "a-2"):
        breakable_fleet.agent(name)
    with breakable_fleet.start(loadpilot, WEIGHTED, oracle.url, *load.fleet) as running:
        assert oracle.wait_count(2 * load.rps, 30)
        asyncio.run(limit(breakable_fleet, stream))
        if stream == "LP_CTL":
            running.signal(signal.SIGINT)
        finished = running.end(60)
    print(finished.stderr)
    assert "full" in finished.stderr
    assert finished.code in {4, 130}
    if stream == "LP_DATA":
        assert finished.report["run"]["ending"] == "log_full"
        # Calls that were sent without a log are in no delta: they count as lost.
        breakable_fleet.assert_adds_up(finished, oracle, load.planned, hidden=0)


async def limit(breakable_fleet: BreakableFleet, stream: str) -> None:
    """Limits a stream to its present size and 256 bytes more."""
    connection = await nats.connect(breakable_fleet.url, token=breakable_fleet.token)
    try:
        jetstream = connection.jetstream()
        info = await jetstream.stream_info(stream)
        config = info.config
        config.max_bytes = info.state.bytes + 256
        await jetstream.update_stream(config)
    finally:
        await connection.close()
