"""The pods of the chart in real containers, as `./dev images` runs them. The demo target, which
counts its responses, is the oracle. Scheduling and network policies are not tested here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.deploy.catalogue import __file__ as catalogue
from tests.deploy.chart.manifests import RELEASE
from tests.deploy.chart.pod_containers import PARTS, PodContainers
from tests.deploy.containers import BUILD_S

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(BUILD_S),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give files to users of pods"),
]

CATALOGUE = Path(catalogue)
TARGET = "http://target:8000"
RPS = 100


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PodContainers]:
    """A fleet as `helm install` describes it."""
    with PodContainers(tmp_path_factory.mktemp("pods")) as pods:
        pods.start_all()
        yield pods


def test_a_fleet_of_pods_counts_like_its_target(pods: PodContainers) -> None:
    """Broken if an image lacks something, if a pod may not read its keys or write to its volumes,
    or if a probe or a pod of `helm test` fails in a healthy fleet."""
    secs = 5
    agents = pods.release.replicas("agent")
    run = pods.gateway().submit(CATALOGUE, TARGET, RPS, secs, agents)
    report = pods.gateway().report(run)
    assert report["calls"]["outcomes"] == {"ok": RPS * secs}
    assert pods.answered() == RPS * secs
    named = {fact["holder"]["agent"] for fact in report["run"]["holders"]}
    assert named == {f"{RELEASE}-agent-{number}" for number in range(agents)}
    probes = ("readinessProbe", "livenessProbe")
    sick = [(one.name, probe) for one in pods.running for probe in probes if not one.passes(probe)]
    assert sick == []
    for name in ("nats", "agents", "coordinator", "gateway"):
        pods.test(name)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_asked_to_end_costs_no_arrival(pods: PodContainers, part: str) -> None:
    """Broken if a program ignores SIGTERM as the first process of its container, if it does not end
    within its grace period, or if its run loses an arrival or a count."""
    secs = 20
    run = pods.gateway().submit(CATALOGUE, TARGET, RPS, secs, pods.release.replicas("agent"))
    pods.gateway().wait_calls(run, 2 * RPS)
    if part == "agent":
        pods.start("agent", pods.release.replicas("agent"))
    ended = next(one for one in pods.running if one.part == part)
    assert ended.terminate() == 0, ended.output()
    ended.start_again()
    report = pods.gateway().report(run)
    arrivals = report["arrivals"]
    assert arrivals["planned"] == arrivals["started"] == RPS * secs, arrivals
    assert report["calls"]["outcomes"] == {"ok": RPS * secs}
    assert pods.answered() == RPS * secs
