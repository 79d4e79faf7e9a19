"""The pods of the chart as plain processes. All else that a kubelet does, and a network of pods,
are not tested here.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.deploy.catalogue import __file__ as catalogue
from tests.deploy.chart.manifests import RELEASE, VALUE_SETS, Files
from tests.deploy.chart.pod_processes import Pod, Pods
from tests.deploy.local_processes import PATIENCE_S
from tests.e2e.support.dropped_arrivals import all_but_late

from loadpilot.local.keys.key import KEY_PREFIX

if TYPE_CHECKING:
    from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.slow
"""Helm and kubeconform are built from their sources, once."""

CATALOGUE = Path(catalogue)
LOADPILOT = Path(sys.executable).with_name("loadpilot")
OURS = ("coordinator", "agent", "gateway")
NEAR = {"targets": {"networks": ["127.0.0.0/8", "::1/128"]}}
LEAST = {**NEAR, "monitoring": {"enabled": False}}
"""A fleet whose targets are on this machine."""
INSTALLED_BY_HAND = {"keys by another hand"}


def secrets_of_the_user(folder: Path) -> Files:
    """The secrets that a user makes for an external server, for callers' keys and for a
    certificate."""
    users = folder / "nats-users"
    words = ["--out", str(users), "--tenants", "shop", "--nats-url", "tls://nats.example:4222"]
    subprocess.run(
        [LOADPILOT, "admin", "nats-config", *words], check=True, capture_output=True, timeout=60
    )
    creds = (users / "fleet" / "agent" / "user.nk").read_text("utf-8")
    keys = folder / "keys.json"
    words = ["--file", str(keys), "--tenant", "local"]
    subprocess.run([LOADPILOT, "keys", "init", *words], check=True, capture_output=True, timeout=60)
    with Pods(folder, {}) as pods:
        own = pods.secrets[f"{RELEASE}-gateway-keys"]
    shutil.rmtree(folder / "pods")
    return {
        "nats-creds": {"creds": creds},
        "nats-tokens": {"token": "fleet:made-up-password"},
        "nats-ca": {"ca.pem": own["ca.pem"]},
        "gateway-tls": {"tls.crt": own["gateway.pem"], "tls.key": own["gateway-key.pem"]},
        "gateway-callers": {"keys.json": keys.read_text("utf-8")},
    }


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The secrets of the user, made once: the programs only read them."""
    return secrets_of_the_user(tmp_path_factory.mktemp("user"))


@pytest.mark.parametrize("name", sorted(VALUE_SETS.keys() - INSTALLED_BY_HAND))
def test_every_program_accepts_what_its_pod_says(name: str, secrets: Files, tmp_path: Path) -> None:
    """Broken if the program does not know a flag, a variable or a file of the chart."""
    with Pods(tmp_path, VALUE_SETS[name], secrets) as pods:
        described = [one for one, part in pods.parts.items() if part in OURS]
        assert described
        for one in described:
            checked = pods.check(one)
            assert checked.returncode == 0, f"{one}: {checked.stderr}"


def test_a_mistake_would_be_found(secrets: Files, tmp_path: Path) -> None:
    """Broken if the check above passes for any values of the chart."""
    values: dict[str, Any] = {
        "coordinator": {"extraArgs": ["--behind=3s"]},
        "agent": {"extraArgs": ["--alive=/tmp"]},
    }
    with Pods(tmp_path, values, secrets) as pods:
        for part in ("coordinator", "agent"):
            checked = pods.check(f"{RELEASE}-{part}")
            assert checked.returncode == 2, part
            assert values[part]["extraArgs"][0].split("=")[0] in checked.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to run programs as other users")
