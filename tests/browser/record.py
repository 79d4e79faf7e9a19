"""Records `recorded_runs/`: one run of each kind that the pages must distinguish.

    .venv/bin/python -m tests.browser.record [KIND…]

Each run is made by the real command against the oracle, in one to twenty seconds; what is stored is
the store of its nats-server, which is all that is needed to read it.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import tarfile
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.scenes import CHAT, CLOSED, MEASURED, SHOP
from tests.e2e.load.test_streams import Sent, model
from tests.e2e.support.command import Loadpilot
from tests.e2e.support.processes import Part
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.support.command import Running

FOLDER = Path(__file__).with_name("recorded_runs")
START_S = 30.0
FROZEN_S = 3.0


@dataclass(slots=True)
class Recording:
    """A running run, and the actions of a kind on it."""

    loadpilot: Loadpilot
    oracle: Oracle
    running: Running

    def wait(self, requests: int) -> None:
        """Waits until the target has received this number of requests."""
        assert self.oracle.wait_count(requests, START_S), f"the target has no {requests} requests"

    def steer(self, *words: str) -> None:
        """Executes a steering command on the run."""
        told = self.loadpilot.call(words[0], self.run, *words[1:])
        assert told.code == 0, told.stderr

    @property
    def run(self) -> str:
        """The id of the run."""
        said = self.running.output
        return next(line.split()[1].rstrip(",") for line in said.splitlines() if "run 0" in line)


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of run is made."""

    scene: str
    flags: tuple[str, ...] = ()
    behaviours: tuple[str, ...] = ()
    act: Callable[[Recording], None] = lambda _: None


def flags(secs: int, rps: int = 20) -> tuple[str, ...]:
    return ("--rps", str(rps), "--duration", f"{secs}s")


def kill(one: Recording) -> None:
    one.wait(100)
    os.kill(one.running.parts(Part.AGENT)[0].pid, signal.SIGKILL)


def freeze(one: Recording) -> None:
    one.wait(60)
    pid = one.running.parts(Part.AGENT)[0].pid
    os.kill(pid, signal.SIGSTOP)
    time.sleep(FROZEN_S)
    os.kill(pid, signal.SIGCONT)


def stop(one: Recording) -> None:
    one.wait(100)
    one.steer("stop")


def pause(one: Recording) -> None:
    one.wait(60)
    one.steer("pause")
    time.sleep(3)
    one.steer("resume")


def change_rate(one: Recording) -> None:
    one.wait(60)
    one.steer("rate", "40")


KINDS = {
    "good": Kind(SHOP, (*flags(6), "--warm-up", "1s", "--tag", "branch=main")),
    "failing": Kind(SHOP, flags(6), ("status 503 path=/buy fraction=0.3",)),
    "stalling": Kind(
        SHOP.replace("max_wait", "max_in_flight=4,\n    max_wait"),
        flags(8),
        ("freeze after_first_ms=2000 for_ms=2000",),
    ),
    "streams": Kind(CHAT, flags(5)),
    "metrics": Kind(MEASURED, flags(6), ("status 503 path=/orders fraction=0.25",)),
    "target_down": Kind(SHOP, flags(8), ("refuse",)),
    "closed_loop": Kind(CLOSED, ("--duration", "6s"), ("delay 20",)),
    "killed_agent": Kind(SHOP, flags(18), act=kill),
    "frozen_agent": Kind(SHOP, flags(9), act=freeze),
    "stopped": Kind(SHOP, flags(20), act=stop),
    "paused": Kind(SHOP, flags(14), act=pause),
    "rate_changed": Kind(SHOP, flags(10), act=change_rate),
}


def record(name: str, kind: Kind, folder: Path) -> None:
    """Makes one run, and stores its log."""
    loadpilot = Loadpilot(folder / "work")
    with ExitStack() as parts:
        log = folder / "oracle.jsonl"
        oracle = parts.enter_context(Oracle(built_binary(), log))
        for line in kind.behaviours:
            oracle.command(line)
        target = parts.enter_context(model(Sent())) if kind.scene is CHAT else oracle.url
        command = loadpilot.start(kind.scene, target, "--agents", "2", *kind.flags)
        running = parts.enter_context(command)
        running.run_id()
        kind.act(Recording(loadpilot, oracle, running))
        finished = running.end()
    assert finished.results.is_file(), finished.stderr
    archive(loadpilot.log / "log-1" / "store", FOLDER / f"{name}.tar.gz")
    print(name, finished.report["run"]["ending"], finished.report["verdict"]["passed"])


def archive(store: Path, file: Path) -> None:
    """Stores a folder as `store/`."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=9) as archive:
        archive.add(store, arcname="store", filter=anonymous)
    file.write_bytes(packed.getvalue())


def anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Removes the owner of a file from the archive."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def main(names: list[str]) -> None:
    """Records the named kinds, or all."""
    FOLDER.mkdir(exist_ok=True)
    for name in names or KINDS:
        with tempfile.TemporaryDirectory() as folder:
            record(name, KINDS[name], Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
