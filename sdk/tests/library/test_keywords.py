"""Keywords of `loadpilot.run`: each flag of the command once, with values of Python."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from loadpilot._generated import run_keywords
from loadpilot.cli.app import app
from loadpilot.library.describe import described
from loadpilot.library.keywords import LEFT_OUT, arguments, keywords


def test_each_flag_of_the_command_is_a_keyword() -> None:
    """Broken if a new flag of `loadpilot run` is missing in Python."""
    names = {one.name for one in app["run"].assemble_argument_collection()}
    flags = {name for name in names if name.startswith("--")}
    left_out = {f"--{name.replace('_', '-')}" for name in LEFT_OUT}
    assert left_out < flags
    assert {one.flag for one in keywords().values()} == flags - left_out


def test_the_types_are_those_of_the_flags() -> None:
    """Broken if a flag has changed since `./dev gen` wrote the types that editors read."""
    assert Path(str(run_keywords.__file__)).read_text("utf-8") == described()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"target": "http://a", "rps": 50, "duration": 2.5}, ["--target=http://a", "--rps=50"]),
        ({"thresholds": {"p99_ms": 300, "orders.count": ">= 1"}}, ["--threshold=p99_ms=300"]),
        ({"thresholds": {"http_req_duration": ["p(95)<500", "max<900"]}}, []),
        ({"thresholds": ["p99_ms=1", "checks=99"]}, ["--threshold=p99_ms=1"]),
        ({"tags": {"team": "shop"}, "env": {"BASE": "/api"}}, ["--tag=team=shop"]),
        ({"max": True, "insecure": False, "seed": None}, ["--max", "--insecure=false"]),
        ({"stages": [("30s", 50), (60, "3000/m")]}, ["--stages=30s:50,60:3000/m"]),
        ({"user_stages": [("30s", 20), (60, 0)]}, ["--user-stages=30s:20,60:0"]),
        ({"junit": Path("ci/load.xml"), "source": ["10.0.0.5"]}, ["--junit=ci/load.xml"]),
        ({"connections": 3, "ip": 4}, ["--connections=3"]),
    ],
    ids=str,
)
def test_values_become_arguments(given: dict[str, Any], expected: list[str]) -> None:
    """Broken if a Python value reaches the command as another value, or not at all."""
    written = arguments(given)
    assert written[: len(expected)] == expected
    assert len(written) == sum(map(_texts, given.values()))
    app["run"].parse_args(["scene.py", *written], print_error=False, exit_on_error=False)


def test_numbers_of_other_packages_are_numbers() -> None:
    """Broken if a number of an array has to be converted, or is written in a form that no flag
    accepts."""
    assert arguments({"rps": Fraction(5, 2)}) == ["--rps=2.5"]
    numpy = pytest.importorskip("numpy")
    assert arguments({"rps": numpy.int64(50), "agents": numpy.uint8(2)}) == [
        "--rps=50",
        "--agents=2",
    ]
    assert arguments({"duration": numpy.float32(0.5)}) == ["--duration=0.5"]


def _texts(value: object) -> int:
    if value is None:
        return 0
    if isinstance(value, dict):
        return sum(len(one) if isinstance(one, list) else 1 for one in value.values())
    is_several = isinstance(value, list) and not isinstance(value[0], tuple)
    return len(value) if is_several else 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"durations": "1s"}, "has no keyword 'durations'; did you mean 'duration'"),
        ({"threshold": {"p99_ms": 1}}, "has no keyword 'threshold'; did you mean 'thresholds'"),
        ({"dry_run": True}, "has no keyword 'dry_run'"),
        ({"max": "yes"}, "max must be True or False (got 'yes')"),
        ({"rps": True}, "rps must be text or a number (got True)"),
        ({"rps": {"p99_ms": 1}}, "rps must be text or a number (got {'p99_ms': 1})"),
        ({"stages": [("30s", 50, 1)]}, "stages must be pairs of a duration and a rate"),
        (
            {"user_stages": [("30s",)]},
            "must be pairs of a duration and a number of users",
        ),
        ({"tags": {"a": None}}, "tags must be text or a number, or a dict or list of them"),
    ],
    ids=str,
)
def test_a_wrong_keyword_is_named(given: dict[str, Any], message: str) -> None:
    """Broken if a misspelt keyword is ignored, or if the message does not say what is wrong."""
    with pytest.raises(TypeError) as refused:
        arguments(given)
    assert message in str(refused.value)