def test_the_user_of_a_pod_reads_its_keys_as_a_kubelet_mounts_them(tmp_path: Path) -> None:
    """Broken if keys of root and the group of the pod are refused, or if keys that others can read
    are accepted."""
    with tempfile.TemporaryDirectory(dir="/tmp") as open_to_all, Pods(tmp_path, LEAST) as pods:
        Path(open_to_all).chmod(0o755)
        pods.folder = Path(open_to_all)
        for part in ("coordinator", "agent"):
            pod = pods.pod(f"{RELEASE}-{part}")
            user = pod.spec["securityContext"]["runAsUser"]
            program = Path(shutil.copy(pod.argv()[0], open_to_all))
            words = ["/usr/bin/env", "-i", *(f"{k}={v}" for k, v in pod.environ().items())]
            argv = [*words, str(program), *pod.argv()[1:], "--check-config"]
            for mode, code in ((0o440, 0), (0o444, 2)):
                for file in (pod.root / "keys").iterdir():
                    os.chown(file, 0, user)
                    file.chmod(mode)
                ran = subprocess.run(
                    argv, check=False, capture_output=True, text=True, timeout=60,
                    user=user, group=user, extra_groups=[],
                )  # fmt: skip
                assert ran.returncode == code, (part, oct(mode), ran.stderr)
        assert "readable by its owner only" in ran.stderr


def test_a_fleet_of_pods_counts_like_the_oracle(tmp_path: Path, oracle: Oracle) -> None:
    """Broken if the parts do not find or trust each other, or if a probe or a pod of `helm test`
    fails in a healthy fleet."""
    rps, secs = 50, 3
    with Pods(tmp_path, LEAST) as pods:
        pods.start_all()
        agents = pods.replicas("agent")
        run = pods.gateway().submit(CATALOGUE, oracle.url, rps, secs, agents)
        report = pods.gateway().report(run)
        coordinator = next(pod for pod in pods.running if pod.part == "coordinator")
        # As through `kubectl port-forward`.
        at_coordinator = [
            f"--coordinator-url=https://localhost:{coordinator.places['own:https']}",
            f"--coordinator-cacert={coordinator.root}/keys/ca.pem",
            f"--coordinator-token-file={coordinator.root}/keys/http-token",
        ]
        load = [f"--rps={rps}", f"--duration={secs}s", f"--target={oracle.url}"]
        results = tmp_path / "results.json"
        load += [f"--external-agents={agents}", f"--results-json={results}"]
        ran = subprocess.run(
            [LOADPILOT, "run", CATALOGUE, *at_coordinator, *load],
            cwd=tmp_path, check=False, capture_output=True, text=True, timeout=PATIENCE_S,
        )  # fmt: skip
        assert ran.returncode in {0, 3}, ran.stderr  # 3: a busy machine
        probes = ("readinessProbe", "livenessProbe")
        sick = [
            (pod.name, probe) for pod in pods.running for probe in probes if not pod.passes(probe)
        ]
        assert sick == []
        for name in ("agents", "coordinator", "gateway"):
            test = pods.pod(f"{RELEASE}-test-{name}")
            ran = subprocess.run(
                test.command(), check=False, capture_output=True, text=True, timeout=PATIENCE_S,
                cwd="/proc",  # read-only, as the file system of the pod
            )  # fmt: skip
            assert ran.returncode == 0, (name, ran.stdout + ran.stderr)
    sent = all_but_late(json.loads(results.read_text(encoding="utf-8")), rps, secs)
    assert oracle.counts().received == rps * secs + sent
    assert report["calls"]["outcomes"] == {"ok": rps * secs}
    named = {fact["holder"]["agent"] for fact in report["run"]["holders"]}
    assert named == {f"{RELEASE}-agent-{number}" for number in range(agents)}


