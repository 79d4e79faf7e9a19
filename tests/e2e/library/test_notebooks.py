"""A scenario of a notebook runs: its class is spread over cells, and no file has it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.e2e.support import notebooks

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.oracle import Oracle

CLASS = """
@scenario(rps=40, duration="1s", mode="constant")
class Shop:
    @task
    def browse(self, client):
        client.get(path("products"))
"""
CELLS = (
    "import loadpilot\nfrom loadpilot import scenario, task",
    "def path(name):\n    return f'/api/{name}'",
    CLASS,
)
RUN = "result = loadpilot.run(Shop, target={url!r})\nresult.report['arrivals']['started']"


def test_a_class_of_several_cells_runs(tmp_path: Path, oracle: Oracle) -> None:
    """Broken if a scenario of a notebook needs a file, or leaves the one of its run."""
    texts = (*CELLS, RUN.format(url=oracle.url))
    cells = [{"cell_type": "code", "source": text} for text in texts]
    file = tmp_path / "shop.ipynb"
    file.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, notebooks.__file__, file],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert (ran.returncode, ran.stdout) == (0, "40\n"), ran.stderr
    assert [one.route for one in oracle.requests()] == ["/api/products"] * 40
    assert not list(tmp_path.glob("*.py"))
