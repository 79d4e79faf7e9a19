"""The chart's unit tests, run by helm-unittest.

The program is built once from the Go module proxy: about 10 s with the modules of Helm in the
cache, about a minute and 40 MB more without them.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.deploy.chart.manifests import CHART, HELM_S
from tests.deploy.chart.tools import program
from tests.deploy.composition import ROOT

pytestmark = pytest.mark.slow
"""helm-unittest is built from its sources, once."""

SUITES = Path(__file__).parent / "unittest"


def unittest(pattern: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run the suites; their pattern is relative to the chart."""
    chart = CHART.relative_to(ROOT)
    there = SUITES.relative_to(ROOT)
    up = "/".join([".."] * len(chart.parts))
    argv = [str(program("helm-unittest")), "--strict", *flags, "-f", f"{up}/{there}/{pattern}"]
    return subprocess.run(
        [*argv, str(chart)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=HELM_S,
    )


def test_the_suites_pass() -> None:
    """Broken if a value does not reach its object."""
    ran = unittest("*.yaml")
    assert ran.returncode == 0, ran.stdout
    suites = len(list(SUITES.glob("*.yaml")))
    assert f"{suites} passed, {suites} total" in ran.stdout


def test_a_wrong_object_fails_a_suite(tmp_path: Path) -> None:
    """Broken if the suites pass with a chart that renders something else."""
    values = tmp_path / "values.yaml"
    values.write_text("agent: {replicas: 4}\n", encoding="utf-8")
    ran = unittest("parts.yaml", "--values", str(values))
    assert ran.returncode != 0
    assert "starts three agents" in ran.stdout
