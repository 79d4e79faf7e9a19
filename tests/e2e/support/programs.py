"""Python programs that run scenarios: they start, are interrupted, and leave nothing behind."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tests.e2e.support.command import Running
from tests.e2e.support.processes import descendants

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.processes import Process

SCENARIO = """
from loadpilot import LoadClient, scenario, task

@scenario(rps=40, duration="1s", mode="constant", thresholds={"error_rate": 1})
class Shop:
    @task
    def browse(self, client: LoadClient) -> None:
        client.get("/browse")
"""


class Program(Running):
    """A program that runs; killed at the end of its `with` block if it still does."""

    def __init__(self, folder: Path, text: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "program.py"
        file.write_text(text, encoding="utf-8")
        super().__init__([sys.executable, str(file)], folder, folder / "none.json")

    def parts_below(self) -> list[Process]:
        """All processes that it started, and what these started."""
        return descendants(self.pid)
