"""`loadpilot deploy` and `teardown`: what they ask of Helm, which is the real one where it needs no
cluster."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.deploy.chart.manifests import CHART, RELEASE, helm, of_kind, render
from tests.deploy.chart.tools import program

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.slow
"""Helm and kubeconform are built from their sources, once."""

LOADPILOT = str(Path(sys.executable).with_name("loadpilot"))
PASSED, USAGE, INFRASTRUCTURE = 0, 2, 4
UNREACHABLE = "https://127.0.0.1:1"
"""No cluster."""


def loadpilot(
    *words: str, path: Path, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs the command with one folder of programs."""
    return subprocess.run(
        [LOADPILOT, *words],
        env={"PATH": str(path), "HOME": str(path), **(environ or {})},
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )


def objects(printed: str) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(printed) if one]


@pytest.fixture
def without_helm(tmp_path: Path) -> Path:
    """A folder without programs."""
    return tmp_path


@pytest.fixture
def with_helm(tmp_path: Path) -> Path:
    """A folder with Helm alone."""
    (tmp_path / "helm").symlink_to(program("helm"))
    return tmp_path


def test_a_missing_helm_is_named_with_the_command(without_helm: Path) -> None:
    """Broken if a user sees a trace, or does not learn what to install and what to type."""
    ran = loadpilot("deploy", "-a", "5", "-n", "perf", path=without_helm)
    assert ran.returncode == INFRASTRUCTURE
    assert "helm is not on PATH" in ran.stderr
    assert "https://helm.sh/docs/intro/install" in ran.stderr
    command = ran.stderr.partition("$ ")[2].partition("\n")[0]
    words = shlex.split(command)
    assert words[:4] == ["helm", "upgrade", "--install", RELEASE]
    assert {"--wait", "--create-namespace", "agent.replicas=5"} <= set(words)
    assert words[words.index("--namespace") + 1] == "perf"


def test_a_dry_run_prints_the_objects_of_the_flags(with_helm: Path, tmp_path: Path) -> None:
    """Broken if a flag of the original command does not reach the chart, or a flag that is not
    typed replaces a value of the user's file."""
    values = tmp_path / "values.yaml"
    values.write_text("agent: {replicas: 7}\ntargets: {public: true}\n", encoding="utf-8")
    flags = ["--nats-service", "NodePort", "--no-monitoring", "--set", "coordinator.replicas=1"]
    ran = loadpilot("deploy", *flags, "--values", str(values), "--dry-run", path=with_helm)
    assert ran.returncode == PASSED, ran.stderr
    found = of_kind(objects(ran.stdout), "Deployment", "Service", "StatefulSet")
    assert found[f"{RELEASE}-agent"]["spec"]["replicas"] == 7
    assert found[f"{RELEASE}-coordinator"]["spec"]["replicas"] == 1
    services = of_kind(objects(ran.stdout), "Service")
    assert services[f"{RELEASE}-nats"]["spec"]["type"] == "NodePort"
    assert f"{RELEASE}-prometheus" not in found
    typed = loadpilot("deploy", "-a", "2", "-f", str(values), "--dry-run", path=with_helm)
    assert of_kind(objects(typed.stdout), "Deployment")[f"{RELEASE}-agent"]["spec"]["replicas"] == 2


def test_a_packed_chart_is_the_same(with_helm: Path, tmp_path: Path) -> None:
    """Broken if the chart of a registry lacks what the folder has as links."""
    helm("package", str(CHART), "--destination", str(tmp_path))
    (packed,) = tmp_path.glob("loadpilot-*.tgz")
    ran = loadpilot("deploy", "--chart", str(packed), "--dry-run", path=with_helm)
    assert ran.returncode == PASSED, ran.stderr
    kinds = ("ConfigMap", "Deployment", "StatefulSet", "NetworkPolicy", "Service")
    assert of_kind(objects(ran.stdout), *kinds) == of_kind(render({}, "loadpilot"), *kinds)


def test_helm_knows_every_flag_that_it_is_given(with_helm: Path) -> None:
    """Broken if Helm refuses the command before it looks for a cluster."""
    config = with_helm / "config"
    cluster = {"server": UNREACHABLE}
    config.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "none", "cluster": cluster}],
                "contexts": [{"name": "none", "context": {"cluster": "none", "user": ""}}],
                "current-context": "none",
            }
        ),
        encoding="utf-8",
    )
    config.chmod(0o600)
    for command in ("deploy", "teardown"):
        ran = loadpilot(command, path=with_helm, environ={"KUBECONFIG": str(config)})
        assert ran.returncode == INFRASTRUCTURE
        assert "127.0.0.1:1" in ran.stderr, ran.stderr
        assert "unknown" not in ran.stderr


def test_the_name_of_a_secret_is_none(with_helm: Path) -> None:
    """Broken if a fleet with a server outside needs a file of values."""
    external = "nats.external"
    words = [f"--set={external}.url=tls://nats.example:4222", f"--set={external}.credsSecret=creds"]
    ran = loadpilot("deploy", *words, "--dry-run", path=with_helm)
    assert ran.returncode == PASSED, ran.stderr
    assert "secretName: creds" in ran.stdout or "name: creds" in ran.stdout


def test_every_mistake_is_named(with_helm: Path) -> None:
    """Broken if a mistake reaches the cluster, or a secret a command line."""
    flags = {
        "--namespace": ("Perf", "lower-case"),
        "--agents": ("-1", "0 or more"),
        "--nats-service": ("Loadbalancer", "did you mean LoadBalancer?"),
        "--set": ("monitoring.grafana.adminPassword=hunter2", "--values"),
        "--values": ("absent.yaml", "can be read"),
    }
    words = [word for flag, (value, _) in flags.items() for word in (f"{flag}={value}",)]
    ran = loadpilot("deploy", *words, path=with_helm)
    assert ran.returncode == USAGE
    for flag, (_, said) in flags.items():
        assert any(flag in line and said in line for line in ran.stderr.splitlines()), flag
    assert "hunter2" not in ran.stderr
    assert "$ helm" not in ran.stderr
