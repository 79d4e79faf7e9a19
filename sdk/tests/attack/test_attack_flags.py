"""The load of an attack as flags of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from loadpilot.cli import main
from loadpilot.cli.commands.attack.attack_flags import RATES_MAX, AttackFlags, with_load
from loadpilot.cli.flags.run_flags import RunFlags

if TYPE_CHECKING:
    from pathlib import Path

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
    """Broken if the last rate is missing, if there is one rate too many, or if a rate is not
    constant."""
    problems: list[Problem] = []
    flags = with_load(AttackFlags(rates=rates, each="90s"), RunFlags(), problems)
    assert problems == []
    assert flags.stages == ",".join(f"0s:{rate},90s:{rate}" for rate in stages)


@pytest.mark.parametrize(
    "rates", ["", "a", "1:2", "1:2:3:4", "0:5:1", "10:5:10", "1:5:0", "1:5:-1", "1,,2", "1e3", "-1"]
)
def test_rates_that_are_none_are_named(rates: str) -> None:
    """Broken if rates are run that the user did not mean."""
    problems: list[Problem] = []
    flags = with_load(AttackFlags(rates=rates, each="1s"), RunFlags(), problems)
    assert [one.place for one in problems] == ["--rates"]
    assert flags.stages is None


def test_all_that_cannot_be_together_is_named() -> None:
    """Broken if one of two loads is dropped without a message."""
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
    """Broken if a vegeta command line means another rate here."""
    problems: list[Problem] = []
    assert with_load(AttackFlags(rate=rate), RunFlags(), problems).rps == rate
    assert problems == []


ATTACK = ("attack", "http://h/", "--dry-run")
BESIDE = {
    ("users = 10", "--rate", "100"): ("users", "--rate"),
    ("rps = 10", "--rate", "100"): ("rps", "--rate"),
    ("duration = '5s'", "--rates", "1,2", "--each", "5s"): ("duration", "--rates"),
    ("mode = 'sine'", "--rates", "1,2", "--each", "5s"): ("mode", "--rates"),
    ("rate = 100", "--users", "3"): ("rate", "--users"),
    ("rates = '1,2'\neach = '5s'", "--rps", "3"): ("each", "--rps"),
    ("env = {A = '1'}",): ("env", "the settings of attack"),
    ("scenario = 'Shop'",): ("scenario", "the settings of attack"),
    ("ramp_up = '5s'",): ("ramp_up", "the settings of attack"),
    ("target = 'http://other'",): ("target", "the settings of attack"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", BESIDE)
def test_an_attack_runs_in_a_project_with_settings_of_scenarios(
    case: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if an attack is refused because of a project's file, or uses its load beside the
    flags."""
    text, *flags = case
    (folder / "loadpilot.toml").write_text(text, encoding="utf-8")
    assert main([*ATTACK, *flags]) == 0
    key, other = BESIDE[case]
    stderr = capsys.readouterr().err
    assert f"not used: loadpilot.toml: {key}, replaced by {other}\n" in stderr
    assert f"--{key} " not in stderr


def test_a_message_names_the_flag_that_was_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if an error about `--rate` names `--rps`, or if a run takes its rate from `--rate` of
    attacks."""
    closed = "cannot be used with --users: a closed loop has no"
    assert main([*ATTACK, "--rate", "5", "--users", "3"]) == 2
    assert f"error: --rate: {closed} rate" in capsys.readouterr().err
    assert main([*ATTACK, "--rates", "5", "--each", "1s", "--users", "3"]) == 2
    assert f"error: --rates: {closed} shape" in capsys.readouterr().err
    (folder / "loadpilot.toml").write_text("users = 3\n[profiles.a]\nrate = 5", encoding="utf-8")
    scene = "from loadpilot import VUser, scenario, task\n\n\n@scenario()\nclass S(VUser):\n"
    code = f'{scene}    @task\n    def one(self, client):\n        client.get("/")\n'
    (folder / "scene.py").write_text(code, encoding="utf-8")
    assert main(["run", "scene.py", "--dry-run", "--profile", "a"]) == 0
    assert "closed loop, 3 users" in capsys.readouterr().err
    assert main([*ATTACK, "--scenario", "Shop"]) == 2
    assert "error: --scenario: is about scenario files; drop it" in capsys.readouterr().err
