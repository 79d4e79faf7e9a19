"""The work of compiling grows with the number of tasks, not with its square."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sdk.tests.conftest import Compile

TASK = """
    @task
    def task_{number}(self, client: LoadClient) -> None:
        client.get("/items/{number}")
"""


def test_four_times_as_many_tasks_are_at_most_five_times_the_calls(compile_text: Compile) -> None:
    """Broken if a lookup walks the whole syntax tree for each task."""
    few, many = _calls(compile_text, 50), _calls(compile_text, 200)
    assert many < 5 * few, f"{few} calls of functions for 50 tasks, {many} for 200"


def _calls(compile_text: Compile, tasks: int) -> int:
    """Count the calls of Python functions while a scenario with this number of tasks is
    compiled."""
    body = "".join(TASK.format(number=number) for number in range(tasks))
    text = f"@scenario(rps=1, duration='1s')\nclass Many(VUser):{body}"
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        compile_text(text)
    finally:
        sys.setprofile(before)
    return calls
