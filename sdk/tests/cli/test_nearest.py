"""Suggestions for misspelt words: a small typing error gets one, and nothing else does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadpilot.cli import main
from loadpilot.problem import edit_distance, nearest

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS = ["--cert", "--duration", "--json", "--target", "--tenant", "--threshold", "--users"]
NEAR = {
    "--durations": "--duration",
    "--dur": "--duration",
    "--jsn": "--json",
    "--usres": "--users",
    "--traget": "--target",
    "--retries": None,
    "--agents": None,
    "--t": None,
    "--": None,
}


@pytest.mark.parametrize("name", NEAR)
def test_only_what_is_near_is_suggested(name: str) -> None:
    """Broken if a suggestion is wrong, or if a typing error gets a list."""
    assert nearest(name, OPTIONS) == NEAR[name]


@given(st.text("abc", max_size=5), st.text("abc", max_size=5))
def test_slips_are_counted_alike_both_ways(one: str, other: str) -> None:
    """Broken if an additional letter counts differently than a missing one."""
    assert edit_distance(one, other) == edit_distance(other, one)
    assert (edit_distance(one, other) == 0) == (one == other)
    assert abs(len(one) - len(other)) <= edit_distance(one, other) <= max(len(one), len(other))


KINDS = "the kinds are curl, har, jmx, k6, openapi, postman, targets"
SAID = {
    ("run", "x.py", "--durations", "3s"): "Unknown option: --durations; did you mean --duration?",
    ("runs", "--agents", "2"): "Unknown option: --agents; loadpilot runs takes ",
    ("rnu",): 'Unknown command "rnu"; did you mean run?',
    ("import", "locust", "x.py"): f'Unknown kind "locust"; {KINDS}; docs/migrate/locust.md',
    ("import", "locust", "x.py", "-o", "y.py"): f'Unknown kind "locust"; {KINDS}; docs/migrate/',
    ("import", "a.lprun", "b.lprun"): "Unused Tokens: ['b.lprun']",
    ("import", "gatling", "x"): f'Unknown kind "gatling"; {KINDS}; docs/migrate/gatling.md',
    ("import", "k7", "x.js"): f'Unknown kind "k7"; {KINDS}; did you mean k6?',
    ("import", "jmeter", "x.jmx"): f'Unknown kind "jmeter"; {KINDS}; did you mean jmx?',
    ("start",): 'Unknown command "start"; the commands of loadpilot are ',
}


@pytest.mark.parametrize("words", SAID)
def test_what_cannot_be_read_says_what_there_is(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a wrong flag gets a wrong suggestion, or a part of a list."""
    assert main(list(words)) == 2
    stderr = capsys.readouterr().err.splitlines()
    assert stderr[0].startswith(f"error: {SAID[words]}")
    assert stderr[1] == "nothing was started; see `loadpilot --help`"


def test_a_far_option_gets_the_list_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Broken if the list is cut, or `--retries` suggests `--cert`."""
    assert main(["run", "x.py", "--retries", "3"]) == 2
    stderr = capsys.readouterr().err
    assert "did you mean" not in stderr
    for option in ("--results-json", "--cert", "--duration", "--nats-url", "--verbose"):
        assert f" {option}" in stderr


ONE_DASH = {
    ("attack", "http://127.0.0.1:9", "-rate=500/1s"): {"-rate": "--rate"},
    ("attack", "http://127.0.0.1:9", "-redirects=3"): {"-redirects": "--redirects"},
    ("attack", "-targets=t.txt", "-duration", "5s"): {
        "-targets": "--targets",
        "-duration": "--duration",
    },
    ("run", "x.py", "-ramp=5s"): {"-ramp": "--ramp-up"},
    ("runs", "prune", "-all"): {"-all": "--all"},
    ("run", "-help"): {"-help": "--help"},
}


@pytest.mark.parametrize("words", ONE_DASH)
def test_a_long_flag_with_one_dash_is_refused(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if `-rate=500` writes a report to the file `ate=500` and sends another rate."""
    assert main(list(words)) == 2
    stderr = capsys.readouterr().err
    for written, meant in ONE_DASH[words].items():
        assert (
            f"error: {written}: flags with a name have two dashes; did you mean {meant}?" in stderr
        )
    assert "nothing was started" in stderr


def test_short_flags_keep_their_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if `-rFILE` or `-qv` is taken for a long flag, or Locust's rate for a file."""
    monkeypatch.chdir(tmp_path)
    attack = ("attack", "http://127.0.0.1:9", "--dry-run")
    assert main([*attack, "-rout.html", "-Hx-team: a=1"]) == 0
    assert main([*attack, "-qv"]) == 2
    assert "--quiet: cannot be used with --verbose" in capsys.readouterr().err
    assert main([*attack, "-r", "500"]) == 2
    must = "--report: must be a file such as report.html, not a number; --rps is the rate"
    assert f"{must} (got '500')" in capsys.readouterr().err
