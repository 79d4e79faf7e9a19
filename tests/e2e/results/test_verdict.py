"""`loadpilot verdict`: many runs judged by other gates, over other parts of their time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import UNTRUSTED

if TYPE_CHECKING:
    from tests.e2e.support.command import Finished, Loadpilot
    from tests.oracle.oracle import Oracle

SHOP = """
from loadpilot import VUser, scenario, task

@scenario(rps=40, duration="3s", mode="constant", thresholds={"p99_ms": 9000})
class Shop(VUser):
    @task
    def quick(self, client):
        client.get("/quick")

    @task
    def slow(self, client):
        client.get("/slow")
"""


@pytest.mark.slow
def test_runs_are_judged_again(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a verdict differs from that of a run with these gates, if one failing run among
    many passes, or if a run file needs its log. 15 s."""
    oracle.delay(500, path="/slow")
    gates = ["--threshold", "quick:p50_ms=400", "--threshold", "p(99)<400"]
    gated = loadpilot.run(SHOP, oracle.url, *gates, "--tag", "team=shop")
    oracle.delay(1, path="/slow")
    fast = loadpilot.run(SHOP, oracle.url)

    own = loadpilot.call("verdict", gated.run, "--json")
    (same,) = json.loads(own.stdout)
    assert same["answer"]["verdict"] == gated.report["verdict"]
    again = loadpilot.call("verdict", gated.run, fast.run, *gates, "--json")
    failing, passing = json.loads(again.stdout)
    assert [failing["run"], passing["run"]] == [gated.run, fast.run]
    thresholds = {one["key"]: one for one in failing["answer"]["verdict"]["thresholds"]}
    known = {one["key"]: one for one in gated.report["verdict"]["thresholds"]}
    assert thresholds["p99_ms"] == known["p99_ms"]
    assert thresholds["quick:p50_ms"] == known["quick:p50_ms"]
    assert expected(again, [failing, passing])

    slow = loadpilot.call("verdict", "last", "--task", "slow", "--threshold", "p50_ms=0.001")
    assert slow.code in {1, UNTRUSTED}
    assert "slow:p50_ms" in slow.stdout
    assert "<= 0.001" in slow.stdout
    tagged = loadpilot.call("verdict", "--tag", "team=shop", "--from", "1s", "--to", "2s", "--json")
    (part,) = json.loads(tagged.stdout)
    assert part["run"] == gated.run
    assert (part["answer"]["judged_from_us"], part["answer"]["judged_to_us"]) == (10**6, 2 * 10**6)
    assert part["answer"]["requests_total"] == 40
    assert len(json.loads(loadpilot.call("verdict", "--all", "--json").stdout)) == 2

    path = loadpilot.folder / "gated.lprun"
    assert loadpilot.call("export", gated.run, str(path)).code == 0
    assert json.loads(loadpilot.call("verdict", str(path), "--json").stdout) == [same]
    for argv, words in [
        (["nothing"], "there is no run 'nothing'"),
        (["gone.lprun"], "gone.lprun"),
        (["last", "--from", "soon"], "--from: must be a duration"),
        (["last", "--from", "9s"], "--from: "),
        (["last", "--threshold", "p99ms=5"], "did you mean 'p99_ms'?"),
        (["last", "--threshold", "rate=0.01"], "needs an operator"),
        (["last", "--task", "slwo", "--threshold", "p99_ms=5"], "did you mean 'slow'?"),
        (["last", "--task", "slow"], "add --threshold"),
        (["last", "--all"], "drop either"),
        (["--tag", "team=none"], "has the tags team=none"),
    ]:
        refused = loadpilot.call("verdict", *argv)
        assert (refused.code, words in refused.stderr) == (2, True), (argv, refused.stderr)


@pytest.mark.slow
def test_what_proves_nothing_is_not_judged(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a run without a response gets a verdict. 3 s."""
    gone = oracle.url.rsplit(":", 1)[0] + ":9"
    loadpilot.run(SHOP.replace('"3s"', '"8s"'), gone)
    judged = loadpilot.call("verdict", "--threshold", "error_rate=100")
    assert (judged.code, "not judged: " in judged.stdout) == (UNTRUSTED, True), judged.stdout
    assert "no server answered" in judged.stdout


def expected(finished: Finished, judgements: list[dict[str, object]]) -> bool:
    """Whether exit code and verdicts are as expected; a busy machine may make the certificate
    INVALID."""
    verdicts = [one["verdict"] for one in judgements]
    if "not judged" in verdicts:
        return finished.code == UNTRUSTED and "certificate INVALID" in finished.stdout
    return (finished.code, verdicts) == (1, ["FAIL", "PASS"])
