"""The address of the target: where it comes from, and which addresses are accepted."""

from __future__ import annotations

import pytest

from loadpilot.cli.flags.target import DEFAULT, RULE, Target, problems, resolve


def test_the_default_is_used_only_where_no_source_names_a_target() -> None:
    """Broken if load goes to the default target instead of an empty or another address."""
    assert resolve(()).url == DEFAULT
    assert resolve(["http://flag:1/"]) == Target("http://flag:1", "--target")
    assert resolve([" http://file:1 "], ".env: LOADPILOT_TARGET").url == "http://file:1"
    assert problems(resolve([""], "LOADPILOT_TARGET"))[0].place == "LOADPILOT_TARGET"
    several = resolve(["http://a/", "http://b/v2", "ftp://c"])
    assert several == Target("http://a", "--target", ("http://b/v2", "ftp://c"))
    assert [one.what for one in problems(several)] == [f"{RULE} (got 'ftp://c')"]


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
    """Broken if a run starts against an address that the user did not mean."""
    (problem,) = problems(Target(url, "LOADPILOT_TARGET"))
    assert problem.place == "LOADPILOT_TARGET"
    assert "must be http://host[:port]" in problem.what


def test_a_password_in_the_target_is_not_shown() -> None:
    """Broken if the error about a refused target prints its password."""
    (problem,) = problems(Target("http://user:hunter2@host", "--target"))
    assert "hunter2" not in str(problem)
