"""Users that block all others: they are named, and ended if they never stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.python_tasks import HEAD, routes, task_of

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle


def test_a_user_that_blocks_is_named_with_its_line(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a task that blocks all users of its agent looks like a slow target."""
    oracle.delay(3000, path="/slow")
    scene = (
        HEAD
        + f"""
from urllib.request import urlopen

@scenario(rps=20, duration="3s", mode="constant", users=4, max_wait="10s")
class S(VUser):
    done = False

    @task
    def t(self, client: LoadClient) -> None:
        client.get("/before")
        if not S.done:
            S.done = True
            urlopen("{oracle.url}/slow").read()
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    (raised,) = task_of(finished, "t")["raised"]
    line = next(n for n, text in enumerate(scene.splitlines(), 1) if "/slow" in text)
    where = f'urlopen("{oracle.url}/slow").read() (scene_1.py:{line})'
    instead = "use the client that the task is given"
    assert raised["by"] == "blocking"
    assert raised["count"] == 1
    assert raised["text"] == f"kept every user waiting: {where}; {instead}"
    assert task_of(finished, "t")["arrivals"]["task_errors"] == 0
    assert "kept every user waiting" in finished.stdout


@pytest.mark.slow
def test_a_loop_without_an_end_is_ended(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if one endless loop makes an endless run."""
    scene = (
        HEAD
        + """
@scenario(rps=10, duration="2s", mode="constant", users=2)
class S(VUser):
    done = False

    @task
    def t(self, client: LoadClient) -> None:
        client.get("/before")
        if not S.done:
            S.done = True
            while True:
                pass
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    errors = {raised["by"]: raised["text"] for raised in task_of(finished, "t")["raised"]}
    assert set(errors) == {"task", "blocking"}
    assert errors["task"].startswith("TookTooLong: ")
    assert "(scene_1.py:13); rest with time.sleep" in errors["blocking"]
    assert set(routes(oracle.requests())) == {"GET /before"}
