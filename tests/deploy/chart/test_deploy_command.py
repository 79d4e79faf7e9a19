"""`loadpilot deploy` and `teardown`: the commands of Helm that they run. Helm is the real one where
it needs no cluster."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
import yaml
from tests.deploy.chart.manifests import CHART, RELEASE, helm, of_kind, render
from tests.deploy.chart.tools import program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

pytestmark = pytest.mark.slow
"""Helm and kubeconform are built from their sources, once."""

LOADPILOT = str(Path(sys.executable).with_name("loadpilot"))
PASSED, USAGE, INFRASTRUCTURE = 0, 2, 4
UNREACHABLE = "https://127.0.0.1:1"
"""An address without a cluster."""
VERSION = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))["version"]


def loadpilot(
    *words: str, path: Path, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs the command with one folder as PATH."""
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
    """Broken if a user gets a traceback, or does not learn what to install and what to type."""
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
    """Broken if a flag of the command does not reach the chart, or if an absent flag replaces a
    value of the user's file."""
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
    """Broken if a packed chart lacks the files that are links in the folder."""
    helm("package", str(CHART), "--destination", str(tmp_path))
    (packed,) = tmp_path.glob("loadpilot-*.tgz")
    ran = loadpilot("deploy", "--chart", str(packed), "--dry-run", path=with_helm)
    assert ran.returncode == PASSED, ran.stderr
    kinds = ("ConfigMap", "Deployment", "StatefulSet", "NetworkPolicy", "Service")
    assert of_kind(objects(ran.stdout), *kinds) == of_kind(render({}, "loadpilot"), *kinds)


def kubeconfig(path: Path, server: str) -> str:
    """A kubeconfig for one server, without a login."""
    text = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "one", "cluster": {"server": server}}],
        "contexts": [{"name": "one", "context": {"cluster": "one", "user": ""}}],
        "current-context": "one",
    }
    path.write_text(yaml.safe_dump(text), encoding="utf-8")
    path.chmod(0o600)
    return str(path)


def test_helm_knows_every_flag_that_it_is_given(with_helm: Path) -> None:
    """Broken if Helm refuses the command before it looks for a cluster."""
    config = kubeconfig(with_helm / "config", UNREACHABLE)
    for command in ("deploy", "teardown"):
        ran = loadpilot(command, path=with_helm, environ={"KUBECONFIG": config})
        assert ran.returncode == INFRASTRUCTURE
        assert "127.0.0.1:1" in ran.stderr, ran.stderr
        assert "unknown" not in ran.stderr


