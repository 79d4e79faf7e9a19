"""Tags: set by scenario and flags, limited, and refused where they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loadpilot.cli.flags.options import read
from loadpilot.cli.flags.run_flags import RunFlags
from loadpilot.compile.scenario.settings import Overrides

if TYPE_CHECKING:
    from sdk.tests.conftest import Compile, Refuse

FLAGGED = Overrides(tags={"team": "till", "build": "1.4"})


def tagged(tags: str) -> str:
    return f"""
        from loadpilot import env
        @scenario(mode="constant", tags={tags})
        class S(VUser):
            @task
            def t(self, client): client.get("/")
    """


def test_flags_replace_tags_of_the_same_name(compile_text: Compile) -> None:
    """Broken if a run in CI carries the tags of a developer's shell, or loses those of its file."""
    text = tagged('{"team": "shop", "area": "pay"}')
    assert compile_text(text).plan["tags"] == {"area": "pay", "team": "shop"}
    both = {"area": "pay", "build": "1.4", "team": "till"}
    assert compile_text(text, FLAGGED).plan["tags"] == both


@pytest.mark.parametrize(
    ("tags", "what"),
    [
        ("['team']", 'must be a dict of text to text such as {"team": "shop"}'),
        ("{'team': 7}", 'must be a dict of text to text such as {"team": "shop"}'),
        ("{'my team': 'shop'}", "must have a name of letters, digits and _-."),
        ("{'team': 'x' * 129}", "must be 1 to 128 bytes without control characters"),
        ("{'team': ''}", "must be 1 to 128 bytes without control characters"),
        ("{f't{n}': 'x' for n in range(21)}", "must be at most 20"),
        ("{'key': env('TOKEN', secret=True)}", "hold the value of a secret"),
    ],
)
def test_wrong_tags_are_refused(refuse_text: Refuse, tags: str, what: str) -> None:
    """Broken if a tag can fill the log, break a table or show a secret."""
    (problem,) = refuse_text(tagged(tags))
    assert ": tags" in problem.place
    assert problem.what.startswith(what)


def test_a_wrong_flag_is_refused_where_it_is_said(refuse_text: Refuse) -> None:
    """Broken if a mistake on the command line is reported as one of the file."""
    problems = refuse_text(tagged("{}"), Overrides(tags={"my team": "shop", "area": ""}))
    assert [problem.place for problem in problems] == ["--tag", "--tag"]


@pytest.mark.parametrize("argument", ["team", "=shop"])
def test_a_flag_is_a_name_and_a_value(argument: str) -> None:
    """Broken if a part of a tag is taken for a tag."""
    given: dict[str, Any] = {"env": (argument,), "tag": ("a=1", "a=2")}
    _, problems = read("scene.py", RunFlags(**given), {})
    assert [str(problem) for problem in problems] == [
        "--env: must be NAME=VALUE such as BASE=/api",
        "--tag: has 'a' twice; give each name once",
    ]
