"""The load of an attack as flags of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from loadpilot.cli.commands.attack.attack_flags import RATES_MAX, AttackFlags, with_load
from loadpilot.cli.flags.run_flags import RunFlags

if TYPE_CHECKING:
    from loadpilot.problem import Problem


@pytest.mark.parametrize(
    ("rates", "stages"),
    [
        ("1:80:3", [str(rate) for rate in range(1, 80, 3)]),
        ("10", ["10"]),
        ("10,20.5,5", ["10", "20.5", "5"]),
        ("0.5:2:0.5", ["0.5", "1.0", "1.5", "2.0"]),
        ("5:5:1", ["5"]),
    ],
)
def test_rates_are_levels_of_one_run(rates: str, stages: list[str]) -> None:
    """Broken if the last rate is missing or one too many, or a rate is not constant."""
    problems: list[Problem] = []
    flags = with_load(AttackFlags(rates=rates, each="90s"), RunFlags(), problems)
    assert problems == []
    assert flags.stages == ",".join(f"0s:{rate},90s:{rate}" for rate in stages)


@pytest.mark.parametrize(
    "rates", ["", "a", "1:2", "1:2:3:4", "0:5:1", "5:1:1", "1:5:0", "1:5:-1", "1,,2", "1e3", "-1"]
)
def test_rates_that_are_none_are_named(rates: str) -> None:
    """Broken if rates that were not meant are run."""
    problems: list[Problem] = []
    flags = with_load(AttackFlags(rates=rates, each="1s"), RunFlags(), problems)
    assert [one.place for one in problems] == ["--rates"]
    assert flags.stages is None


def test_all_that_cannot_be_together_is_named() -> None:
    """Broken if one of two loads is dropped without a word."""
    problems: list[Problem] = []
    own = AttackFlags(rates=f"1:{RATES_MAX + 1}:1", each="0s", rate="5")
    with_load(own, RunFlags(duration="1m", mode="sine", scenario="A", env=("A=1",)), problems)
    places = {"--rates", "--each", "--rate", "--duration", "--mode", "--scenario", "--env"}
    assert {one.place for one in problems} == places
    problems.clear()
    with_load(AttackFlags(rate="0", each="1s"), RunFlags(rps="5"), problems)
    assert [one.place for one in problems] == ["--each", "--rps", "--rate"]


@pytest.mark.parametrize("rate", ["50", "50/s", "50/1s", "300/1m", "0.5"])
def test_a_rate_is_written_as_vegeta_has_it(rate: str) -> None:
    """Broken if a command of vegeta has another rate here."""
    problems: list[Problem] = []
    assert with_load(AttackFlags(rate=rate), RunFlags(), problems).rps == rate
    assert problems == []
