"""Prometheus and Grafana of the chart: the shipped dashboards and alerts, with a cluster's
addresses."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from deploy.dashboards.json_files import files
from tests.deploy.alerts.test_alerts import RULES, promtool
from tests.deploy.chart.manifests import NAMESPACE, RELEASE, VALUE_SETS, objects, of_kind
from tests.deploy.composition import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
"""Helm and kubeconform are built from their sources, once."""

MONITORED = [
    name
    for name, values in VALUE_SETS.items()
    if values.get("monitoring", {}).get("enabled", True) and "fullnameOverride" not in values
]
"""Value sets with Prometheus and Grafana, under the usual names."""


def config_map(name: str, part: str) -> dict[str, str]:
    """The files of a part."""
    return dict(of_kind(objects(name), "ConfigMap")[f"{RELEASE}-{part}"]["data"])


def scrapes(name: str) -> dict[str, dict[str, Any]]:
    """The scrape settings of Prometheus, by job."""
    config = yaml.safe_load(config_map(name, "prometheus")["prometheus.yml"])
    return {job["job_name"]: job for job in config["scrape_configs"]}


def test_most_value_sets_are_monitored() -> None:
    """Broken if the tests of this file have no value sets."""
    assert len(MONITORED) > len(VALUE_SETS) / 2


@pytest.mark.parametrize("name", MONITORED)
def test_prometheus_accepts_its_settings(name: str, tmp_path: Path) -> None:
    """Broken if Prometheus does not start in its pod."""
    held = config_map(name, "prometheus")
    keys = of_kind(objects(name), "Secret")[f"{RELEASE}-prometheus-keys"]["data"]
    for file in keys:
        (tmp_path / file).touch()
    for file, text in held.items():
        (tmp_path / file).write_text(text.replace("/keys/", f"{tmp_path}/"), encoding="utf-8")
    promtool("check", "config", tmp_path / "prometheus.yml")


@pytest.mark.parametrize("name", MONITORED)
def test_each_job_finds_its_pods_and_trusts_them(name: str) -> None:
    """Broken if Prometheus requests names that no service has, or trusts another certificate."""
    services = of_kind(objects(name), "Service")
    shipped = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text("utf-8"))
    (gateway,) = shipped["scrape_configs"]
    for job, found in scrapes(name).items():
        part = job.removeprefix("loadpilot-")
        ((record),) = found["dns_sd_configs"]
        (service,) = record["names"]
        assert services[service]["spec"]["clusterIP"] == "None", "not one address for each pod"
        assert services[service]["spec"]["selector"]["app.kubernetes.io/component"] == part
        (port,) = services[service]["spec"]["ports"]
        assert port["port"] == record["port"]
        assert found["scheme"] == "https"
        assert found["tls_config"] == {
            **gateway["tls_config"],
            "server_name": f"{RELEASE}-{part}",
        }
    assert scrapes(name).keys() == {"loadpilot-gateway", "loadpilot-coordinator"}


@pytest.mark.parametrize("name", MONITORED)
def test_dashboards_and_alerts_are_the_shipped_ones(name: str) -> None:
    """Broken if a fleet in Kubernetes has other dashboards or alerts than one of containers."""
    held = config_map(name, "grafana")
    shipped = {path.name.replace("grafana-dashboard", "run"): path for path in files()}
    shown = {file: json.loads(text) for file, text in held.items() if file.endswith(".json")}
    assert shown.keys() == shipped.keys()
    for file, path in shipped.items():
        assert shown[file] == json.loads((ROOT / path).read_text("utf-8")), file
    for rules, path in RULES.items():
        text = config_map(name, "prometheus")[f"{rules}-alerts.yml"]
        found, expected = yaml.safe_load(text), yaml.safe_load(path.read_text("utf-8"))
        changed = [one["alert"] for one in alerts_of(found) if one not in alerts_of(expected)]
        assert changed == (["LoadPilotNoAgents"] if (name, rules) == (IDLE, "fleet") else [])
        assert [one["alert"] for one in alerts_of(found)] == [
            one["alert"] for one in alerts_of(expected)
        ]


IDLE = "autoscaling"
"""The value set of a fleet whose autoscaler keeps no agent."""


def alerts_of(rules: dict[str, Any]) -> list[dict[str, Any]]:
    return [rule for group in rules["groups"] for rule in group["rules"]]


def test_a_fleet_without_runs_may_have_no_agents(tmp_path: Path) -> None:
    """Broken if an alert fires whenever an autoscaler leaves a fleet without agents, or if none
    fires when it adds no agents."""
    (tmp_path / "rules.yml").write_text(config_map(IDLE, "prometheus")["fleet-alerts.yml"], "utf-8")
    labels = 'job="loadpilot-coordinator",instance="coordinator-1:8080"'
    heard, wanted = "0x120", "0x60 3x60"
    raised = {"severity": "warning", "job": "loadpilot-coordinator"}
    case = {
        "interval": "5s",
        "input_series": [
            {"series": f"loadpilot_coordinator_agents_{name}{{{labels}}}", "values": values}
            for name, values in (("heard", heard), ("wanted", wanted))
        ],
        "alert_rule_test": [
            {"eval_time": "4m", "alertname": "LoadPilotNoAgents"},
            {
                "eval_time": "8m",
                "alertname": "LoadPilotNoAgents",
                "exp_alerts": [
                    {
                        "exp_labels": raised,
                        "exp_annotations": {"summary": "The fleet has no agents"},
                    }
                ],
            },
        ],
    }
    text = {"rule_files": ["rules.yml"], "evaluation_interval": "5s", "tests": [case]}
    file = tmp_path / "idle.yml"
    file.write_text(yaml.safe_dump(text), "utf-8")
    promtool("test", "rules", file)


@pytest.mark.parametrize("name", ["an operator's Prometheus", IDLE])
def test_an_operator_gets_the_same_alerts(name: str) -> None:
    """Broken if an alert is missing or different where a Prometheus operator has the rules."""
    (rule,) = of_kind(objects(name), "PrometheusRule").values()
    found = {group["name"]: group for group in rule["spec"]["groups"]}
    texts = {rules: path.read_text("utf-8") for rules, path in RULES.items()}
    if name == IDLE:
        texts["fleet"] = config_map(name, "prometheus")["fleet-alerts.yml"]
    groups = [group for text in texts.values() for group in yaml.safe_load(text)["groups"]]
    assert found == {group["name"]: group for group in groups}


def test_agents_are_scaled_by_metrics_that_exist() -> None:
    """Broken if a scaler asks for a metric by a name that coordinators do not have, or where no
    Prometheus answers."""
    (scaled,) = of_kind(objects("autoscaling"), "ScaledObject").values()
    (trigger,) = scaled["spec"]["triggers"]
    metrics = (ROOT / "docs/reference/metrics.md").read_text("utf-8")
    names = set(re.findall(r"loadpilot_\w+", trigger["metadata"]["query"]))
    assert len(names) == 2
    assert [name for name in names if f"| `{name}` |" not in metrics] == []
    own = f"http://{RELEASE}-prometheus.{NAMESPACE}.svc:9090"
    assert trigger["metadata"]["serverAddress"] == own, (
        "the address lacks the namespace, and KEDA is in another one"
    )
    target = scaled["spec"]["scaleTargetRef"]["name"]
    assert target in of_kind(objects("autoscaling"), "Deployment")


def replicas(present: int, answer: int) -> int:
    """The replicas that a HorizontalPodAutoscaler sets: it ignores differences of up to 10 %."""
    return present if 9 * present <= 10 * answer <= 11 * present else answer


def test_a_run_gets_the_agents_that_it_requests(tmp_path: Path) -> None:
    """Broken if a run waits for one agent more than there are, which no autoscaler adds: it ignores
    differences of up to 10 %."""
    (scaled,) = of_kind(objects("autoscaling"), "ScaledObject").values()
    query = scaled["spec"]["triggers"][0]["metadata"]["query"]
    up = scaled["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]["scaleUp"]
    assert up["policies"] == [{"type": "Pods", "value": 50, "periodSeconds": 15}]
    cases: list[tuple[int, int]] = []
    checks: list[tuple[int, int]] = []
    for present in (0, 1, 9, 10, 19, 20, 30, 50, 70, 100):
        for wanted in sorted({0, 1, *range(max(present - 1, 0), present + 14), 2 * present}):
            is_ignored = present < wanted and 10 * wanted <= 11 * present
            answer = 11 * present // 10 + 1 if is_ignored else wanted
            after = replicas(present, answer)
            assert after >= wanted
            assert after <= max(present, wanted * 1.1 + 1)
            assert replicas(after, wanted) == after or after == present, (
                "the number of agents does not stay"
            )
            checks.append((len(cases), answer))
            cases.append((present, wanted))
    series = {
        f"loadpilot_coordinator_agents_{name}": " ".join(str(case[at]) for case in cases)
        for at, name in enumerate(("heard", "wanted"))
    }
    case = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": query,
                "eval_time": f"{minute}m",
                "exp_samples": [{"labels": "{}", "value": answer}],
            }
            for minute, answer in checks
        ],
    }
    file = tmp_path / "scaling.yml"
    file.write_text(yaml.safe_dump({"evaluation_interval": "1m", "tests": [case]}), "utf-8")
    promtool("test", "rules", file)
