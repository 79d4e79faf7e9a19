"""The output of a search, and of a comparison of two searches."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest

from loadpilot.cli.commands.search.max_rate import max_rate_text
from loadpilot.cli.commands.search.probe_plan import rate_text
from loadpilot.cli.commands.search.probe_view import ERASE, ProbeView
from loadpilot.cli.commands.search.search_run import resume_command
from loadpilot.cli.commands.search.search_text import conclusion, probe_line
from loadpilot.cli.output.live import PlanInfo


def probe(rate: float, verdict: str, *reasons: str, limited_by: str | None = None) -> Any:
    return {
        "run": "01k",
        "rate_urps": round(rate * 1e6),
        "verdict": verdict,
        "reasons": list(reasons),
        "limited_by": limited_by,
        "p50_ms": 20.0,
        "p95_ms": 21.25,
        "p99_ms": None,
        "error_rate_pct": 0.0,
    }


def search(state: str, **more: Any) -> dict[str, Any]:
    found = {"state": state, "max_rate_rps": None, "lower_rps": None, "upper_rps": None}
    return {**found, "probes": [], **more}


GATHERING: Any = {"gathering": {"ready": 0, "min": 1, "want": 1, "left_secs": 9.0}}
PROBES = [probe(200, "passed"), probe(204, "failed", "p95_ms 99.0, must be <= 60")] * 2


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (
            search("found", max_rate_rps=200.0, lower_rps=200.0, upper_rps=204.0, probes=PROBES),
            (
                "maximum working rate 200/s: it passed 2 times, and 204/s failed "
                "(p95_ms 99.0, must be <= 60)"
            ),
        ),
        (
            search("at_limit", max_rate_rps=1_000.5, lower_rps=1_000.5),
            "maximum working rate 1,000.5/s or more: the limit of the search passed",
        ),
        (search("no_rate", upper_rps=0.3125), "no working rate: 0.3125/s failed already"),
        (
            search("unsettled", probes=PROBES),
            "no maximum working rate after 4 probes: the target passes and fails by chance",
        ),
        (search("searching"), "the search was not completed: no rate was judged"),
        (
            search("searching", probes=[probe(20, "no_server")]),
            "no server answers, and the search was not completed: no rate was judged",
        ),
        (
            search("searching", lower_rps=20.0),
            "the search was not completed: 20/s passed, none failed",
        ),
        (
            search("searching", upper_rps=20.0),
            "the search was not completed: none is known to work, 20/s failed",
        ),
    ],
)
def test_the_last_line_says_what_was_found(found: dict[str, Any], line: str) -> None:
    """Broken if a search without a result reads as if it had one."""
    assert conclusion(found) == line


def test_a_probe_has_one_line_and_its_reasons() -> None:
    """Broken if the limit of the load generator reads as the target's, or if text moves the
    cursor."""
    text = probe_line(3, "bisect", probe(1_270.5, "failed", "a\x1b[2Jb", limited_by="generator"))
    first, generator, reason = text.split("\n")
    assert first.split()[:4] == ["3", "✗", "fails", "1,270.5/s"]
    assert "p95     21.2 ms" in first
    assert "p99           —" in first
    assert first.endswith("bisect   01k")
    assert generator.strip() == "the load generator was the limit, not the target"
    assert reason.strip() == r"a\x1b[2Jb"


@pytest.mark.parametrize(
    ("urps", "text"), [(20_000_000, "20"), (202_500_000, "202.5"), (1, "0.000001")]
)
def test_a_rate_is_written_in_full(urps: int, text: str) -> None:
    """Broken if the plan of a probe has another rate than the search decided."""
    assert rate_text(urps) == text


def test_the_command_that_goes_on_holds_no_secret() -> None:
    """Broken if a token is printed, or if --resume appears twice."""
    words = ["search", "a b.py", "--nats-token", "t0k3n", "--nats-token=t0k3n", "--start", "5"]
    command = resume_command(words, "01k")
    assert command == (
        "loadpilot search 'a b.py' --nats-token … '--nats-token=…' --start 5 --resume 01k"
    )
    urls = ["--nats-url", "nats://u:pw@h:1,nats://h:2", "--nats-url=nats://u:pw@h"]
    words = ["search", "a.py", *urls]
    command = resume_command(words, "01k")
    assert command == (
        "loadpilot search a.py --nats-url nats://h:1,nats://h:2 --nats-url=nats://h --resume 01k"
    )
    assert resume_command(["search", "a.py", "--resume", "01k"], "01k").count("--resume") == 1


def compared(**more: Any) -> dict[str, Any]:
    side = {"id": "01k", "rate_rps": 200.0, "upper_rps": 204.0}
    return {
        "baseline": side,
        "current": {**side, "rate_rps": 150.0, "upper_rps": 153.0},
        "threshold_pct": 10.0,
        "change_pct": -25.0,
        "overlaps": False,
        "obstacles": [],
        "remarks": [],
        "regressed": True,
        **more,
    }


def test_a_comparison_ends_with_its_judgement() -> None:
    """Broken if a regression, a difference by chance and a missing judgement look alike."""
    assert max_rate_text(compared()).splitlines() == [
        "baseline           200/s, 204/s failed  01k",
        "current            150/s, 153/s failed  01k",
        "✗ lower by 25.0 %, threshold 10 %",
    ]
    chance = max_rate_text(compared(regressed=False, overlaps=True, change_pct=-1.0))
    assert chance.splitlines()[-1].endswith("(-1.0 %), the intervals overlap")
    obstacle = max_rate_text(compared(regressed=False, obstacles=["search 01k is not over"]))
    assert obstacle.splitlines()[-2:] == ["obstacle: search 01k is not over", "not judged"]


def test_the_live_line_is_replaced_and_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken if live figures stay beside the result, or wrap at the edge of the terminal."""
    monkeypatch.setenv("COLUMNS", "30")
    screen, said = StringIO(), list[str]()
    view = ProbeView(PlanInfo("Shop"), said.append, screen)
    view.show(GATHERING)
    assert screen.getvalue() == f"{ERASE}waiting for agents: 0 of 1 re"
    view.tell("stopping\x07")
    view.close()
    assert screen.getvalue().endswith(ERASE * 2)
    assert said == [r"stopping\x07"]
