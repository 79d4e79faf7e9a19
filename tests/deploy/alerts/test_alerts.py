"""The alert rules and settings of Prometheus, as its own tool reads them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.deploy.composition import ROOT

CASES = Path(__file__).parent
STARTER = ROOT / "sdk/python/loadpilot/cli/starter/monitoring"
RULES = {"run": STARTER / "alerts.yml", "fleet": ROOT / "deploy/prometheus/fleet-alerts.yml"}


def promtool(*words: str | Path) -> None:
    """Runs a command of promtool that must succeed."""
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("needs promtool: sudo apt-get install prometheus")
    ran = subprocess.run(
        [program, *words], cwd=CASES, check=False, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def alerts(rules: Path) -> dict[str, Any]:
    groups = yaml.safe_load(rules.read_text(encoding="utf-8"))["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


@pytest.mark.parametrize("name", RULES)
def test_each_alert_fires_where_it_should_and_only_there(name: str) -> None:
    """Broken if a rule is silent in its fault, fires without one, or twice for one run."""
    promtool("check", "rules", RULES[name])
    promtool("test", "rules", f"{name}.yml")


@pytest.mark.parametrize("name", RULES)
def test_each_alert_is_tested_both_ways(name: str) -> None:
    """Broken if a rule is added without a fault that raises it and a state that does not."""
    cases = yaml.safe_load((CASES / f"{name}.yml").read_text(encoding="utf-8"))["tests"]
    checks = [check for case in cases for check in case["alert_rule_test"]]
    raised = {check["alertname"] for check in checks if check.get("exp_alerts")}
    silent = {check["alertname"] for check in checks if not check.get("exp_alerts")}
    assert raised == silent == alerts(RULES[name]).keys()
    assert {rule["labels"]["severity"] for rule in alerts(RULES[name]).values()} <= {
        "critical",
        "warning",
    }


def test_prometheus_accepts_its_settings(tmp_path: Path) -> None:
    """Broken if Prometheus does not start. The keys are where the compose file mounts them."""
    promtool("check", "config", STARTER / "prometheus.yml")
    keys = tmp_path / "keys"
    keys.mkdir()
    for name in ("metrics-token", "ca.pem"):
        (keys / name).touch()
    text = (ROOT / "deploy/prometheus/prometheus.yml").read_text(encoding="utf-8")
    (tmp_path / "prometheus.yml").write_text(text.replace("/keys/", f"{keys}/"), encoding="utf-8")
    shutil.copy(RULES["run"], tmp_path / "run-alerts.yml")
    shutil.copy(RULES["fleet"], tmp_path / "fleet-alerts.yml")
    promtool("check", "config", tmp_path / "prometheus.yml")
