"""A recorded load in the settings of a scenario and in its flags."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from loadpilot import _native
from loadpilot.compile.scenario import profile
from loadpilot.compile.scenario.settings import Overrides

if TYPE_CHECKING:
    from pathlib import Path

    from sdk.tests.conftest import Compile, Refuse

SCENE = """
@scenario({said})
class S(VUser):
    @task
    def one(self, client): client.get("/")
"""
COUNTS = "second,count\n0,10\n1,0\n2,30\n"


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A curve in the folder of the scenario."""
    path = tmp_path / "curve.csv"
    path.write_text(COUNTS, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("said", "scale", "peak"),
    [
        ("replay_curve='curve.csv'", None, 30),
        ("replay_curve='curve.csv', scale=1.3", None, 39),
        ("replay_curve='curve.csv', scale='0.5'", None, 15),
        ("replay_curve='curve.csv', scale=0.5", "2", 60),
    ],
)
def test_a_curve_is_the_profile(
    said: str, scale: str | None, peak: int, recorded: Path, compile_text: Compile
) -> None:
    """Broken if the file, the scale or the flag that replaces it has another effect. 0.1 s."""
    plan = compile_text(SCENE.format(said=said), Overrides(scale=scale)).plan
    assert plan["schema"] == "loadpilot.plan/2"
    assert plan["profile"]["shape"] == "replay"
    assert profile.duration_us(plan["profile"]) == 3_000_000
    assert profile.peak_urps(plan["profile"]) == peak * 1_000_000
    assert recorded.is_file()


def test_a_flag_replaces_the_schedule_of_a_scenario(recorded: Path, compile_text: Compile) -> None:
    """Broken if a curve of the command line is read from the scenario's folder, if the scenario's
    own rate prevents it, or if --stages does not replace a curve. 0.1 s."""
    flags = Overrides(replay_curve=str(recorded))
    for settings in ("rps=5, duration='9s', mode='step'", "stages=[('1m', 5)]"):
        plan = compile_text(SCENE.format(said=settings), flags).plan
        assert profile.duration_us(plan["profile"]) == 3_000_000
    settings = "replay_curve='curve.csv', scale=2"
    plan = compile_text(SCENE.format(said=settings), Overrides(stages="9s:5")).plan
    assert plan["profile"]["shape"] == "stages"
    assert plan["schema"] == "loadpilot.plan/1"


WRONG = {
    "replay_curve='none.csv'": "replay_curve: there is no such file (got '",
    "replay_curve='.'": "replay_curve: is a directory; name a file",
    "replay_curve=5": "replay_curve: must be the path of a file",
    "replay_curve='a\\0b'": "replay_curve: must be the path of a file",
    "replay_curve='curve.csv', scale=0": "scale: must be a factor such as 1.3",
    "replay_curve='curve.csv', scale=-1": "scale: must be a factor",
    "replay_curve='curve.csv', scale=float('nan')": "scale: must be a factor",
    "replay_curve='curve.csv', scale='inf'": "scale: must be a factor",
    "replay_curve='curve.csv', scale=True": "scale: must be a factor",
    "replay_curve='curve.csv', scale=0.0000001": "scale: must be a factor",
    "replay_curve='curve.csv', scale='1,3'": "scale: must be a factor",
    "replay_curve='curve.csv', scale=400000": "replay_curve: must be at most 10,000,000 per second",
    "replay_curve='curve.csv', rps=5": "rps: cannot be used with replay_curve=",
    "replay_curve='curve.csv', stages=[('1m', 5)]": "stages: cannot be used with replay_curve=",
    "replay_curve='curve.csv', replay_run='x'": "replay_run: cannot be used with replay_curve=",
    "replay_run=5": "replay_run: must be a run, as `loadpilot runs` lists it",
    "replay_run='none.lprun'": "replay_run: ",
    "scale=2": "scale: needs a recorded load",
    "replay_curve='bad.csv'": "bad.csv:2:3: must be the number of arrivals",
    "replay_curve='empty.csv'": "empty.csv:1:1: must have a line with arrivals",
    "replay_curve='still.csv'": "replay_curve: must offer at least one arrival",
}


@pytest.mark.parametrize("said", WRONG)
def test_a_wrong_curve_is_named(
    said: str, recorded: Path, tmp_path: Path, refuse_text: Refuse
) -> None:
    """Broken if a mistake is accepted, or if the error names another place. 0.1 s each."""
    (tmp_path / "bad.csv").write_bytes(b"0,1\n1,\xff\n")
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "still.csv").write_bytes(b"0,0\n1,0\n")
    problem = refuse_text(SCENE.format(said=said))[0]
    assert WRONG[said] in str(problem)
    assert recorded.is_file()


@pytest.mark.parametrize("flag", ["rps", "duration", "mode", "ramp_up"])
def test_a_flag_beside_a_curve_is_refused(flag: str, recorded: Path, refuse_text: Refuse) -> None:
    """Broken if one of two loads is silently ignored. 0.1 s each."""
    beside = {flag: "step" if flag == "mode" else "5"}
    for said, flags in [
        ("replay_curve='curve.csv'", Overrides(**beside)),
        ("", Overrides(**beside, replay_curve=str(recorded))),
    ]:
        (problem,) = refuse_text(SCENE.format(said=said), flags)
        assert problem.place == f"--{flag.replace('_', '-')}"
    (problem,) = refuse_text(SCENE.format(said="users=5"), Overrides(replay_curve=str(recorded)))
    assert str(problem).startswith("--replay-curve: cannot be used with users=")


def test_a_file_is_read_in_flat_memory(tmp_path: Path) -> None:
    """Broken if an endless line, as in a device or a binary file, is read as a whole. 0.1 s."""
    path = tmp_path / "line"
    path.write_bytes(b"1" * 300_000)
    with pytest.raises(_native.Refused, match=r"line:1:65537: must be a line of at most 65536"):
        _native.read_curve(str(path))
