"""Lengths of sessions: the plan contains what a scenario or flag says, and mistakes have a
place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loadpilot.compile.scenario.settings import Overrides

if TYPE_CHECKING:
    from sdk.tests.conftest import Compile, Refuse

SCENE = """
@scenario({said})
class S(VUser):
    @task
    def one(self, client): client.get("/")
"""
MINUTE = 60_000_000
LENGTHS: dict[str, dict[str, Any]] = {
    "'12m'": {"between": {"from_us": 12 * MINUTE, "to_us": 12 * MINUTE}},
    "('5m', '20m')": {"between": {"from_us": 5 * MINUTE, "to_us": 20 * MINUTE}},
    "exponential(median='12m')": {"exponential": {"median_us": 12 * MINUTE}},
    "lognormal(median='12m', p99='45m')": {
        "lognormal": {"median_us": 12 * MINUTE, "p99_us": 45 * MINUTE}
    },
}
FLAGS = {
    "12m": "'12m'",
    "5m,20m": "('5m', '20m')",
    "exponential:median=12m": "exponential(median='12m')",
    "lognormal:median=12m,p99=45m": "lognormal(median='12m', p99='45m')",
}


@pytest.mark.parametrize("length", LENGTHS)
def test_a_length_is_in_the_plan(length: str, compile_text: Compile) -> None:
    """Broken if sessions are lost on the way, or if older agents get such a plan."""
    plan = compile_text(SCENE.format(said=f"users=5, session={length}")).plan
    assert plan["session"] == LENGTHS[length]
    assert plan["schema"] == "loadpilot.plan/2"
    assert "session" not in compile_text(SCENE.format(said="users=5")).plan


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_replaces_the_length(flag: str, compile_text: Compile) -> None:
    """Broken if --session means another length than the same setting of the scenario, or adds to
    it."""
    scene = SCENE.format(said="users=5, session='3m'")
    plan = compile_text(scene, Overrides(session=flag)).plan
    assert plan["session"] == LENGTHS[FLAGS[flag]]
    assert "session" not in compile_text(scene, Overrides(session="0")).plan


WRONG = {
    "rps=5, session='12m'": "session: is for users= without a rate: arrivals on schedule have no",
    "session='12m'": "session: is for users= without a rate",
    "users=5, session='soon'": "session: must be a duration",
    "users=5, session='999ms'": "session: must last at least 1 s in the median",
    "users=5, session=('2m', '1m')": "session: must not begin after its end",
    "users=5, session='25h'": "session: must be longer than 0 and at most a day",
    "users=5, session=lognormal(median='2m', p99='2m')": "session: must have a p99 above",
    "users=5, session=lognormal(median='2m', p99='25h')": "session: must have a p99 of at",
    "users=5, session=exponential(mean='6h')": "session: must have a median of at most 3 h 36 min",
    "users=5, session=exponential()": "session: must have a median or a mean, such as exponential(",
}


@pytest.mark.parametrize("said", WRONG)
def test_a_wrong_length_is_named_with_its_line(said: str, refuse_text: Refuse) -> None:
    """Broken if impossible sessions are accepted, or if the error does not name the rule."""
    (problem,) = refuse_text(SCENE.format(said=said))
    assert "scene.py:3: session" in str(problem)
    assert WRONG[said] in str(problem)


WRONG_FLAGS = {
    Overrides(
        session="12m"
    ): "--session: is for a closed loop: arrivals of a rate have no sessions",
    Overrides(users=5, session="10ms"): "--session: must last at least 1 s in the median",
    Overrides(users=5, session="gamma:median=1m"): "--session: must be one of exponential, lognorm",
    Overrides(users=5, session="lognormal:median=1m"): "such as lognormal:median=8s,p99=45s (got",
}


@pytest.mark.parametrize("flags", WRONG_FLAGS)
def test_a_wrong_length_is_named_with_its_flag(flags: Overrides, refuse_text: Refuse) -> None:
    """Broken if a mistake in --session is reported for the file."""
    (problem,) = refuse_text(SCENE.format(said=""), flags)
    assert str(problem).startswith("--session")
    assert WRONG_FLAGS[flags] in str(problem)


PREPARED = """
@scenario(users=5, session="12m", prepare="submitter")
class S(VUser):
    def on_start(self, client):
        self.n = 1

    @task
    def one(self, client): client.get("/")
"""


def test_users_that_are_prepared_once_have_no_sessions(refuse_text: Refuse) -> None:
    """Broken if users that come during the run start without their preparation."""
    (problem,) = refuse_text(PREPARED)
    assert "session: cannot be used here: on_start() is run by this command (" in str(problem)
    assert str(problem).endswith('set prepare="agents"')
