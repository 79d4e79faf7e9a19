"""Redirects of steps: followed on request, within the call and the origin of the target."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from tests.e2e.support.echo import echo

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

RPS = 40
SCENE = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(rps=40, duration="1s", mode="constant", connections={{"redirects": 2}})
class Shop(VUser):
    @task
    def look(self, client: LoadClient) -> None:
        client.post("{path}", json={{"a": 1}}, headers={{"Authorization": "Bearer made-up"}})
"""


def seen(received: list[Any]) -> Counter[str]:
    return Counter(f"{method} {path}" for method, path, _, _ in received)


def test_redirects_are_counted_and_belong_to_their_call(loadpilot: Loadpilot) -> None:
    """Broken if a call with a redirect is counted twice, or a request of the target is missing.

    Costs 3 s.
    """
    with echo() as (url, received):
        finished = loadpilot.run(SCENE.format(path="/redirect/302/a"), url)
    assert finished.judged == 0, finished.stderr
    assert seen(received) == {"POST /redirect/302/a": RPS, "GET /landed?from=a": RPS}
    report = finished.report
    assert report["calls"]["attempted"] == RPS
    assert report["status"] == {"200": RPS}
    assert report["generator"]["redirects"] == RPS
    assert report["run"]["connections"] == {"redirects_max": 2}
    assert f"redirects    followed: {RPS}\n" in finished.stdout
    assert "at most 2 redirects followed in a call" in finished.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("flags", "left"), [((), RPS), (("--redirects", "0"), 0)])
def test_another_origin_is_not_followed(
    flags: tuple[str, ...], left: int, loadpilot: Loadpilot
) -> None:
    """Broken if a secret of the scenario leaves its target, or if a call that ended with a redirect
    looks like one that was followed.

    Costs 3 s each.
    """
    with echo() as (url, received), echo() as (other, elsewhere):
        path = f"/redirect-to/{quote(other, safe='')}"
        finished = loadpilot.run(SCENE.format(path=path), url, *flags)
    assert finished.judged == 0, finished.stderr
    assert (len(received), elsewhere) == (RPS, [])
    report = finished.report
    assert report["status"] == {"302": RPS}
    assert report["generator"].get("redirects_not_followed", 0) == left
    said = f"followed: 0; {left} not followed, beyond the limit or to another origin"
    assert (said in finished.stdout) == bool(left)


@pytest.mark.slow
def test_a_named_origin_is_followed_without_credentials(loadpilot: Loadpilot) -> None:
    """Broken if a redirect to a named origin is not followed, or carries the secret there.

    Costs 3 s.
    """
    with echo() as (url, received), echo() as (other, elsewhere):
        path = f"/redirect-to/{quote(f'{other}/in', safe='')}"
        finished = loadpilot.run(SCENE.format(path=path), url, "--redirect-to", other)
    assert finished.judged == 0, finished.stderr
    assert (len(received), seen(elsewhere)) == (RPS, {"GET /in": RPS})
    names = {name for _, _, headers, _ in elsewhere for name, _ in headers}
    assert "authorization" not in names
    report = finished.report
    assert report["status"] == {"200": RPS}
    assert report["generator"]["redirects"] == RPS
    assert report["run"]["connections"]["redirect_origins"] == [other]
    assert f"also to {other}" in finished.stdout


def test_an_origin_of_redirects_passes_the_target_policy(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a target can redirect agents to addresses that their operators do not allow.
    1 s."""
    flags = ("--redirect-to", "http://169.254.169.254")
    finished = loadpilot.run(SCENE.format(path="/"), oracle.url, *flags)
    assert finished.code == 2
    assert "redirect_to: not allowed: cloud metadata address" in finished.stderr
    assert oracle.requests() == []


def test_a_task_that_looks_at_answers_follows_by_itself(loadpilot: Loadpilot) -> None:
    """Broken if the setting is ignored for such tasks, or if the refusal does not say what to write
    instead.

    Costs 1 s.
    """
    scene = SCENE.format(path="/").replace("client.post", "assert client.post")
    scene = scene.rstrip() + ".ok\n"
    finished = loadpilot.run(scene, "http://127.0.0.1:1")
    assert finished.code == 2
    assert "follow_redirects=True" in finished.stderr
