"""Think times of a distribution: a mistake is reported where it was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from loadpilot import exponential, lognormal
from loadpilot.compile.scenario.settings import Overrides

if TYPE_CHECKING:
    from sdk.tests.conftest import Refuse

SCENE = """
@scenario({said})
class S(VUser):
    @task
    def one(self, client): client.get("/")
"""
WRONG = {
    "users=5, wait=exponential()": "wait: must have a median or a mean, such as exponential(",
    "users=5, wait=exponential(median=1, mean=2)": "wait: must have a median or a mean",
    "users=5, wait=exponential(mean='soon')": "wait (mean): must be a duration",
    "users=5, wait=exponential(median=0)": "wait (median): must be longer than 0",
    "users=5, wait=exponential(mean='6h')": "wait: must have a median longer than 0 and at most",
    "users=5, wait=lognormal(median='2s', p99='2s')": "wait: must have a p99 above the median",
    "users=5, wait=lognormal(median='2s', p99='25h')": "and a p99 of at most a day",
    "rps=5, wait=exponential(mean=1)": "wait: is for users= without a rate",
}


@pytest.mark.parametrize("said", WRONG)
def test_a_wrong_distribution_is_named_with_its_line(said: str, refuse_text: Refuse) -> None:
    """Broken if an impossible distribution is accepted, or if the error does not name the rule.
    1 s."""
    (problem,) = refuse_text(SCENE.format(said=said))
    assert WRONG[said] in str(problem)
    assert "scene.py:3: wait" in str(problem)


FLAGS = {
    Overrides(users=5, wait="expo:median=8s"): "--wait: must be one of exponential, lognormal",
    Overrides(users=5, wait="lognormale:median=1s"): "did you mean lognormal? (got 'lognormale')",
    Overrides(users=5, wait="exponential"): "--wait: must be NAME=DURATION pairs such as exp",
    Overrides(users=5, wait="exponential:8s"): "such as exponential:median=8s or exponential:mean",
    Overrides(users=5, wait="exponential:p99=8s"): "--wait: a parameter of exponential must be one",
    Overrides(
        users=5, wait="lognormal:median=8s,p9=9s"
    ): "median, p99; did you mean p99? (got 'p9'",
    Overrides(users=5, wait="lognormal:median=8s"): "such as lognormal:median=8s,p99=45s (got",
    Overrides(users=5, wait="lognormal:median=x,p99=1s"): "--wait (median): must be a duration",
    Overrides(users=5, wait="lognormal:median=9s,p99=1s"): "--wait: must have a p99 above the",
}


@pytest.mark.parametrize("flags", FLAGS)
def test_a_wrong_distribution_is_named_with_its_flag(flags: Overrides, refuse_text: Refuse) -> None:
    """Broken if a mistake in --wait is reported for the file, or without its rule. 1 s."""
    (problem,) = refuse_text(SCENE.format(said=""), flags)
    assert str(problem).startswith("--wait")
    assert FLAGS[flags] in str(problem)


def test_a_distribution_is_written_as_it_was_given() -> None:
    """Broken if an output shows a distribution in another form than the scenario. 0 s."""
    assert repr(exponential(mean=2)) == "exponential(mean=2)"
    assert repr(lognormal(median="8s", p99="45s")) == "lognormal(median='8s', p99='45s')"
