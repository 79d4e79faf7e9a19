"""Writes the dashboards as JSON: `python -m deploy.dashboards.json_files`, a part of `./dev gen`.

The dashboard of a run is a file of the package, as `loadpilot init` copies it; the compose file
mounts it from there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from .fleet import fleet
from .generators import generators
from .run import run
from .runs import all_runs

if TYPE_CHECKING:
    from grafana_foundation_sdk.builders.dashboard import Dashboard

ROOT = Path(__file__).parents[2]
STARTER = Path("sdk/python/loadpilot/cli/starter/monitoring")
FLEET = Path("deploy/grafana")


def files() -> dict[Path, str]:
    """Make each file's text, by its path from the root."""
    return {
        STARTER / "grafana-dashboard.json": text(run()),
        FLEET / "runs.json": text(all_runs()),
        FLEET / "generators.json": text(generators()),
        FLEET / "fleet.json": text(fleet()),
    }


def text(dashboard: Dashboard) -> str:
    """Encode a dashboard."""
    return JSONEncoder(indent=2, sort_keys=True).encode(dashboard.build()) + "\n"


if __name__ == "__main__":
    for path, content in files().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(content, encoding="utf-8")
