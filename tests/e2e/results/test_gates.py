"""A gate never passes by accident: with any fault, the exit code is not 0 and names the kind of
fault."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import VOID
from tests.oracle.oracle import CountKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

SCENE = """
from loadpilot import LoadClient, VUser, scenario, task


@scenario(rps=50, duration="2s", mode="constant"{more})
class Gated(VUser):
    @task
    def get(self, client: LoadClient) -> None:
        client.get("/get")
"""


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of run that must not pass, and how the command must end."""

    name: str
    code: int
    says: str
    """Part of the summary, or of standard error when nothing was started."""
    scene: str = ""
    behaviours: Sequence[str] = ()
    flags: Sequence[str] = ()
    starts: bool = True


CASES = (
    Case("a gate that holds", 0, "✓ p99_ms", flags=["--threshold", "p99_ms=5000"]),
    Case("no gates at all", 0, "thresholds   none"),
    Case("nothing is answered", 1, "no request was answered well", 'timeout="300ms"', ["silent"]),
    Case(
        "nothing is measured",
        1,
        "no request was finished outside the warm-up",
        flags=["--rps", "0.5", "--warm-up", "1s", "--threshold", "p99_ms=5000"],
    ),
    Case("only errors", 1, "no request was answered well", behaviours=["status 503"]),
    Case(
        "too many errors",
        1,
        "✗ error_rate",
        behaviours=["status 500 fraction=0.1"],
        flags=["--threshold", "error_rate=9"],
    ),
    Case("too slow", 1, "✗ p50_ms", behaviours=["delay 30"], flags=["--threshold", "p50_ms=20"]),
    Case("too slow in one task", 1, "✗ get:p50_ms", 'thresholds={"get:p50_ms": 20}', ["delay 30"]),
    Case("too few a second", 1, "✗ achieved_rps", flags=["--threshold", "achieved_rps=51"]),
    Case(
        "too many dropped",
        1,
        "✗ dropped_rate",
        'max_in_flight=1, max_wait="100ms"',
        ["delay 400"],
        ["--threshold", "dropped_rate=10"],
    ),
    Case(
        "an unknown gate",
        2,
        "did you mean 'p99_ms'?",
        flags=["--threshold", "p99ms=500"],
        starts=False,
    ),
    Case(
        "a gate for an unknown task",
        2,
        "unknown task 'got'",
        flags=["--threshold", "got:p99_ms=500"],
        starts=False,
    ),
    Case(
        "a gate that is no number",
        2,
        "must be a number that is finite",
        flags=["--threshold", "p99_ms=nan"],
        starts=False,
    ),
    Case(
        "the same in the scenario",
        2,
        "must be a number that is finite",
        'thresholds={"p99_ms": float("nan")}',
        starts=False,
    ),
)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_exit_code_says_how_a_run_came_out(
    loadpilot: Loadpilot, oracle: Oracle, case: Case
) -> None:
    """Broken if the exit code of a run is wrong. Each of these runs has passed in some tool."""
    for line in case.behaviours:
        oracle.command(line)
    scene = SCENE.format(more=f", {case.scene}" if case.scene else "")
    finished = loadpilot.run(scene, oracle.url, *case.flags)
    assert finished.judged == case.code, finished.stdout + finished.stderr
    assert case.says in (finished.stdout if case.starts else finished.stderr)
    if case.starts:
        verdict = finished.report["verdict"]
        assert verdict["passed"] is (case.code == 0)
        passing = VOID if finished.is_void else "PASS"
        assert finished.stdout.startswith(f"verdict      {'FAIL' if case.code else passing}\n")
        assert oracle.counts().received == finished.report["calls"]["attempted"]
    else:
        assert finished.stdout == ""
        assert not loadpilot.log.exists()
        assert oracle.counts().connections == 0


@pytest.mark.slow
def test_a_target_that_refuses_connections_is_not_green(loadpilot: Loadpilot) -> None:
    """Broken if a run without gates passes although no request reached a server."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # not listening: connections are refused, the port is taken
        target = f"http://127.0.0.1:{closed.getsockname()[1]}"
        finished = loadpilot.run(SCENE.format(more=""), target)
    assert finished.code == 3, finished.stderr
    assert finished.report["calls"]["outcomes"]["connect"] == 100
    assert "no request was answered well" in finished.stdout


@pytest.mark.slow
def test_a_good_warm_up_does_not_excuse_what_is_measured(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if calls of the warm-up count for a gate."""
    scene = SCENE.format(more="")
    with loadpilot.start(scene, oracle.url, "--duration", "6s", "--warm-up", "5s") as running:
        assert oracle.wait_count(20, 30, CountKind.ENDED)
        oracle.status(500)
        finished = running.end()
    report = finished.report
    assert report["calls"]["outcomes"]["ok"] >= 20
    assert report["status"] == {"500": 50}
    assert report["error_rate_pct"] == 100
    assert finished.judged == 1, finished.stdout
    assert "no request was answered well" in finished.stdout
