"""A load model that was derived from an access log makes the requests of that log."""

from __future__ import annotations

from collections import Counter
from math import sqrt
from random import Random
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

SHARES = {"/": 0.25, "/search": 0.3, "/items/{id}": 0.45}


def write_log(path: Path) -> Counter[str]:
    """Write a log of 30 clients; return the count of each path."""
    random, paths = Random(7), Counter[str]()  # noqa: S311
    with path.open("w") as file:
        for second in range(0, 3_000, 3):
            at = f"26/Nov/2026:{10 + second // 3600}:{second // 60 % 60:02}:{second % 60:02} +0000"
            [route] = random.choices(list(SHARES), list(SHARES.values()))
            asked = route.replace("{id}", str(min(random.randrange(8), random.randrange(8))))
            asked += f"?q={random.randrange(5)}" if route == "/search" else ""
            paths[asked] += 1
            file.write(f'10.0.0.{second % 30} - - [{at}] "GET {asked} HTTP/1.1" 200 5 "-" "b"\n')
    return paths


def route_of(path: str) -> str:
    """The route of a path in the log."""
    return "/items/{id}" if path.startswith("/items/") else path.partition("?")[0]


@pytest.mark.parametrize("agents", [1, 3])
def test_a_derived_model_makes_the_requests_of_its_log(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path, agents: int
) -> None:
    """Broken if a path of the log is requested more or less often than in the log, or never.
    8 s."""
    logged = write_log(tmp_path / "access.log")
    model = tmp_path / "shop.toml"
    derived = loadpilot.call("model", "from-log", str(tmp_path / "access.log"), "-o", str(model))
    assert derived.code == 0, derived.stderr
    load = ("--users", "30", "--wait", "30ms", "--duration", "4s", "--agents", str(agents))
    finished = loadpilot.run(model, oracle.url, *load)
    assert finished.judged == 0, finished.stderr
    assert "no Python runs under load" in finished.stderr + finished.stdout
    asked = Counter(request.path for request in oracle.requests())
    assert set(asked) == set(logged)
    assert asked.total() == finished.report["calls"]["attempted"] > 1_000
    for route in SHARES:
        share, found = (
            sum(count for path, count in counts.items() if route_of(path) == route) / counts.total()
            for counts in (logged, asked)
        )
        assert abs(found - share) < 5 * sqrt(share * (1 - share) / asked.total()), route