class EmptyCluster(BaseHTTPRequestHandler):
    """Answers the requests that Helm sends before it applies objects; no object exists."""

    PAGES: ClassVar[dict[str, dict[str, Any]]] = {
        "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.3"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
        "/api/v1": {
            "kind": "APIResourceList",
            "groupVersion": "v1",
            "resources": [
                {"name": "secrets", "kind": "Secret", "namespaced": True, "verbs": ["get"]}
            ],
        },
    }
    ABSENT: ClassVar[dict[str, Any]] = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": "NotFound",
        "code": 404,
    }

    def do_GET(self) -> None:
        """Answers with the object of the path, or with 404."""
        page = self.PAGES.get(self.path.partition("?")[0])
        body = json.dumps(page or self.ABSENT).encode()
        self.send_response(200 if page else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        """Prints nothing."""


@contextmanager
def cluster(folder: Path, objects: Mapping[str, dict[str, Any]] | None = None) -> Iterator[str]:
    """A kubeconfig for a server that has only these objects, by their paths."""
    pages = {**EmptyCluster.PAGES, **(objects or {})}
    handler = type("Cluster", (EmptyCluster,), {"PAGES": pages})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield kubeconfig(folder / "config", f"http://127.0.0.1:{server.server_port}")
        finally:
            server.shutdown()
            thread.join()


CLOSED, GRAFANA = "The network policy closes all targets so far", "svc/loadpilot-grafana"
PUBLIC = "Agents may connect to public addresses only"
"""Notes of the chart: without targets, with monitoring, and without targets and policies."""
INSTALLED = {"targets": {"public": True}, "monitoring": {"enabled": False}}


@pytest.mark.parametrize(
    ("installed", "words", "notes"),
    [
        (None, [], {CLOSED, GRAFANA}),
        (None, ["--set", "networkPolicy.enabled=false"], {PUBLIC, GRAFANA}),
        (INSTALLED, [], set()),
        (INSTALLED, ["-a", "5"], set()),
        (INSTALLED, ["--set", "agent.tag=9.9"], set()),
        (INSTALLED, ["--set", "monitoring.enabled=null"], {GRAFANA}),
        (INSTALLED, ["--values", "more.yaml"], {GRAFANA}),
    ],
)
def test_an_upgrade_keeps_the_values_of_earlier_ones(
    installed: dict[str, Any] | None,
    words: list[str],
    notes: set[str],
    with_helm: Path,
) -> None:
    """Broken if adding agents closes the targets of a fleet, or if a first install fails. Helm
    keeps the releases of this test in memory, and applies nothing."""
    info = {"status": "deployed", "first_deployed": "2026-01-01T00:00:00Z"}
    release = {"name": RELEASE, "namespace": "perf", "version": 1, "info": info}
    chart = {"metadata": {"apiVersion": "v2", "name": "loadpilot", "version": "0.0.1"}}
    releases = [] if installed is None else [{**release, "chart": chart, "config": installed}]
    stored = with_helm / "releases.yaml"
    stored.write_text(yaml.safe_dump(releases), encoding="utf-8")
    more = with_helm / "more.yaml"
    more.write_text("monitoring: {enabled: true}\n", encoding="utf-8")
    words = [str(more) if word == more.name else word for word in words]
    with cluster(with_helm) as config:
        environ = {
            "KUBECONFIG": config,
            "HELM_DRIVER": "memory",
            "HELM_MEMORY_DRIVER_DATA": str(stored),
        }
        ran = loadpilot("deploy", "-n", "perf", *words, path=with_helm, environ=environ)
    assert ran.returncode == PASSED, ran.stderr
    assert f"LoadPilot {VERSION} is in namespace perf" in ran.stdout
    assert {note for note in (CLOSED, PUBLIC, GRAFANA) if note in ran.stdout} == notes


MADE = {"meta.helm.sh/release-name": RELEASE}
"""Annotation of an object of the release by Helm."""


@pytest.mark.parametrize(
    ("annotations", "is_refused"),
    [
        (MADE, True),
        ({**MADE, "helm.sh/resource-policy": "keep"}, False),
        ({"meta.helm.sh/release-name": "another"}, False),
        (None, False),
    ],
)
def test_keys_of_the_release_are_kept_before_they_are_by_another_hand(
    annotations: dict[str, str] | None, with_helm: Path, *, is_refused: bool
) -> None:
    """Broken if `keys.create: false` deletes the keys of a fleet, or is refused although nothing
    would be deleted."""
    names = [f"{RELEASE}-keys", f"{RELEASE}-agent-keys"]
    stored = {
        f"/api/v1/namespaces/perf/secrets/{name}": {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": "perf", "annotations": annotations},
        }
        for name in names
    }
    releases = with_helm / "releases.yaml"
    releases.write_text("[]\n", encoding="utf-8")
    environ = {"HELM_DRIVER": "memory", "HELM_MEMORY_DRIVER_DATA": str(releases)}
    words = ("-n", "perf", "--chart", str(CHART), "--set", "keys.create=false")
    with cluster(with_helm, stored) as config:
        environ["KUBECONFIG"] = config
        ran = loadpilot("deploy", *words, path=with_helm, environ=environ)
    first = f"kubectl annotate secret -n perf {' '.join(names)} helm.sh/resource-policy=keep"
    assert (first in ran.stderr) is is_refused, ran.stderr
    assert (ran.returncode == PASSED) is not is_refused, ran.stderr


def test_the_name_of_a_secret_is_none(with_helm: Path) -> None:
    """Broken if a fleet with an external server needs a file of values."""
    external = "nats.external"
    words = [f"--set={external}.url=tls://nats.example:4222", f"--set={external}.credsSecret=creds"]
    ran = loadpilot("deploy", *words, "--dry-run", path=with_helm)
    assert ran.returncode == PASSED, ran.stderr
    assert "secretName: creds" in ran.stdout or "name: creds" in ran.stdout


@pytest.mark.parametrize(
    "setting",
    [
        "agent.replicas=1,monitoring.grafana.adminPassword=hunter2",
        "agent.replicas=1, monitoring.grafana.adminpassword=hunter2",
        "=1,monitoring.grafana.adminPassword=hunter2",
    ],
)
def test_a_secret_among_other_values_is_refused(setting: str, with_helm: Path) -> None:
    """Broken if a secret that is not the first value of --set reaches a command line."""
    ran = loadpilot("deploy", f"--set={setting}", "--dry-run", path=with_helm)
    assert ran.returncode == USAGE
    assert "is a secret: put it into a file for --values" in ran.stderr
    assert "hunter2" not in ran.stdout + ran.stderr


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
