"""Fixtures of the fault tests, and the files that are kept of a test that failed."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import Running
from tests.e2e.support.fixtures import fleet, loadpilot, oracle
from tests.faults.support.breakable_fleet import BreakableFleet
from tests.faults.support.noise import NOT_JUDGED, NoiseMonitor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["artefacts", "breakable_fleet", "fleet", "loadpilot", "noise_monitor", "oracle", "rng"]

HERE = Path(__file__).parent
KEPT = Path(os.environ.get("LOADPILOT_FAULTS_KEPT", "target/faults"))
"""Folder for the files of a case that failed."""
SEED = "LOADPILOT_FAULTS_SEED"
LEFT_OUT: list[str] = []
FAILED = pytest.StashKey[bool]()


@pytest.fixture
def breakable_fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BreakableFleet]:
    """A fleet without members, on a nats-server that can be killed."""
    with BreakableFleet(tmp_path, monkeypatch) as breakable_fleet:
        yield breakable_fleet


@pytest.fixture
def noise_monitor() -> Iterator[NoiseMonitor]:
    """Measures whether the machine is quiet enough to judge times."""
    with NoiseMonitor() as noise_monitor:
        yield noise_monitor


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """Random numbers of a printed seed; `LOADPILOT_FAULTS_SEED` repeats them."""
    seed = int(os.environ.get(SEED) or random.SystemRandom().getrandbits(32))
    request.node.user_properties.append(("seed", seed))
    print(f"{SEED}={seed}")
    return random.Random(seed)  # noqa: S311  (draws of a test)


@pytest.fixture(autouse=True)
def artefacts(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """Keeps log folder, output of processes and oracle log of a case that failed."""
    Running.started.clear()
    yield
    if not request.node.stash.get(FAILED, False):
        return
    place = KEPT / request.node.name.replace("/", "_")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for number, process in enumerate(Running.started):
        output = " ".join(process.argv) + "\n" + process.output
        (place / f"process-{number}.txt").write_text(output, encoding="utf-8")
    # Sockets and pipes cannot be copied. A file that vanishes meanwhile is not missed.
    shutil.copytree(tmp_path, place / "files", copy_function=_copy, ignore_dangling_symlinks=True)
    known = json.dumps(dict(request.node.user_properties))
    (place / "seed.json").write_text(known, encoding="utf-8")
    print(f"kept: {place.resolve()}")


def _copy(source: str, target: str) -> None:
    if Path(source).is_file():
        shutil.copyfile(source, target)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    del call
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the cases that judge times: `./dev test` runs no other test beside them. Those with a
    long timeout begin first, so that no worker ends with a long one."""
    for item in items:
        is_case = HERE in item.path.parents  # the hook gets the items of all folders
        if is_case and "noise_monitor" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timed)
    items.sort(key=_timeout_secs, reverse=True)


def _timeout_secs(item: pytest.Item) -> int:
    """Limit that a case sets for itself; 0 for cases without one and for all other tests."""
    timeout = item.get_closest_marker("timeout")
    return timeout.args[0] if timeout and item.get_closest_marker("case") else 0


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Notes the long cases that were deselected."""
    LEFT_OUT.extend(item.nodeid for item in items if item.get_closest_marker("long"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Names the tests that were left out and the times that were not judged."""
    if LEFT_OUT:
        line = f"{len(LEFT_OUT)} LONG TESTS WERE LEFT OUT: ./dev nightly runs them"
        terminalreporter.write_line(line, yellow=True, bold=True)
    for name in NOT_JUDGED:
        terminalreporter.write_line(f"NOT JUDGED, the machine is noisy: {name}", yellow=True)