def test_gateways_know_the_browsers_of_each_other(tmp_path: Path) -> None:
    """Broken if a browser that has signed in is signed out when another gateway answers."""
    file = tmp_path / "keys.json"
    argv = [LOADPILOT, "keys", "init", "--file", str(file), "--tenant", "local"]
    made = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60)
    key = re.search(rf"{KEY_PREFIX}\S+", made.stdout)
    assert key is not None
    secrets = {"gateway-callers": {"keys.json": file.read_text("utf-8")}}
    values = {**LEAST, "gateway": {"keysSecret": "gateway-callers", "replicas": 2}}
    with Pods(tmp_path, values, secrets) as pods:
        pods.start("nats")
        pods.start("coordinator")
        one, other = (pods.start("gateway", number) for number in range(pods.replicas("gateway")))
        body = json.dumps({"token": key[0]})
        opened = ask(one, "POST", "/session", {"Content-Type": "application/json"}, body)
        cookie = (opened.headers["Set-Cookie"] or "").partition(";")[0]
        assert ask(one, "GET", "/me", {"Cookie": cookie}).status == 200
        # Pods have the same port, and the cookie's name contains the port.
        cookie = cookie.replace(one.places["own:https"], other.places["own:https"], 1)
        assert ask(other, "GET", "/me", {"Cookie": cookie}).status == 200
        assert ask(other, "GET", "/me", {"Cookie": f"{cookie}0"}).status == 401


def ask(
    pod: Pod, method: str, path: str, headers: dict[str, str], body: str | None = None
) -> http.client.HTTPResponse:
    """The response of a gateway."""
    trust = ssl.create_default_context(cafile=f"{pod.root}/keys/ca.pem")
    port = int(pod.places["own:https"])
    connection = http.client.HTTPSConnection("localhost", port, timeout=PATIENCE_S, context=trust)
    with closing(connection):
        connection.request(method, f"/api/v1{path}", body, headers)
        return connection.getresponse()


def test_probes_fail_where_a_part_is_of_no_use(tmp_path: Path) -> None:
    """Broken if a probe passes for a coordinator without a log, or for a dead agent."""
    with Pods(tmp_path, LEAST) as pods:
        pods.start("nats")
        agent = pods.start("agent", until="waits for a coordinator")
        assert not agent.passes("readinessProbe")
        assert not agent.passes("livenessProbe")
        coordinator = pods.start("coordinator")
        coordinator.until("readinessProbe")
        assert agent.process is not None
        agent.process.until("coordinator found=true")
        assert agent.passes("readinessProbe")
        pods.running[0].terminate()
        coordinator.until("readinessProbe", passes=False)
        assert coordinator.passes("livenessProbe"), (
            "a coordinator is restarted although only NATS is away"
        )


@pytest.mark.long
def test_a_rollout_in_the_middle_of_a_run_loses_no_arrival(tmp_path: Path, oracle: Oracle) -> None:
    """Broken if SIGTERM, as a rollout or a scale-down sends it, costs an arrival, a call in flight
    or a count, or if an agent does not end within its grace period."""
    rps, secs = 50, 24
    with Pods(tmp_path, LEAST) as pods:
        pods.start_all()
        run = pods.gateway().submit(CATALOGUE, oracle.url, rps, secs, agents=3)
        assert oracle.wait_count(rps, 60)
        pods.start("agent", 3)
        first = next(pod for pod in pods.running if pod.name == f"{RELEASE}-agent-0")
        assert first.terminate() == 0
        coordinator = next(pod for pod in pods.running if pod.part == "coordinator")
        assert coordinator.terminate() == 0
        report = pods.gateway().report(run)
    arrivals = report["arrivals"]
    assert arrivals["planned"] == rps * secs == arrivals["started"], arrivals
    assert report["calls"]["outcomes"] == {"ok": arrivals["started"]}
    assert oracle.counts().received == arrivals["started"]


def test_a_log_on_three_nodes_outlives_one(tmp_path: Path, oracle: Oracle) -> None:
    """Broken if nodes do not find or trust each other, or the log has fewer replicas than
    requested."""
    rps, secs = 50, 8
    values = {**LEAST, "nats": {"replicas": 3}, "agent": {"replicas": 1}}
    with Pods(tmp_path, values) as pods:
        pods.start_all()
        run = pods.gateway().submit(CATALOGUE, oracle.url, rps, secs, agents=1)
        assert oracle.wait_count(rps, 60)
        pods.running[0].terminate()
        report = pods.gateway().report(run)
    assert oracle.counts().received == rps * secs
    assert report["calls"]["outcomes"] == {"ok": rps * secs}
