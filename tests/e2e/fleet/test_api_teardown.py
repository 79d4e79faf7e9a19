"""Setup and teardown over HTTP, by a hostile caller that shares no code with the product.

`tests/faults/teardown/test_teardown_http.py` tests the commands."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.fleet.test_api import caller, plan

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.e2e.support.http_calls import Answer, Caller
    from tests.oracle.oracle import Oracle

__all__ = ["caller"]

RUN = "01k00000000000000000000042"
BUNDLE = b"an archive"
SECRET = "s3cret-of-a-claim"  # noqa: S105  (made up)


def claim(sound: dict[str, Any], claimant: str = "cli-1") -> dict[str, Any]:
    """A valid claim of a setup."""
    sha256 = hashlib.sha256(BUNDLE).hexdigest()
    return {
        "claim": {
            "claimant": claimant,
            "by": "user@laptop",
            "plan": sound,
            "seed": 7,
            "bundle": {"sha256": sha256, "bytes": len(BUNDLE)},
            "file": "shop.py",
            "teardowns": ["clear"],
        },
        "bundle": base64.b64encode(BUNDLE).decode(),
        "secrets": {"KEY": SECRET},
    }


def owed(caller: Caller, what: str, body: object = None, run: str = RUN) -> Answer:
    """Asks whether a run owes a teardown."""
    return caller.ask("GET" if body is None else "POST", f"/run/{run}/owed{what}", body)


def test_a_claim_is_judged_like_any_request(
    caller: Caller, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a claim that no teardown can be played from is owed for ever, or if a response
    contains a secret."""
    sound = claim(plan(loadpilot, oracle))
    text = json.dumps(sound).encode()
    wrong_plan = {**sound["claim"], "plan": {**sound["claim"]["plan"], "target": "ftp://x"}}
    for body, problem in (
        (b"{", "body: cannot be read"),
        (text[:-1] + b',"bundle":""}', 'the key "bundle" stands twice'),
        ({**sound, "nonsense": 1}, "unknown field `nonsense`"),
        ({**sound, "bundle": f"{SECRET}!"}, "bundle: must be base64"),
        ({**sound, "bundle": ""}, "bundle: must be the archive that the claim names"),
        ({**sound, "secrets": {"KEY": [SECRET]}}, "secrets: must be an object of texts"),
        ({**sound, "claim": {**sound["claim"], "claimant": "A B"}}, "claim.claimant: "),
        ({**sound, "claim": wrong_plan}, "target: must"),
    ):
        answer = owed(caller, "/setup", body)
        assert answer.status == 400, (problem, answer.body[:300])
        assert problem in answer.problems, answer.body[:300]
        assert SECRET.encode() not in answer.body
    assert owed(caller, "/setup", sound, run="A-B").status == 400
    for what in ("", "/kept", "/kept?states=true"):
        assert owed(caller, what).status == 404, what
    assert owed(caller, "/claim", {"claimant": "cli-2", "by": "x"}).status == 404
    assert owed(caller, "/setup", sound).status == 201


@pytest.mark.slow
def test_a_setup_belongs_to_its_claimant(
    fleet: Fleet, caller: Caller, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a second caller can begin, read or end the setup of the first one, or if a caller
    without a token gets its secrets."""
    sound = plan(loadpilot, oracle)
    assert owed(caller, "/setup", claim(sound)).status == 201
    state = owed(caller, "").json
    assert (state["is_owed"], state["asked"], state["holder"]) == (True, False, "cli-1")
    key = "ab" * 32
    for what, body, rule in (
        ("/setup", claim(sound, "cli-2"), "run: must be new"),
        ("/states", {"claimant": "cli-2", "states": "aGk=", "key": key}, "must still be held by"),
        ("/finish", {"claimant": "cli-2", "failed": []}, "must still be held by"),
        ("/finish", {"claimant": "cli-1", "failed": []}, "must still be held by"),
        ("/states", {"claimant": "cli-1", "states": "aGk=", "key": 7}, "key: must be a text"),
    ):
        answer = owed(caller, what, body)
        assert (answer.status, rule in answer.problems) == (400, True), answer.body
    for body, rule in (
        ({"plan": sound, "run": RUN}, "run: must be new"),
        ({"plan": sound, "run": RUN, "claimant": "cli-2"}, "must still be held by"),
        ({"plan": sound, "claimant": "cli-1"}, "run: must be given with `claimant`"),
    ):
        answer = caller.ask("POST", "/run", body)
        assert (answer.status, rule in answer.problems) == (400, True), answer.body
    means = owed(caller, "/means")
    assert means.status == 403
    assert SECRET.encode() not in means.body
    assert oracle.counts().received == 0
    # After ten seconds without heartbeats another claimant may play it, and then only that one.
    assert owed(caller, "/claim", {"claimant": "cli-2", "by": "x"}).json == {"claim": "taken"}
    answer = caller.ask("POST", "/run", {"plan": sound, "run": RUN, "claimant": "cli-1"})
    assert "must still be held by" in answer.problems
    assert owed(caller, "/finish", {"claimant": "cli-2", "failed": ["clear"]}).status == 204
    assert owed(caller, "").json["is_owed"] is False
    assert owed(caller, "/claim", {"claimant": "cli-3", "by": "x"}).json == {"claim": "settled"}
    listed = loadpilot.call("runs", "--nats-url", fleet.url).stdout
    assert "teardown owed" not in listed
