"""Hooks that the command plays once per run. The target counts them; the run does not."""

from __future__ import annotations

import signal
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.python_tasks import routes

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

HEAD = "import time\nfrom loadpilot import LoadClient, VUser, scenario, setup, task, teardown\n"
SEEDED = (
    HEAD
    + """
@scenario(rps=30, duration="2s", mode="constant", users=6)
class S(VUser):
    def __init__(self) -> None:
        self.item = "none"

    @setup
    def seed(self, client: LoadClient) -> None:
        client.post("/seed").raise_for_status()
        self.item = "i-7"
        S.pages = ["a", "b"]

    def on_start(self, client: LoadClient) -> None:
        client.get(f"/hello/{self.item}")

    @task
    def t(self, client: LoadClient) -> None:
        client.get(f"/{self.item}/{self.pages[1]}")

    @teardown
    def clear(self, client: LoadClient) -> None:
        client.delete(f"/seed/{self.item}").raise_for_status()
"""
)


@pytest.mark.slow
@pytest.mark.parametrize("agents", [1, 3])
def test_a_setup_happens_once_and_all_users_see_it(
    loadpilot: Loadpilot, oracle: Oracle, agents: int
) -> None:
    """Broken if each agent runs the setup, or if users do not see the values that it stored."""
    finished = loadpilot.run(SEEDED, oracle.url, "--agents", str(agents))
    assert finished.judged == 0, finished.stderr
    assert routes(oracle.requests()) == {
        "POST /seed": 1,
        "GET /hello/i-7": 6,
        "GET /i-7/b": 60,
        "DELETE /seed/i-7": 1,
    }
    assert finished.report["calls"]["attempted"] == 60


@pytest.mark.slow
def test_a_teardown_happens_after_an_interruption(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if data that the setup created stays at the target after Ctrl-C."""
    with loadpilot.start(SEEDED, oracle.url, "--duration", "60s", "--agents", "2") as running:
        assert oracle.wait_count(30, 30)
        running.signal(signal.SIGINT)
        finished = running.end(30)
    assert finished.code == 130
    seen = routes(oracle.requests())
    assert (seen["POST /seed"], seen["DELETE /seed/i-7"]) == (1, 1)
    assert max(oracle.requests(), key=lambda one: one.arrival_us).method == "DELETE"


def test_a_failed_setup_lets_no_agent_send_anything(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if load goes to a target without the setup's data, or if the reason is not shown."""
    oracle.status(500, path="/seed*")
    finished = loadpilot.run(SEEDED, oracle.url)
    assert finished.code == 3
    assert "setup seed() failed: HTTPStatusError: the answer has the status 500" in finished.stderr
    line = 'scene_1.py:11: client.post("/seed").raise_for_status()'
    assert line in finished.stderr
    assert "no agent sent anything" in finished.stderr
    assert routes(oracle.requests()) == {"POST /seed": 1, "DELETE /seed/none": 1}
    assert "teardown clear() failed: HTTPStatusError" in finished.stderr


@pytest.mark.slow
def test_a_failed_teardown_changes_no_verdict(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a failed teardown hides the verdict of the run, or is not reported."""
    oracle.status(503, path="/bye")
    scene = HEAD + (
        """
@scenario(rps=20, duration="1s", mode="constant")
class S(VUser):
    @task
    def t(self, client: LoadClient) -> None:
        client.get("/")

    @teardown
    @staticmethod
    async def bye(client: LoadClient) -> None:
        answer = await client.get("/bye")
        answer.raise_for_status()
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    assert finished.judged == 0, finished.stderr
    assert "no Python runs under load" in finished.stderr
    assert "error: teardown bye() failed: HTTPStatusError" in finished.stderr
    assert Counter(routes(oracle.requests())) == {"GET /": 20, "GET /bye": 1}


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_setup_that_waits_for_ever_is_interrupted(
    loadpilot: Loadpilot, oracle: Oracle, kind: str
) -> None:
    """Broken if Ctrl-C waits for a target that does not answer, or if the teardown is not
    played."""
    oracle.silent(path="/seed")
    scene = SEEDED.replace("def seed", f"{kind} seed").replace("i-7", "i")
    if kind == "async def":
        scene = scene.replace('client.post("/seed")', '(await client.post("/seed"))')
    scene = scene.replace("{self.item}", "item")
    with loadpilot.start(scene, oracle.url) as running:
        assert oracle.wait_count(1, 30)
        running.signal(signal.SIGINT)
        finished = running.end(20)  # a target that never answers: 30 s
    assert finished.code == 130
    assert "interrupted before the run was started" in finished.stderr
    assert routes(oracle.requests()) == {"POST /seed": 1, "DELETE /seed/item": 1}
    assert "Error" not in finished.stderr


def test_a_dry_run_sends_nothing_and_says_what_would_happen(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a dry run plays the setup, or does not mention that a run would."""
    finished = loadpilot.run(SEEDED, oracle.url, "--dry-run")
    assert finished.code == 0
    assert "  scene_1.py:9: seed() runs once, before the users" in finished.stderr
    assert "  scene_1.py:22: clear() runs once, when the run is over" in finished.stderr
    assert oracle.counts().received == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clean_up", "error"),
    [
        ('raise ValueError("no")', "ValueError: no (scene_1.py:11)"),
        ('client.get("/silent", timeout=60)', "it took longer than 10 s for all users together"),
    ],
    ids=["raised", "cut off"],
)
@pytest.mark.parametrize("compiles", ["True", "False"])
def test_failures_of_on_stop_are_warned_of(
    loadpilot: Loadpilot, oracle: Oracle, compiles: str, clean_up: str, error: str
) -> None:
    """Broken if users learn nothing of an `on_stop` that failed or was cut off, or if it changes
    the verdict. 16 s to 28 s each."""
    oracle.silent(path="/silent")
    scene = f"""
from loadpilot import LoadClient, VUser, scenario, task

@scenario(users=4, duration="1s", wait="0.2s", compile={compiles})
class S(VUser):
    @task
    def t(self, client: LoadClient) -> None:
        client.get("/t")

    def on_stop(self, client: LoadClient) -> None:
        {clean_up}
"""
    finished = loadpilot.run(scene, oracle.url)
    assert finished.judged == 0, finished.stderr
    warning = f": on_stop failed for 4 of 4 users: {error}"
    assert finished.stderr.count(warning) == 1
    assert sum(warning in line["text"] for line in finished.report["story"]) == 1
