"""Scenario files in the forms of earlier versions of the DSL: they run without a change."""

from __future__ import annotations

import subprocess
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import SCENARIOS
from tests.oracle.oracle import built_binary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

RPS = 20
SHORT = ("--rps", str(RPS), "--duration", "2s")
USERS = 5


@contextmanager
def demo_target(counted: Counter[str]) -> Iterator[str]:
    """Starts the demo target as a user does; `counted` gets its own counts when it has ended."""
    binary = built_binary().with_name("loadpilot-target")
    argv = [str(binary), "--port", "0", "--until-eof"]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1].rstrip("/")
            said, _ = process.communicate(timeout=20)
        finally:
            process.kill()
    for pair in said.split(", "):
        name, count = pair.split()
        counted[name] += int(count)


@pytest.mark.slow
def test_a_scenario_without_a_base_class_runs(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a class without VUser, or one with on_start and no on_stop, does not run."""
    file = SCENARIOS / "without_base.py"
    finished = loadpilot.run(
        file, oracle.url, *SHORT, "--mode", "constant", "--scenario", "CheckoutFlow"
    )
    assert finished.judged == 0, finished.stderr
    seen = Counter(one.route for one in oracle.requests())
    assert seen.pop("/auth/login") == USERS
    assert seen["/api/products"] > seen["/api/cart"] > 0
    assert sum(seen.values()) == RPS * 2 == finished.report["arrivals"]["started"]


@pytest.mark.slow
def test_a_plain_class_of_requests_is_compiled(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a class without VUser is refused, or is not compiled although it could be."""
    file = SCENARIOS / "without_base.py"
    finished = loadpilot.run(
        file, oracle.url, *SHORT, "--mode", "constant", "--scenario", "HealthCheckFlow"
    )
    assert finished.judged == 0, finished.stderr
    assert "static: every task is compiled" in finished.stderr
    assert [one.route for one in oracle.requests()] == ["/health"] * RPS * 2


@pytest.mark.parametrize("name", ["LoggedIn", "Checked", "TwoValues"])
def test_the_callback_style_runs_against_the_demo_target(name: str, loadpilot: Loadpilot) -> None:
    """Broken if a file that logs in by `access_token` and checks by callbacks fails, or if its
    checks examine nothing."""
    counted = Counter[str]()
    with demo_target(counted) as url:
        file = SCENARIOS / "callbacks.py"
        finished = loadpilot.run(file, url, *SHORT, "--mode", "constant", "--scenario", name)
    assert finished.judged == 0, finished.stderr
    report = finished.report
    assert not [task for task in report["tasks"] if task.get("raised")]
    if name != "LoggedIn":
        assert report["checks"] == {"passed": RPS * 2, "failed": 0}
    assert counted == {"answered": RPS * 2 + USERS, "refused": 0}
