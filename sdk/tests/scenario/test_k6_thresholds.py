"""Thresholds in the forms of k6: one meaning, or an error that names the right form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from loadpilot.compile.scenario.thresholds import Measurable, assignment, key_of, threshold

if TYPE_CHECKING:
    from sdk.tests.conftest import Compile, Refuse

RUN = Measurable.in_log(["browse"])
UNDERSTOOD = {
    "p(99)<500": ("p99_ms", "<", 500),
    "p(99.9) <= 5": ("p99_9_ms", "<=", 5),
    "http_req_duration p(95)<500": ("p95_ms", "<", 500),
    "http_req_duration: med<30": ("p50_ms", "<", 30),
    "avg<200": ("mean_ms", "<", 200),
    "max<900": ("max_ms", "<", 900),
    "browse:p(95)<3": ("browse:p95_ms", "<", 3),
    "rate<0.01": ("error_rate", "<", 1),
    "http_req_failed rate<=0.005": ("error_rate", "<=", 0.5),
    "checks rate>0.99": ("checks", ">", 99),
}
AMBIGUOUS = {
    "p(42)<5": "p50_ms",
    "min<5": "p50_ms",
    "p(99)=500": "p99_ms=500",
    "rate=0.01": "needs an operator",
    "rate<5": "error_rate<PERCENT",
    "rate>0.9": "checks>PERCENT",
    "http_reqs rate>50": "achieved_rps>=50",
    "http_reqs count>50": "achieved_rps",
    "http_req_duration{name:x} p(95)<5": "TASK:p99_ms<500",
    "http_req_waiting p(95)<5": "p95_ms",
}
SCENE = """
@scenario(rps=1, duration="2s", thresholds={said})
class Shop(VUser):
    @task
    def browse(self, client: LoadClient) -> None:
        client.get("/")
"""


@pytest.mark.parametrize("text", UNDERSTOOD)
def test_a_form_of_k6_is_a_threshold_here(text: str) -> None:
    """Broken if a share is read as a percentage, or if a limit changes its direction."""
    pair = assignment(text)
    assert pair is not None
    built, problems = threshold("--threshold", *pair, RUN)
    assert problems == []
    assert built is not None
    assert (key_of(built), built["operator"], built["limit"]) == UNDERSTOOD[text]


@pytest.mark.parametrize("text", AMBIGUOUS)
def test_a_form_without_one_meaning_is_refused(text: str) -> None:
    """Broken if an unclear text becomes a gate, or if the error names no valid form."""
    pair = assignment(text)
    assert pair is not None
    built, (problem,) = threshold("--threshold", *pair, RUN)
    assert built is None
    assert AMBIGUOUS[text] in problem.what


def test_a_scenario_may_have_the_options_of_k6(compile_text: Compile, refuse_text: Refuse) -> None:
    """Broken if one gate of a list is dropped, or two gates of one key become one."""
    said = {"http_req_duration": ["p(95)<500", "avg<200"], "http_req_failed": ["rate<0.01"]}
    assert compile_text(SCENE.format(said=said)).plan["thresholds"] == [
        {"metric": "p95_ms", "limit": 500.0, "operator": "<"},
        {"metric": "mean_ms", "limit": 200.0, "operator": "<"},
        {"metric": "error_rate", "limit": 1.0, "operator": "<"},
    ]
    (problem,) = refuse_text(SCENE.format(said={"p(99)": "<500", "p99_ms": 300}))
    assert "must have p99_ms once" in problem.what
    (problem,) = refuse_text(SCENE.format(said={"p99_ms": []}))
    assert "must be a number" in problem.what
