"""Where the load goes: the order of the places, and what may stand in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from loadpilot.cli.flags.target import DEFAULT, Target, problems, resolve

if TYPE_CHECKING:
    from pathlib import Path


def test_flag_beats_environment_beats_file_beats_default(tmp_path: Path) -> None:
    """Broken if load goes to another host than the nearest word says."""
    env = {"LOADPILOT_TARGET": "http://env:1"}
    assert resolve(None, {}, tmp_path).url == DEFAULT
    (tmp_path / ".env").write_text("A=1\nLOADPILOT_TARGET=http://file:1\n", encoding="utf-8")
    assert resolve(None, {}, tmp_path) == Target("http://file:1", ".env: LOADPILOT_TARGET")
    assert resolve(None, env, tmp_path) == Target("http://env:1", "LOADPILOT_TARGET")
    assert resolve("http://flag:1/", env, tmp_path) == Target("http://flag:1", "--target")


@pytest.mark.parametrize(
    ("line", "url"),
    [
        ('LOADPILOT_TARGET="http://a"', "http://a"),
        ("LOADPILOT_TARGET='http://a'", "http://a"),
        ("export LOADPILOT_TARGET = http://a", "http://a"),
        ("LOADPILOT_TARGET=http://a # staging", "http://a"),
        ("  LOADPILOT_TARGET=http://a  ", "http://a"),
        ("LOADPILOT_TARGET=http://a\nLOADPILOT_TARGET=http://b", "http://b"),
        ("#LOADPILOT_TARGET=http://a", DEFAULT),
        ("XLOADPILOT_TARGET=http://a", DEFAULT),
        ("LOADPILOT_TARGET_2=http://a", DEFAULT),
        ("LOADPILOT_TARGET=", ""),
    ],
)
def test_lines_of_the_env_file(line: str, url: str, tmp_path: Path) -> None:
    """Broken if quotes stay in the address, or a comment is taken for a setting."""
    (tmp_path / ".env").write_text(line + "\n", encoding="utf-8")
    assert resolve(None, {}, tmp_path).url == url


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8000",
        "https://example.com",
        "http://127.0.0.1",
        "http://[::1]:8000",
        "https://a-b.example:65535",
        "http://localhost:8000/api/v2",
        "http://[::1]/~me/a%20b",
    ],
)
def test_origins_with_or_without_a_base_path_are_accepted(url: str) -> None:
    """Broken if an ordinary target is refused."""
    assert problems(Target(url, "--target")) == []


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8000",
        "ftp://localhost",
        "http://",
        "http://:80",
        "http://host/path/",
        "http://host/a//b",
        "http://host/a/../b",
        "http://host/a b",
        "http://host/path?q",
        "http://host?q",
        "http://host#f",
        "http://user@host",
        "https://good@evil.example",
        "https://good\\@evil.example",
        "http://host:port",
        "http://host:99999",
        "http://ho st",
        "http://host\r\nX: y",
        "http://höst",
        "http://host//",
    ],
)
def test_what_is_more_or_less_than_that_is_refused(url: str) -> None:
    """Broken if a run starts against something that the user did not mean."""
    (problem,) = problems(Target(url, "LOADPILOT_TARGET"))
    assert problem.place == "LOADPILOT_TARGET"
    assert "must be http://host[:port]" in problem.what


def test_a_password_in_the_target_is_not_shown() -> None:
    """Broken if a refused target prints its password."""
    (problem,) = problems(Target("http://user:hunter2@host", "--target"))
    assert "hunter2" not in str(problem)
