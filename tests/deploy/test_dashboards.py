"""The committed dashboards are current, complete and valid by Grafana's own types.

test_dashboard_queries.py tests that their queries have the figures of a run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from deploy.dashboards.json_files import STARTER, files
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard, RowPanel
from grafana_foundation_sdk.models.prometheus import Dataquery
from tests.deploy.composition import ROOT

COLUMNS = 24
NAMES = [str(path) for path in files()]
SECTIONS = ["Throughput", "Latency", "Errors", "Per task", "Generator health"]


def committed(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / name).read_text(encoding="utf-8"))
    return found


def panels(dashboard: dict[str, Any]) -> list[dict[str, Any]]:
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


@pytest.mark.parametrize("name", NAMES)
def test_a_committed_dashboard_is_current(name: str) -> None:
    """Broken if the JSON is edited by hand, or if its source is edited without `./dev gen`."""
    assert (ROOT / name).read_text(encoding="utf-8") == files()[Path(name)]


def test_no_dashboard_is_left_behind() -> None:
    """Broken if a dashboard is committed that no source generates."""
    present = {path.relative_to(ROOT) for path in (ROOT / "deploy/grafana").glob("*.json")}
    assert present | {STARTER / "grafana-dashboard.json"} == files().keys()


@pytest.mark.parametrize("name", NAMES)
def test_grafana_has_a_type_for_everything_in_it(name: str) -> None:
    """Broken if Grafana does not know a field, and would ignore it."""
    register_default_plugins()
    read = Dashboard.from_json(committed(name))
    assert json.loads(JSONEncoder().encode(read)) == committed(name)
    for panel in read.panels or []:
        if isinstance(panel, RowPanel):
            continue
        assert panel.targets
        assert all(isinstance(target, Dataquery) for target in panel.targets), panel.title


@pytest.mark.parametrize("name", NAMES)
def test_panels_are_told_apart_and_stand_beside_each_other(name: str) -> None:
    """Broken if two panels have the same number or overlap, or if one has no description."""
    dashboard = committed(name)
    numbers = [panel["id"] for panel in dashboard["panels"]]
    assert len(numbers) == len(set(numbers))
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= COLUMNS, panel["title"]
        taken |= cells
    for panel in panels(dashboard):
        assert panel["description"].endswith("."), panel["title"]
        letters = [target["refId"] for target in panel["targets"]]
        assert len(letters) == len(set(letters)), panel["title"]
        sources = [panel["datasource"], *(target["datasource"] for target in panel["targets"])]
        assert {source["uid"] for source in sources} == {"${datasource}"}, panel["title"]


def test_the_dashboard_of_a_run_has_its_sections_and_variables() -> None:
    """Broken if a section of the first dashboards is missing, if a run, scenario or task cannot be
    chosen, or if the certificate is not at the top."""
    dashboard = committed(str(STARTER / "grafana-dashboard.json"))
    rows = [panel["title"] for panel in dashboard["panels"] if panel["type"] == "row"]
    assert rows == ["Run", *SECTIONS]
    variables = [one["name"] for one in dashboard["templating"]["list"]]
    assert variables == ["datasource", "scenario", "run", "task"]
    assert panels(dashboard)[0]["title"] == "Certificate"
    (annotation,) = dashboard["annotations"]["list"]
    assert "loadpilot_run_event_timestamp_seconds" in annotation["expr"]
    assert annotation["useValueForTime"] is True


def test_each_dashboard_has_an_address_of_its_own() -> None:
    """Broken if one dashboard replaces another when Grafana imports them, or if a link leads
    nowhere."""
    addresses = [committed(name)["uid"] for name in NAMES]
    assert len(addresses) == len(set(addresses))
    (runs,) = [name for name in NAMES if name.endswith("/runs.json")]
    assert '"/d/loadpilot-run?var-run=' in (ROOT / runs).read_text(encoding="utf-8")
    assert "loadpilot-run" in addresses
