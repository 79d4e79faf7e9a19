"""The compose file, tested without a container engine."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from deploy.dashboards.json_files import files
from tests.deploy.composition import ROOT, configured, services, stages
from tests.deploy.dashboard_queries import DASHBOARDS, STARTER, Panels
from tests.deploy.local_processes import ProcessFleet, keys
from tests.e2e.sinks.prometheus import NATIVE, Prometheus

if TYPE_CHECKING:
    from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.slow
"""Compose is built from its sources, once."""

ROLES = ("coordinator", "agent", "gateway", "submitter", "watcher")
OURS = {"coordinator", "agent", "agent-python", "gateway"}
USERS = {
    "nats": "10001:10001",
    "coordinator": "10002:10002",
    "agent": "10003:10003",
    "agent-python": "10003:10003",
    "gateway": "10004:10004",
    "target": "10005:10005",
    "prometheus": "65534:65534",
    "grafana": "472:0",
}
PROFILES = ("python", "monitoring")
KEYLESS = {"target"}
CONTROL, TARGET = {"nats", "coordinator", "gateway"}, {"target"}
CLUSTER = ("docker-compose.yml", "deploy/nats/cluster.yml")
LOOPBACK = "127.0.0.1"


def test_only_pages_can_be_reached_and_only_from_this_machine() -> None:
    """Broken if another machine of the network finds an open port."""
    published = {
        name: facts["ports"]
        for name, facts in configured(*PROFILES)["services"].items()
        if facts.get("ports")
    }
    ports = {name: [int(one["published"]) for one in found] for name, found in published.items()}
    assert ports == {"gateway": [8443], "prometheus": [9091], "grafana": [3000]}
    assert {one["host_ip"] for found in published.values() for one in found} == {LOOPBACK}


def test_monitoring_starts_only_when_it_is_wanted() -> None:
    """Broken if a fleet cannot start without the images of Prometheus and Grafana."""
    assert configured()["services"].keys() & {"prometheus", "grafana"} == set()
    assert configured("monitoring")["services"].keys() >= {"prometheus", "grafana"}


def test_monitoring_of_a_project_reaches_loopback_and_is_reached_from_there_only() -> None:
    """Broken if Prometheus cannot read `loadpilot run --metrics`, which listens on loopback, if
    another machine reaches Grafana with its first password, or if a mounted file is missing."""
    found = configured(files=(STARTER / "docker-compose.yml",))["services"]
    assert {facts["network_mode"] for facts in found.values()} == {"host"}
    assert "--web.listen-address=127.0.0.1:9091" in found["prometheus"]["command"]
    settings = found["grafana"]["environment"]
    assert (settings["GF_SERVER_HTTP_ADDR"], settings["GF_SERVER_HTTP_PORT"]) == (LOOPBACK, "3000")
    assert settings["PROMETHEUS_URL"] == "http://127.0.0.1:9091"
    assert settings["GF_AUTH_ANONYMOUS_ENABLED"] == "false"
    volumes = [one for facts in found.values() for one in facts["volumes"]]
    mounted = {one["source"] for one in volumes if one["type"] == "bind"}
    files = {str(path) for path in STARTER.iterdir() if path.name != "docker-compose.yml"}
    assert mounted == files


def test_the_compose_file_gives_grafana_every_dashboard() -> None:
    """Broken if Grafana starts without a dashboard, or if its folder has none."""
    service = configured("monitoring")["services"]["grafana"]
    mounted = {one["target"]: Path(one["source"]) for one in service["volumes"] if "source" in one}
    text = (STARTER / "grafana-provider.yml").read_text(encoding="utf-8")
    (provider,) = yaml.safe_load(text)["providers"]
    folder = provider["options"]["path"]
    found = {
        path.relative_to(ROOT)
        for target, path in mounted.items()
        if target.startswith(f"{folder}/")
    }
    assert found == files().keys()
    home = service["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home in mounted
    binds = [Path(one["source"]) for one in service["volumes"] if one["type"] == "bind"]
    assert [path for path in binds if not path.is_file()] == []


def test_a_log_on_three_nodes_is_one_fleet() -> None:
    """Broken if a node lacks what the others have, two share a volume, or a role does not know all
    of them."""
    found = configured(*PROFILES, files=CLUSTER)["services"]
    nodes = [found[name] for name in ("nats", "nats-2", "nats-3")]
    assert {tuple(node["command"]) for node in nodes} == {
        ("nats-server", "--config", "/etc/nats/cluster.conf")
    }
    assert [node["environment"]["NODE"] for node in nodes] == ["nats", "nats-2", "nats-3"]
    targets = [{one["target"] for one in node["volumes"]} for node in nodes]
    assert targets[0] == targets[1] == targets[2]
    logs = [one["source"] for node in nodes for one in node["volumes"] if one["target"] == "/log"]
    assert len(set(logs)) == len(nodes)
    given = {one["source"] for one in found["keys"]["volumes"] if one["target"].startswith("/log")}
    assert given == set(logs)
    for name in ("coordinator", "agent", "agent-python", "gateway"):
        assert found[name]["depends_on"].keys() == {"nats", "nats-2", "nats-3"}, name
    for name, facts in found.items():
        assert name == "keys" or facts["cap_drop"] == ["ALL"], name
        assert not name.startswith("nats") or list(facts["networks"]) == ["control"], name
    url = "tls://nats:4222,tls://nats-2:4222,tls://nats-3:4222"
    assert found["gateway"]["environment"]["LOADPILOT_GATEWAY_NATS_URL"] == url


def test_nothing_has_more_rights_than_it_needs() -> None:
    """Broken if a part runs as root, keeps a capability, or can change its own image, or if two
    roles have one user id. The service that makes the keys runs as root, once, without a
    network."""
    found = configured(*PROFILES)["services"]
    keys = found["keys"]
    assert (keys["user"], keys["network_mode"], keys["restart"]) == ("0:0", "none", "no")
    assert sorted(keys["cap_add"]) == ["CHOWN", "DAC_OVERRIDE"]
    for name, facts in found.items():
        assert name == "keys" or facts["user"] == USERS[name], name
        assert name == "keys" or not facts.get("cap_add"), name
        assert facts["read_only"] is True, name
        assert facts["cap_drop"] == ["ALL"], name
        assert facts["security_opt"] == ["no-new-privileges:true"], name
    for target in ("coordinator", "agent", "gateway", "target"):
        assert f"USER {USERS[target]}" in stages()[target], target


def test_a_role_sees_its_own_files_and_networks() -> None:
    """Broken if one part can read the keys of another, or reaches a network that it does not
    need."""
    for name, facts in configured(*PROFILES)["services"].items():
        if name == "keys":
            continue
        role = name.removesuffix("-python")
        mounted = [one["source"] for one in facts.get("volumes", []) if one["target"] == "/keys"]
        assert mounted == ([] if role in KEYLESS else [f"keys-{role}"]), name
        networks = set(facts["networks"])
        assert ("control" in networks) == (role in CONTROL | {"agent"}), name
        assert ("target" in networks) == (role in TARGET | {"agent"}), name
    assert configured()["networks"]["control"]["internal"] is True


def test_every_part_accepts_its_settings(tmp_path: Path) -> None:
    """Broken if the program does not know a flag, a variable or a file of the compose file."""
    fleet = ProcessFleet(tmp_path)
    found = services("python")
    assert {name for name, one in found.items() if one.argv[0].startswith("loadpilot")} >= OURS
    for name in sorted(OURS):
        checked = fleet.check(found[name])
        assert checked.returncode == 0, f"{name}: {checked.stderr}"


def test_a_mistake_would_be_found(tmp_path: Path) -> None:
    """Broken if the check above passes for any compose file."""
    fleet = ProcessFleet(tmp_path)
    found = services()["gateway"]
    found.environ["LOADPILOT_GATEWAY_TLS_CERTIFICATE"] = found.environ.pop(
        "LOADPILOT_GATEWAY_TLS_CERT"
    )
    checked = fleet.check(found)
    assert checked.returncode == 2
    assert "LOADPILOT_GATEWAY_TLS_CERT" in checked.stderr


def test_the_same_topology_as_plain_processes_counts_like_the_oracle(
    tmp_path: Path, oracle: Oracle
) -> None:
    """Broken if server, keys, coordinators, agents and gateway do not find or trust each other, or
    if a health check fails for a part that works."""
    rps, secs = 50, 3
    with ProcessFleet(tmp_path) as fleet:
        fleet.start_all()
        run = fleet.submit(oracle.url, rps, secs)
        report = fleet.report(run)
        fleet.assert_healthy()
    counts = oracle.counts()
    assert counts.received == rps * secs
    assert report["arrivals"]["started"] == rps * secs
    assert report["calls"]["outcomes"] == {"ok": rps * secs}
    assert {fact["holder"]["agent"] for fact in report["run"]["holders"]} == fleet.agents


@pytest.mark.long
def test_every_query_on_a_fleet_has_data_once(tmp_path: Path, oracle: Oracle) -> None:
    """Broken if the gateway of the compose file cannot be scraped with the keys of Prometheus, if a
    panel of the fleet stays empty, or if a run that two exporters show counts twice. Coordinators
    are scraped as the comment in the file says."""
    shipped = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text("utf-8"))
    folder = tmp_path / "prometheus"
    folder.mkdir()
    (folder / "run-alerts.yml").write_bytes((STARTER / "alerts.yml").read_bytes())
    rules = ROOT / "deploy/prometheus/fleet-alerts.yml"
    (folder / "fleet-alerts.yml").write_bytes(rules.read_bytes())
    start = time.time()
    oracle.delay(50)
    with ProcessFleet(tmp_path) as fleet:
        fleet.start_all()
        (gateway,) = shipped["scrape_configs"]
        keys = str(fleet.keys / "prometheus")
        gateway["authorization"]["credentials_file"] = f"{keys}/metrics-token"
        gateway["tls_config"]["ca_file"] = f"{keys}/ca.pem"
        gateway["static_configs"] = [{"targets": [f"localhost:{fleet.gateway_port}"]}]
        another = {**gateway, "job_name": "another-gateway"}
        coordinators = fleet.http_addresses("coordinator")
        static = [{"targets": coordinators}]
        job = {"job_name": "loadpilot-coordinator", "static_configs": static}
        shipped["scrape_configs"] += [another, job]
        prometheus = Prometheus(folder, yaml.safe_dump(shipped), NATIVE)
        try:
            prometheus.until("sum (up)", lambda found: found == {"": 2 + len(coordinators)})
            run = fleet.submit(oracle.url, 50, 12)
            report = fleet.report(run)
            over = f'count (loadpilot_run_end_timestamp_seconds{{run="{run}"}})'
            prometheus.until(over, lambda found: found == {"": 2})
            shown = {
                name: Panels(file, prometheus, run, start) for name, file in DASHBOARDS.items()
            }
            assert shown["fleet"].empty() == []
            assert shown["fleet"].figure("Agents") == len(fleet.agents)
            run_panels = shown["run"]
            assert run_panels.figure("Planned") == report["arrivals"]["planned"] == 600
            assert run_panels.figure("Started") == len(oracle.requests()) == 600
            p99 = run_panels.whole_run("p99", time.time())
            assert p99 == pytest.approx(report["p99_ms"] / 1e3, rel=0.02)
            assert shown["runs"].empty() == []
            firing = 'ALERTS{alertstate="firing", alertname!~"LoadPilotRun.*"}'
            assert prometheus.query(firing) == {}
        finally:
            prometheus.stop()


def test_keys_are_made_once_and_are_private(tmp_path: Path) -> None:
    """Broken if a second start replaces the keys, which locks all parts out, or if others can read
    a key."""
    place = keys(tmp_path / "keys")
    files = [path for path in place.rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    assert keys(place) == place
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before
    assert "ca-key.pem" not in {path.name for path in files}
    assert {path.stat().st_mode & 0o077 for path in files} == {0}
    shown = {name: before[place / "gateway" / name] for name in ("metrics-token", "ca.pem")}
    assert {name: before[place / "prometheus" / name] for name in shown} == shown
    passwords = {role: before[place / role / "nats-token"].split(b":")[1] for role in ROLES}
    assert len(set(passwords.values())) == len(ROLES)
    for role, password in passwords.items():
        held = {path.parent.name for path, content in before.items() if password.strip() in content}
        assert held == {role, "nats"}


def test_new_keys_need_one_volume_to_be_deleted(tmp_path: Path) -> None:
    """Broken if renewed certificates leave a fleet whose parts do not trust each other."""
    place = keys(tmp_path / "keys")
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    shutil.rmtree(place / "nats")
    keys(place)
    stay = {path for path, content in before.items() if path.read_bytes() == content}
    assert {str(path.relative_to(place)) for path in stay} == {
        "gateway/metrics-token",
        "grafana/password",
        "nats/complete",
        "prometheus/metrics-token",
    }
    for role in (*ROLES, "prometheus"):
        for part in ("nats", "gateway"):
            judge = ["openssl", "verify", "-CAfile", place / role / "ca.pem"]
            subprocess.run([*judge, place / part / f"{part}.pem"], check=True, capture_output=True)


def test_monitoring_of_an_older_fleet_gets_its_keys(tmp_path: Path) -> None:
    """Broken if a fleet with older keys needs new ones for its monitoring."""
    place = keys(tmp_path / "keys")
    for role in ("prometheus", "grafana"):
        shutil.rmtree(place / role)
    (place / "gateway" / "metrics-token").unlink()
    keys(place)
    token = (place / "gateway" / "metrics-token").read_bytes()
    assert (place / "prometheus" / "metrics-token").read_bytes() == token
    assert (place / "grafana" / "password").read_bytes().strip()


def test_no_grafana_starts_with_a_known_password(tmp_path: Path) -> None:
    """Broken if two fleets have the same password, or if the password that a user chose is
    ignored."""
    settings = configured("monitoring")["services"]["grafana"]["environment"]
    given = {name: value for name, value in settings.items() if "PASSWORD" in name}
    assert given == {"GF_SECURITY_ADMIN_PASSWORD__FILE": "/keys/password"}
    first, second, chosen = (
        (keys(tmp_path / name, environ) / "grafana" / "password").read_text(encoding="utf-8")
        for name, environ in (("a", {}), ("b", {}), ("c", {"GRAFANA_PASSWORD": "chosen here"}))
    )
    assert first != second
    assert len(first.strip()) == 48
    assert chosen == "chosen here\n"


def test_keys_of_one_node_are_not_those_of_three(tmp_path: Path) -> None:
    """Broken if nodes start that cannot trust each other, because their keys are for other
    names."""
    place = keys(tmp_path / "keys")
    script = ["/bin/sh", str(ROOT / "deploy/keys.sh"), str(place)]
    environ = {"PATH": os.environ["PATH"], "NODES": "nats-2 nats-3"}
    refused = subprocess.run(
        script, env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert refused.returncode == 2
    assert "NODES is 'nats-2 nats-3'" in refused.stderr


def test_an_agent_without_a_coordinator_is_not_healthy(tmp_path: Path) -> None:
    """Broken if a process counts as healthy because it exists."""
    with ProcessFleet(tmp_path) as fleet:
        fleet.start("nats")
        fleet.start("agent", until="waits for a coordinator")
        assert not fleet.is_healthy("agent")
        fleet.start("coordinator", until="deciding from now on")
        fleet.wait_for_output("agent", "coordinator found=true")
        assert fleet.is_healthy("agent")
