"""Compiled scenarios that examine responses: the report agrees with the target."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.support.command import SCENARIOS, Loadpilot

if TYPE_CHECKING:
    from tests.oracle.oracle import Oracle, Request

COMPILED = SCENARIOS / "compiled.py"
WIDE = SCENARIOS / "wide.py"
PLANNED = 400
USERS = 6


@pytest.mark.parametrize("agents", [1, 3])
def test_what_code_does_is_counted_once(loadpilot: Loadpilot, oracle: Oracle, agents: int) -> None:
    """Broken if compiled code behaves differently from its Python, or if a call or an error is
    lost."""
    oracle.status(418, path="/list", fraction=0.5)
    oracle.status(503, path="/pay", fraction=0.25)
    finished = loadpilot.run(COMPILED, oracle.url, "--agents", str(agents))
    assert finished.judged == 0, finished.stderr
    assert "no Python runs under load" in finished.stderr + finished.stdout
    requests = oracle.requests()
    seen = Counter(f"{request.method} {request.route}" for request in requests)
    assert seen["POST /login"] == seen["DELETE /session"] == USERS
    report = finished.report
    assert report["arrivals"]["started"] == report["arrivals"]["planned"] == PLANNED
    assert report["calls"]["attempted"] == sum(seen.values()) - 2 * USERS

    browse, pay = (_task(report, name) for name in ("browse", "pay"))
    assert _calls(browse) == {"GET /list": seen["GET /list"], "tea": seen["GET /tea"]}
    assert seen["GET /list"] == 300
    assert 0 < seen["GET /tea"] < 300
    assert "raised" not in browse or browse["raised"] == []
    assert _calls(pay) == {"POST /pay": 100, "GET /paid": seen["GET /paid"]}
    refused = 100 - seen["GET /paid"]
    assert pay["raised"] == [
        {"by": "task", "text": "AssertionError: no till (compiled.py:30)", "count": refused}
    ]
    assert pay["arrivals"]["task_errors"] == refused == 25


@pytest.mark.slow
def test_a_check_of_code_fails_in_pythons_words(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a failed check is not counted, or if its text differs from Python's."""
    oracle.status(404, path="/list")
    finished = loadpilot.run(COMPILED, oracle.url)
    browse = _task(finished.report, "browse")
    text = "AssertionError: assert status_code in (200, 418) (compiled.py:24)"
    assert browse["raised"] == [{"by": "check", "text": text, "count": 300}]
    shown = loadpilot.call("report", "last", "-v").stdout
    example = shown.partition("example of a failed call: browse, GET /list\n")[2].splitlines()
    assert "check_failed after" in example[0]
    assert any(line.startswith("  < HTTP/1.1 404 ") for line in example)


@pytest.mark.slow
@pytest.mark.parametrize("agents", [1, 3])
def test_code_draws_and_adds_what_python_does(
    loadpilot: Loadpilot, oracle: Oracle, agents: int
) -> None:
    """Broken if compiled code draws, takes rows, names steps or adds to metrics differently from
    Python."""
    oracle.status(503, path="/mine", fraction=0.25)
    (loadpilot.folder / "names.csv").write_text((SCENARIOS / "names.csv").read_text())
    text = WIDE.read_text(encoding="utf-8")
    seen, reports = [], []
    for flag in ("", "compile=False, "):
        before = len(oracle.requests())
        scene = text.replace("@scenario(", f"@scenario({flag}")
        finished = loadpilot.run(scene, oracle.url, "--agents", str(agents))
        assert finished.judged == 0, finished.stderr
        assert ("no Python runs under load" in finished.stderr + finished.stdout) == (not flag)
        received = oracle.requests()[before:]
        seen.append(
            Counter((_arrival(one), one.method, one.path, one.body_fnv1a) for one in received)
        )
        reports.append(finished.report)
    code, python = reports
    assert seen[0] == seen[1]
    assert sum(seen[0].values()) == code["calls"]["attempted"] + 5
    counts = {"checkout / order": 200, "checkout / GET /paid": 200}
    assert _calls(_task(code, "buy")) == _calls(_task(python, "buy")) == counts
    assert code["metrics"]["counters"] == python["metrics"]["counters"]
    assert code["metrics"]["trends"] == python["metrics"]["trends"]
    assert code["metrics"]["rates"]["found"]["count"] == 100
    assert code["run"]["feeds"] == python["run"]["feeds"]
    assert code["run"]["parameters"] == python["run"]["parameters"] == {"PLACE": "here"}


def _arrival(request: Request) -> str:
    """The number of the arrival of a call; None for a call of a hook."""
    return (request.id or "/").split("/")[1]


def _task(report: dict[str, Any], name: str) -> dict[str, Any]:
    (task,) = [task for task in report["tasks"] if task["name"] == name]
    return task


def _calls(task: dict[str, Any]) -> dict[str, int]:
    return {call["name"]: call["counts"]["attempted"] for call in task["calls"]}


@pytest.mark.slow
def test_users_of_all_cores_clean_up_at_the_same_time(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if `on_stop` of the users of a core waits for those of another core: each core would
    have ten seconds of its own. Proves nothing on a machine with one core. 9 s."""
    oracle.delay(1_500, path="/bye")
    scene = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(users=4, duration="2s", wait="0.2s")
class S(VUser):
    @task
    def t(self, client: LoadClient) -> None:
        client.get("/t")

    def on_stop(self, client: LoadClient) -> None:
        client.get("/bye")
"""
    finished = loadpilot.run(scene, oracle.url)
    assert finished.judged == 0, finished.stderr
    byes = [request for request in oracle.requests() if request.path == "/bye"]
    assert len(byes) == 4
    assert max(bye.arrival_us for bye in byes) < min(bye.end_us or 0 for bye in byes)
