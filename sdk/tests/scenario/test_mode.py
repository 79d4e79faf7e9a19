"""Bursts, waves and idle beginnings: from settings, from flags, and as pieces."""

from __future__ import annotations

from itertools import pairwise
from math import cos, tau
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadpilot.compile.scenario import profile
from loadpilot.compile.scenario.settings import Overrides

if TYPE_CHECKING:
    from sdk.tests.conftest import Compile, Refuse

SCENE = """
@scenario({said})
class S(VUser):
    @task
    def one(self, client): client.get("/")
"""


def pieces(plan: dict[str, Any]) -> list[tuple[float, float, float]]:
    """Pieces in seconds and arrivals per second."""
    return [
        (p["duration_us"] / 1e6, p["from"] / 1e6, p["to"] / 1e6) for p in plan["profile"]["pieces"]
    ]


BURST = "rps=100, duration='10s', mode='burst'"
SAID: dict[tuple[str, Overrides], list[tuple[float, float, float]]] = {
    (f"{BURST}, baseline=10, burst='4s'", Overrides()): [(3, 10, 10), (4, 100, 100), (3, 10, 10)],
    (f"{BURST}, burst='10s'", Overrides()): [(10, 100, 100)],
    ("rps=100, duration='9s', mode='burst'", Overrides()): [
        (3, 20, 20),
        (3, 100, 100),
        (3, 20, 20),
    ],
    ("rps=5", Overrides(mode="burst", rps="6000/m", duration="4s", baseline="60/m", burst="2s")): [
        (1, 1, 1),
        (2, 100, 100),
        (1, 1, 1),
    ],
    ("rps=5, ramp_up='2s', duration='3s', idle='60s'", Overrides()): [
        (60, 0, 0),
        (2, 0, 5),
        (3, 5, 5),
    ],
    ("rps=5, mode='constant', duration='3s', idle='60s'", Overrides(idle="0")): [(3, 5, 5)],
    (f"{BURST}, burst='4s', baseline=9", Overrides(mode="constant")): [(10, 100, 100)],
    ("rps=5, mode='constant', duration='3s', ramp_up='2s'", Overrides()): [(3, 5, 5)],
    ("stages=[('3s', 60)], ramp_up='2s'", Overrides()): [(3, 0, 60)],
    ("stages=[('3s', 60)]", Overrides(idle="1m")): [(60, 0, 0), (3, 0, 60)],
    ("stages=[('1s', '60/m'), ('1s', '120/1m')]", Overrides()): [(1, 0, 1), (1, 1, 2)],
}


@pytest.mark.parametrize(("said", "flags"), SAID)
def test_a_mode_is_the_pieces_that_it_promises(
    said: str, flags: Overrides, compile_text: Compile
) -> None:
    """Broken if a setting or its flag offers another load than it describes. 0.1 s each."""
    plan = compile_text(SCENE.format(said=said), flags).plan
    assert pieces(plan) == SAID[said, flags]
    is_newer = plan["profile"]["shape"] == "burst"
    assert plan["schema"] == ("loadpilot.plan/2" if is_newer else "loadpilot.plan/1")


LENGTHS = st.integers(1, 10**12)
RATES = st.integers(0, 10**13)


@given(LENGTHS, LENGTHS, RATES, RATES)
def test_a_burst_keeps_duration_and_rates(us: int, of_us: int, one: int, other: int) -> None:
    """Broken if the parts do not add up, or the burst is not in the middle. 0.3 s."""
    burst_us, low, high = min(of_us, us), min(one, other), max(one, other)
    built = profile.burst(us, burst_us, low, high)
    assert sum(p["duration_us"] for p in built) == us
    assert all(p["duration_us"] > 0 and p["from"] == p["to"] for p in built)
    bursts = [p for p in built if p["from"] == high]
    assert low == high or sum(p["duration_us"] for p in bursts) == burst_us
    if len(built) == 3:
        assert 0 <= built[2]["duration_us"] - built[0]["duration_us"] <= 1


