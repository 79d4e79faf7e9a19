"""Scenario files with tasks in Python: their imports, and counts of requests and calls."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.e2e.support.command import Finished
    from tests.oracle.oracle import Request

HEAD = "import time\nfrom loadpilot import LoadClient, RequestError, VUser, scenario, task\n"


def routes(requests: list[Request]) -> Counter[str]:
    return Counter(f"{request.method} {request.route}" for request in requests)


def task_of(finished: Finished, name: str) -> dict[str, Any]:
    (task,) = [task for task in finished.report["tasks"] if task["name"] == name]
    return task


def calls_of(task: dict[str, Any]) -> dict[str, int]:
    return {call["name"]: call["counts"]["attempted"] for call in task["calls"]}
