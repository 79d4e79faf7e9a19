"""Judges ``loadpilot search`` by targets of known capacity: 19 of 20 right, or better.

    python -m tests.nightly.searches FIRST_SEED NUMBER

For each seed a target has workers and a service time drawn from it, so that its capacity is
arithmetic. Right is a result within 2 % of it; the number of probes must be that of doublings,
bisections and confirmations.

The table goes to standard output, as Markdown. Exit code 1: fewer were right than the limits say.
"""

from __future__ import annotations

import json
import math
import platform
import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from tests.e2e.support.command import Loadpilot
from tests.oracle.oracle import Oracle, built_binary

RIGHT_OF_20 = 19
"""Least number of right results of 20 targets."""
SCENE = """
from loadpilot import VUser, scenario, task

@scenario(rps=1, duration="1s")
class One(VUser):
    @task
    def only(self, client):
        client.get("/only")
"""
PROBE_S, START, CONFIRM = 4.0, 20.0, 1
EXTRA_MS = 40.0
"""Time above the service time that the gate allows: at 1 % more than the capacity a queue reaches
it after 95 % of a probe of 4 s."""
WITHIN = 0.02


@dataclass(frozen=True, slots=True)
class Target:
    """A server of known capacity."""

    workers: int
    service_ms: float

    @classmethod
    def of(cls, seed: int) -> Target:
        """Draw it."""
        dice = random.Random(seed)  # noqa: S311 - repeated by its seed
        return cls(dice.randrange(1, 9), float(dice.randrange(8, 40)))

    @property
    def capacity(self) -> float:
        """Requests per second that the target serves."""
        return self.workers / self.service_ms * 1_000

    @property
    def probes_max(self) -> int:
        """Number of probes of a steady target."""
        bracket = abs(math.ceil(math.log2(self.capacity / START)))
        return 2 + bracket + math.ceil(math.log2(1 / WITHIN)) + 1 + CONFIRM


def searched(target: Target, seed: int, folder: Path) -> dict[str, Any]:
    """Search the maximum of this target; return the result."""
    loadpilot = Loadpilot(folder)
    path = folder / "scene.py"
    path.write_text(SCENE, encoding="utf-8")
    slo = f"p95_ms={target.service_ms + EXTRA_MS:g}"
    flags = ("--slo", slo, "--probe", f"{PROBE_S}s", "--cooldown", "1s", "--seed", str(seed))
    more = ("--start", f"{START:g}", "--confirm", str(CONFIRM), "--output", "json")
    with Oracle(built_binary(), folder / "target.jsonl") as oracle:
        oracle.queue(target.workers, target.service_ms)
        argv = ("search", str(path), "--target", oracle.url, *flags, *more)
        with loadpilot.begin(*argv) as running:
            finished = running.end(600.0)
    found: dict[str, Any] = json.loads(finished.stdout)
    return found


def main(words: list[str]) -> int:
    """Judge the named number of seeds; return 1 when too few results are right."""
    first, number = map(int, words)
    right = 0
    print(f"Python {platform.python_version()}, {platform.platform()}\n", flush=True)
    print("| seed | capacity | found | distance | probes | at most | took | |")
    print("| -- | -- | -- | -- | -- | -- | -- | -- |", flush=True)
    for seed in range(first, first + number):
        target, begin = Target.of(seed), monotonic()
        with tempfile.TemporaryDirectory() as folder:
            found = searched(target, seed, Path(folder))
        maximum = found["max_rate_rps"]
        off = math.inf if maximum is None else maximum / target.capacity - 1
        is_right = abs(off) <= WITHIN and len(found["probes"]) <= target.probes_max
        right += is_right
        row = (
            *(str(seed), f"{target.workers} / {target.service_ms:g} ms = {target.capacity:.1f}/s"),
            *("—" if maximum is None else f"{maximum:g}/s", f"{off:+.2%}"),
            *(str(len(found["probes"])), str(target.probes_max), f"{monotonic() - begin:.0f} s"),
            "right" if is_right else "WRONG",
        )
        print(f"| {' | '.join(row)} |", flush=True)
    print(f"\nright of {number}: {right}")
    return 0 if right >= number * RIGHT_OF_20 // 20 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
