"""Parameters: read once before the start, recorded, and refused where they are not available."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from loadpilot.compile.scenario.settings import Overrides
from loadpilot.inputs.params import masked
from loadpilot.problem import Problem

if TYPE_CHECKING:
    from sdk.tests.conftest import Compile, Refuse

FLAGGED = Overrides(env={"SIZE": "8"})
SCENE = """
from loadpilot import env
BASE = env("BASE", "/api")

@scenario(rps=env("RPS", "5/s"), mode="constant")
class S(VUser):
    @task
    def t(self, client):
        client.get(f"{BASE}/{env('SIZE')}", headers={"X-Key": env("TOKEN", secret=True)})
"""
PYTHON = """
import loadpilot
from loadpilot import env as given

@scenario(mode="constant")
class S(VUser):
    page = given("PAGE", "1")

    @task
    def t(self, client):
        for _ in range(int(given("SIZE"))):
            client.get("/", headers={"X-Key": loadpilot.env("TOKEN", secret=True)})

@scenario(mode="constant")
class Other(VUser):
    @task
    def t(self, client):
        client.get(given("NOT_SET"))
"""


@pytest.mark.parametrize(
    ("text", "more"), [(SCENE, {"BASE": "/api", "RPS": "5/s"}), (PYTHON, {"PAGE": "1"})]
)
@pytest.mark.parametrize(("overrides", "size"), [(Overrides(), "7"), (FLAGGED, "8")])
def test_what_was_asked_for_is_recorded(
    compile_text: Compile, text: str, more: dict[str, str], overrides: Overrides, size: str
) -> None:
    """Broken if runs with different parameters look alike, or if a plan contains a secret."""
    compiled = compile_text(text, overrides, "S")
    expected: dict[str, Any] = {**more, "SIZE": size}
    handle = compiled.plan["parameters"].pop("TOKEN")["secret"]
    assert compiled.plan["parameters"] == expected
    assert compiled.secrets[handle] == "hunter2"
    assert "hunter2" not in compiled.plan_json()
    assert ("script" in compiled.plan) == (text is PYTHON)


def test_a_parameter_may_be_part_of_what_is_compiled(compile_text: Compile) -> None:
    """Broken if a scenario has to run in Python only because of a parameter."""
    plan = compile_text(SCENE).plan
    (step,) = plan["tasks"][0]["steps"]
    assert step["path"] == "/api/7"
    assert step["headers"] == [{"name": "X-Key", "value": {"secret": "x-key-1"}}]
    assert plan["profile"]["pieces"][0]["from"] == 5_000_000


@pytest.mark.parametrize(
    "how",
    ['"/q", params={"key": TOKEN}', '"/q", json={"a": [TOKEN]}', 'f"/{TOKEN}"', '"/q", name=TOKEN'],
)
def test_a_secret_beyond_headers_runs_in_python(compile_text: Compile, how: str) -> None:
    """Broken if the value of a secret is stored with a compiled path, body or name."""
    compiled = compile_text(f"""
        from loadpilot import env
        TOKEN = env("TOKEN", secret=True)
        @scenario(mode="constant")
        class S(VUser):
            @task
            def t(self, client): client.get({how})
    """)
    assert "script" in compiled.plan
    assert "hunter2" not in json.dumps(compiled.plan)
    assert compiled.reasons[0].what == (
        "task t: sends the value of a secret elsewhere than in a header"
    )


def test_code_that_would_hold_a_secret_is_named(compile_text: Compile) -> None:
    """Broken if the message says that a loop needs Python, where the cause is the secret in it."""
    text = """
        from loadpilot import env
        TOKEN = env("TOKEN", secret=True)
        @scenario(mode="constant")
        class S(VUser):
            @task
            def first(self, client):
                for number in range(2):
                    client.get(f"/{number}")
            @task
            def second(self, client):
                for _ in range(2):
                    client.get(f"/{TOKEN}")
    """
    compiled = compile_text(text)
    assert "hunter2" not in compiled.plan_json()
    (reason,) = compiled.reasons
    assert reason.place.endswith("scene.py:12")
    assert reason.what.startswith("task second: uses the value of a secret parameter")
    assert "code" in compile_text(text.replace("TOKEN}", "7}")).plan


def test_rows_with_a_secret_are_not_stored_with_the_plan(compile_text: Compile) -> None:
    """Broken if the object store of a run contains the value of a secret among the rows of a
    feed."""
    text = """
        from loadpilot import env, feed
        @scenario(mode="constant")
        class S(VUser):
            users = feed([{"name": "ann", "password": env("TOKEN", secret=True)}])
            @task
            def t(self, client): client.post("/login", json=next(self.users))
    """
    compiled = compile_text(text)
    assert not any(b"hunter2" in content for content in compiled.bodies.values())
    (reason,) = compiled.reasons
    assert reason.what == "a row of self.users holds the value of a secret parameter"
    assert reason.place.endswith("scene.py:6")
    assert "code" in compile_text(text.replace('env("TOKEN", secret=True)', '"x"')).plan


def test_a_parameter_may_be_an_attribute_of_compiled_code(compile_text: Compile) -> None:
    """Broken if a parameter in the class keeps a scenario in Python, or if its code contains a
    secret."""
    text = """
        from loadpilot import env
        @scenario(mode="constant")
        class S(VUser):
            SIZE = env("SIZE")
            BASE = f"/{env('PART', 'api')}"
            @task
            def t(self, client): client.get(f"{self.BASE}/{self.SIZE}")
    """
    compiled = compile_text(text)
    assert compiled.plan["code"]["constants"] == {"BASE": {"text": "/api"}, "SIZE": {"text": "7"}}
    for secret in ("env('TOKEN', secret=True)", "f\"{env('TOKEN', secret=True):.4}\""):
        compiled = compile_text(text.replace('env("SIZE")', secret))
        assert "script" in compiled.plan
        assert "hunt" not in compiled.plan_json()


def asking(line: str, in_task: str = "client.get('/')") -> str:
    return f"""
        from loadpilot import env
        {line}
        @scenario(mode="constant")
        class S(VUser):
            @task
            def t(self, client): {in_task}
    """


UNSET = (
    "env('NONE'): is not set and has no default; set it in the environment, as --env NONE=…, or "
    "give a default: env('NONE', default)"
)
NO_TEXT = (
    "env('COUNT'): a default must be text, as values are (got 5); write int(env('COUNT', '5'))"
)
LITERALS = (
    "in a function the arguments of env() must be literals, since they are read before the run"
)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (asking("env('NONE')"), 4, UNSET),
        (asking("", "client.get(env('NONE'))"), 8, UNSET),
        (asking("", "client.get('/', json=[env('NONE')][0])"), 8, UNSET),
        (asking("NAME = 'SIZE'", "client.get(f'/{env(NAME)}')"), 8, LITERALS),
        (asking("", "client.get(env('SIZE', str(1)))"), 8, LITERALS),
        (
            asking("env('COUNT', 5)"),
            4,
            NO_TEXT,
        ),
        (
            asking("env('A B', '')"),
            4,
            "env('A B'): must be a name of letters, digits and _, 128 at most",
        ),
        (
            asking("env('A', '1'); env('A', '2')"),
            4,
            "env('A'): has another default at scene.py:4; a name has one value",
        ),
        (
            asking("env('SIZE'); env('SIZE', secret=True)"),
            4,
            "env('SIZE'): is not a secret at scene.py:4; declare it the same way",
        ),
    ],
)
def test_what_cannot_be_had_is_refused_at_its_line(
    refuse_text: Refuse, text: str, line: int, what: str
) -> None:
    """Broken if a run begins without a parameter, or if the error does not name the line that needs
    it."""
    (problem,) = refuse_text(text)
    assert problem.place.endswith(f"scene.py:{line}")
    assert problem.what == what


def test_a_flag_gives_no_secret_and_nothing_unasked(refuse_text: Refuse) -> None:
    """Broken if a secret is read from a place that others see, or if a misspelt flag has no
    effect."""
    secret = asking("env('TOKEN', secret=True)")
    (problem,) = refuse_text(secret, Overrides(env={"TOKEN": "visible"}))
    assert problem.what == (
        "env('TOKEN'): is a secret, which --env cannot give: others see command lines; "
        "set it in the environment"
    )
    problems = refuse_text(asking("env('SIZE')"), replace(FLAGGED, env={"SIZ": "1"}))
    what = "the scenario never asks for 'SIZ' with env(); did you mean SIZE?"
    assert problems == [Problem("--env", what)]


@pytest.mark.parametrize(
    "form",
    [
        "p%2f/\xfc '+",
        "p%252f/%C3%BC%20%27+",
        "p%252f%2f%c3%bc+'%2B",
        "%70%25%32%66%2F%C3%BC%20'%2b",
        "p%2f/\xfc \\'+",
    ],
)
def test_a_secret_is_hidden_in_every_form_in_which_it_is_sent_or_shown(form: str) -> None:
    """Broken if a refusal shows a secret that a path has encoded, or an error has quoted."""
    secrets = ["", "p%2f", "p%2f/\xfc '+"]
    assert masked(f"/a/{form}?b", secrets) == "/a/***?b"
    assert masked("/a/P%2F?b", secrets) == "/a/P%2F?b"
    assert masked(f"/a/{form}?b", []) == f"/a/{form}?b"