@given(st.integers(1_000_000, 10**12), st.floats(1.0, 300.0), RATES, RATES)
def test_waves_follow_the_cosine(us: int, waves: float, one: int, other: int) -> None:
    """Broken if a wave leaves its rates, has a jump, or ends before the duration. 1 s."""
    low, high, period_us = min(one, other), max(one, other), round(us / waves)
    built = profile.sine(us, period_us, low, high)
    assert sum(p["duration_us"] for p in built) == us
    assert len(built) <= 10_000
    assert all(before["to"] == after["from"] for before, after in pairwise(built))
    start_us = 0
    for p in built:
        assert p["duration_us"] > 0
        assert low <= p["from"] <= high
        middle = (p["from"] + p["to"]) / 2
        at = start_us + p["duration_us"] / 2
        wave = low + (high - low) * (1 - cos(tau * at / period_us)) / 2
        assert abs(middle - wave) <= (high - low) * 0.005 + 1
        start_us += p["duration_us"]


def test_a_whole_wave_reaches_both_rates(compile_text: Compile) -> None:
    """Broken if the peak of a wave is not the rate, or its mean not the middle. 0.1 s."""
    settings = "rps=100, baseline=20, duration='64s', period='16s', mode='sine'"
    built = pieces(compile_text(SCENE.format(said=settings)).plan)
    rates = [rate for _, rate, _ in built]
    assert (min(rates), max(rates), rates[0], built[-1][2]) == (20, 100, 20, 20)
    assert sum(s * (a + b) / 2 for s, a, b in built) == pytest.approx(64 * 60, rel=1e-6)


WRONG = {
    "mode='burst', baseline=20": "baseline: must not be above the rate, 10 (got 20)",
    "mode='burst', baseline='low'": "baseline: must be a rate",
    "mode='burst', burst='2m'": "burst: must not be longer than the duration, '1m' (got '2m')",
    "mode='burst', burst='0s'": "burst: must be longer than 0",
    "mode='sine', period='0s'": "period: must be longer than 0",
    "mode='sine', period='1ms'": "period: must be long enough for at most 300 waves (got '1ms')",
    "idle='soon'": "idle: must be a duration",
    "steps=10": "steps: is for mode step, and the mode is ramp; drop one",
    "mode='constant', burst='5s'": "burst: is for mode burst, and the mode is constant; drop one",
    "mode='step', baseline=1": "baseline: is for mode burst and sine, and the mode is step",
    "stages=[('1m', 5)], steps=2": "stages: stages say it all; drop steps=",
    "stages=[('1m', 5)], baseline=1": "stages: stages say it all; drop baseline=",
    "stages=[('1m', 5)], burst='5s'": "stages: stages say it all; drop burst=",
    "stages=[('1m', 5)], period='5s'": "stages: stages say it all; drop period=",
    "users=5, idle='5s'": "idle: cannot be used with users=: it has no schedule",
}


@pytest.mark.parametrize("said", WRONG)
def test_a_wrong_mode_is_named(said: str, refuse_text: Refuse) -> None:
    """Broken if a mistake is accepted, or if the error names another setting. 0.1 s each."""
    (problem,) = refuse_text(SCENE.format(said=said))
    assert WRONG[said] in str(problem)


@pytest.mark.parametrize(
    ("said", "flags", "place"),
    [
        ("rps=5", Overrides(burst="1s"), "--burst"),
        ("rps=5", Overrides(mode="constant", ramp_up="1s"), "--ramp-up"),
        ("rps=5, mode='sine'", Overrides(ramp_up="0s"), "--ramp-up"),
        ("mode='burst'", Overrides(period="1s"), "--period"),
        ("stages=[('1m', 5)]", Overrides(baseline="1"), "--baseline"),
        ("users=5", Overrides(idle="1s"), "--idle"),
    ],
)
def test_a_flag_that_has_no_effect_is_refused(
    said: str, flags: Overrides, place: str, refuse_text: Refuse
) -> None:
    """Broken if a flag is ignored without a message. 0.1 s each."""
    (problem,) = refuse_text(SCENE.format(said=said), flags)
    assert problem.place == place
