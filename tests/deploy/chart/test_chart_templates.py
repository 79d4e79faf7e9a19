"""The chart, checked by Helm and by the schemas of Kubernetes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.deploy.chart.manifests import (
    CHART,
    EXTERNAL,
    NAMESPACE,
    VALUE_SETS,
    Refused,
    helm,
    objects,
    render,
)
from tests.deploy.chart.schemas import location
from tests.deploy.chart.tools import program
from tests.deploy.composition import ROOT

from loadpilot_gateway.limits import LIVE_VIEWS_MAX, REQUEST_CONNECTIONS_MAX

pytestmark = pytest.mark.slow
"""Helm and kubeconform are built from their sources, once."""

CONNECTIONS_MAX = REQUEST_CONNECTIONS_MAX + LIVE_VIEWS_MAX
"""Maximum number of connections of one address at the gateway."""


def conform(found: list[dict[str, Any]]) -> subprocess.CompletedProcess[str]:
    """Runs kubeconform on objects, with the schemas of this test only."""
    argv = [str(program("kubeconform")), "-strict", "-schema-location", location(), "-"]
    text = yaml.safe_dump_all(found, default_flow_style=False)
    return subprocess.run(argv, input=text, check=False, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("name", VALUE_SETS)
def test_helm_finds_no_mistake(name: str) -> None:
    """Broken if a template fails, or a documented value is refused."""
    helm("lint", "--strict", str(CHART), "--values", "-", stdin=yaml.safe_dump(VALUE_SETS[name]))


@pytest.mark.parametrize("name", VALUE_SETS)
def test_every_object_is_one_of_kubernetes(name: str) -> None:
    """Broken if an object has a field that Kubernetes, KEDA or the operator does not know."""
    judged = conform(objects(name))
    assert judged.returncode == 0, judged.stdout + judged.stderr


def test_a_mistake_would_be_found() -> None:
    """Broken if the check above passes for any object."""
    wrong = {
        "Deployment": ("replicas", "three"),
        "StatefulSet": ("replica", 1),
        "NetworkPolicy": ("ingres", []),
        "ScaledObject": ("minReplicas", 1),
        "ServiceMonitor": ("endpoint", []),
    }
    for kind, (field, value) in wrong.items():
        found = next(one for one in objects("autoscaling") if one["kind"] == kind)
        judged = conform([{**found, "spec": {**found["spec"], field: value}}])
        assert judged.returncode == 1, kind
        assert field in judged.stdout, judged.stdout


@pytest.mark.parametrize("name", VALUE_SETS)
def test_names_are_unique_and_in_one_namespace(name: str) -> None:
    """Broken if one object overwrites another, or is created in another namespace."""
    found = [(one["kind"], one["metadata"]["name"]) for one in objects(name)]
    assert len(set(found)) == len(found)
    assert {one["metadata"]["namespace"] for one in objects(name)} == {NAMESPACE}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"agents": {"replicas": 3}}, "agents"),
        ({"agent": {"replica": 3}}, "replica"),
        ({"agent": {"replicas": "many"}}, "agent.replicas"),
        ({"nats": {"replicas": 2}}, "nats.replicas"),
        ({"nats": {"service": {"type": "Public"}}}, "nats.service.type"),
        ({"coordinator": {"serveAgents": 5}}, "set agent.replicas"),
        ({"nats": {"external": {"url": "tls://nats.example:4222"}}}, "credsSecret must name"),
        ({"nats": {"external": {"credsSecret": "creds"}}}, "nats.external.url must be set"),
        ({"nats": {"external": {"domain": "hub"}}}, "nats.external.url must be set"),
        ({"nats": {"external": {"logStorage": "1GiB"}}}, "nats.external.url must be set"),
        ({"nats": {"external": {**EXTERNAL, "logStorage": "1TiB"}}}, "nats.external.logStorage"),
        ({"nats": {"external": {**EXTERNAL, "tokenSecret": "x"}}}, "tokenSecret must be empty"),
        (
            {"nats": {"external": {**EXTERNAL, "domain": "hub", "apiPrefix": "JS.API"}}},
            "apiPrefix must be empty",
        ),
        ({"nats": {"external": {**EXTERNAL, "domain": "a.b"}}}, "nats.external.domain"),
        (
            {"nats": {"external": {**EXTERNAL, "connections": 11}}},
            "connections is 11, and the parts need 12: one for each of agent.replicas",
        ),
        (
            {
                "nats": {"external": {**EXTERNAL, "connections": 28}},
                "agent": {"autoscaling": {"enabled": True}},
            },
            "the parts need 29: one for each of agent.autoscaling.max",
        ),
        (
            {"nats": {"external": {"url": "nats://nats.example:4222", "credsSecret": "creds"}}},
            "must be tls://",
        ),
        ({"nats": {"external": {**EXTERNAL, "url": "tls://a:1,nats://b:1"}}}, "(got nats://b:1)"),
        ({"nats": {"external": {**EXTERNAL, "url": "tls://a:1,"}}}, "several with commas between"),
        ({"nats": {"external": {**EXTERNAL, "url": "nats://u:pw@a"}}}, "(got nats://a)"),
        ({"networkPolicy": {"dns": []}}, "networkPolicy.dns"),
        ({"networkPolicy": {"dns": None}}, "'dns'"),
        ({"networkPolicy": {"natsNetworks": []}}, "networkPolicy.natsNetworks"),
        ({"networkPolicy": {"natsNetworks": None}}, "'natsNetworks'"),
        (
            {"agent": {"autoscaling": {"enabled": True}}, "monitoring": {"enabled": False}},
            "agent.autoscaling.prometheusUrl must be set",
        ),
        ({"agent": {"autoscaling": {"enabled": True, "min": 9, "max": 3}}}, "at most max"),
        ({"agent": {"autoscaling": {"cooldownSeconds": 3601}}}, "autoscaling.cooldownSeconds"),
        ({"gateway": {"addressConnections": 0}}, "gateway.addressConnections"),
        ({"gateway": {"addressConnections": CONNECTIONS_MAX + 1}}, "gateway.addressConnections"),
        ({"gateway": {"ingress": {"enabled": True}}}, "gateway.ingress.host must be"),
        ({"targets": {"services": [{"host": "shop"}]}}, "targets.services"),
    ],
)
def test_a_wrong_value_is_refused_by_name(values: dict[str, Any], said: str) -> None:
    """Broken if a typo or a contradiction installs another fleet than the user meant."""
    with pytest.raises(Refused) as refused:
        render(values)
    text = str(refused.value)
    # The schema names a value as /agent/replicas.
    assert said in text or said in text.replace("/", "."), text


def test_the_chart_has_the_version_of_the_package() -> None:
    """Broken if a chart installs images of another version than its command."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    package = (ROOT / "sdk" / "pyproject.toml").read_text("utf-8")
    assert f'version = "{chart["version"]}"' in package
    assert chart["appVersion"] == chart["version"]


def test_the_guide_names_the_helm_of_the_tests() -> None:
    """Broken if the guide names another version of Helm than the tests use."""
    modules = (Path(__file__).parent / "tools" / "go.mod").read_text("utf-8")
    (version,) = re.findall(r"(?m)^\s*helm\.sh/helm/v4 v(\S+)", modules)
    guide = (ROOT / "docs/howto/fleet/deploy-on-kubernetes.md").read_text("utf-8")
    assert f"with Helm {version}," in guide


def test_shared_files_have_one_source() -> None:
    """Broken if the chart has a copy of a file, which would drift from that of the compose file."""
    held = list((CHART / "files").iterdir())
    assert held
    assert [path.name for path in held if not path.is_symlink() or not path.exists()] == []


def test_images_are_built_from_what_the_chart_links_to() -> None:
    """Broken if the wheel in an image has a chart without its files."""
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    admitted = [line[1:] for line in ignored if line.startswith("!")]
    for file in (CHART / "files").iterdir():
        path = file.resolve().relative_to(ROOT)
        assert any(path.is_relative_to(folder) for folder in admitted), path
