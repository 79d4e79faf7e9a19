"""Secrets are handles: their values are in no plan, and equal values share a handle."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from loadpilot.compile.headers import SECRET_NAMES

if TYPE_CHECKING:
    from sdk.tests.conftest import Compile

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


def test_the_plan_does_not_depend_on_the_values_of_secrets(compile_text: Compile) -> None:
    """Broken if rotating a password makes another plan of the same scenario."""
    one = compile_text(SCENE).plan
    other = compile_text(SCENE.replace("hunter2", "correct horse")).plan
    assert one == other


def test_every_secret_name_becomes_a_handle(compile_text: Compile) -> None:
    """Broken if a name is called secret and its value is written out all the same."""
    headers = {name.title(): "hunter2" for name in sorted(SECRET_NAMES)}
    compiled = compile_text(f"""
        @scenario(mode="constant")
        class S(VUser):
            @task
            def t(self, client): client.get("/", headers={headers!r})
    """)
    assert "hunter2" not in compiled.plan_json()
