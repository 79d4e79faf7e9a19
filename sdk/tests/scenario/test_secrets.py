"""Secrets are handles: no plan contains their values, and equal values share a handle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from loadpilot import _native
from loadpilot.request.headers import is_secret_name

if TYPE_CHECKING:
    from sdk.tests.conftest import Compile, Refuse

SCENE = """
TOKEN = "hunter2"
@scenario(mode="constant", secret_headers=["X-Session"])
class S(VUser):
    @task
    def t(self, client):
        client.get("/", headers={"authorization": f"Bearer {TOKEN}", "X-Other": "open"})
        client.get("/", headers={"AUTHORIZATION": "Bearer hunter2", "Cookie": "sid=hunter2"})
        client.get("/", headers={"x-session": "hunter2", "X-Api-Key": "hunter2"})
"""


def test_values_of_secret_headers_are_kept_apart(compile_text: Compile) -> None:
    """Broken if a credential is stored in the log, or an agent cannot resolve its handle."""
    compiled = compile_text(SCENE)
    assert "hunter2" not in json.dumps(compiled.plan)
    steps = compiled.plan["tasks"][0]["steps"]
    values = [{h["name"]: h["value"] for h in step["headers"]} for step in steps]
    assert values == [
        {"authorization": {"secret": "authorization-1"}, "X-Other": "open"},
        {"AUTHORIZATION": {"secret": "authorization-1"}, "Cookie": {"secret": "cookie-2"}},
        {"x-session": {"secret": "x-session-3"}, "X-Api-Key": {"secret": "x-session-3"}},
    ]
    assert compiled.secrets == {
        "authorization-1": "Bearer hunter2",
        "cookie-2": "sid=hunter2",
        "x-session-3": "hunter2",
    }


LISTED = '["X-Session"]'
ITERATORS = (
    "(name for name in ['X-Plain'])",
    "map(str.title, ['x-plain'])",
    "filter(None, ['X-Plain', ''])",
    "{'X-Plain': 1}.keys()",
    "('X-Plain',)",
)


@pytest.mark.parametrize("names", ITERATORS)
def test_names_of_secret_headers_may_be_any_iterable(compile_text: Compile, names: str) -> None:
    """Broken if an iterator of names is read twice, so that the values are stored."""
    compiled = compile_text(SCENE.replace(LISTED, names).replace("x-session", "x-plain"))
    assert "hunter2" not in compiled.plan_json()
    assert "hunter2" in compiled.secrets.values()


@pytest.mark.parametrize("names", ["'X-Session'", "7", "[b'X-Session']", "False", "b'X-Session'"])
def test_names_of_secret_headers_are_texts(refuse_text: Refuse, names: str) -> None:
    """Broken if a wrong type of the setting is an internal error, or leaves a value in the log."""
    (problem,) = refuse_text(SCENE.replace(LISTED, names))
    assert "secret_headers: must be a list of header names" in str(problem)


def test_the_plan_does_not_depend_on_the_values_of_secrets(compile_text: Compile) -> None:
    """Broken if rotating a password makes another plan of the same scenario."""
    one = compile_text(SCENE).plan
    other = compile_text(SCENE.replace("hunter2", "correct horse")).plan
    assert one == other


SECRET = (
    *("authorization", "cookie", "proxy-authorization", "x-api-key", "x-auth-token"),
    *("x-amz-security-token", "x-csrftoken", "client-secret", "x_session", "x-sessionid"),
    *("apikey", "x-access-key", "oauth", "x-password", "auth-user", "session-token-id"),
)
PLAIN = (
    *("accept", "author", "authority", "user-agent", "x-keyword", "x-monitor", "x-max-tokens"),
    *("idempotency-key", "x-plain", "sec-fetch-mode"),
)


@pytest.mark.parametrize("name", [*SECRET, *PLAIN])
def test_compiler_and_checker_call_the_same_names_secret(name: str) -> None:
    """Broken if the compiler writes what coordinators refuse, or if coordinators store it."""
    golden = Path(__file__).parents[3] / "proto/golden/plan.v1.json"
    plan = json.loads(golden.read_text(encoding="utf-8"))
    plan["tasks"][0]["steps"][0]["headers"] = [{"name": name.title(), "value": "hunter2"}]
    refused = [one["rule"] for one in json.loads(_native.check_plan(json.dumps(plan)))]
    assert any("secret handle" in rule for rule in refused) == (name in SECRET)
    assert is_secret_name(name.title()) == (name in SECRET)


def test_every_secret_name_becomes_a_handle(compile_text: Compile) -> None:
    """Broken if the value of a name that is declared secret is written out."""
    headers = {name.title(): "hunter2" for name in SECRET}
    compiled = compile_text(f"""
        @scenario(mode="constant")
        class S(VUser):
            @task
            def t(self, client): client.get("/", headers={headers!r})
    """)
    assert "hunter2" not in compiled.plan_json()


def test_fields_of_bodies_are_not_taken_for_headers(compile_text: Compile) -> None:
    """Broken if a scenario that logs in with a password is no longer compiled."""
    compiled = compile_text("""
        @scenario(mode="constant")
        class S(VUser):
            def on_start(self, client):
                answer = client.post("/login", json={"password": "p", "key": "k"})
                self.token = answer.json()["token"]

            @task
            def t(self, client): client.get("/", headers={"X-Session": self.token})
    """)
    assert "code" in compiled.plan, compiled.reasons
