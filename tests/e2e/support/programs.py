"""Python programs that run scenarios, as processes that tests start and interrupt."""

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
    """A running program. It is killed at the end of its `with` block."""

    def __init__(self, folder: Path, text: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "program.py"
        file.write_text(text, encoding="utf-8")
        super().__init__([sys.executable, str(file)], folder, folder / "none.json")

    def parts_below(self) -> list[Process]:
        """All processes below the program."""
        return descendants(self.pid)
