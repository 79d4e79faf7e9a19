"""Scenario files that hang, print, print false plans or leave processes behind do not disturb the
gateway."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import assert_ended
from tests.e2e.support.processes import Process

from loadpilot_gateway import scenario_files
from loadpilot_gateway.problem import ApiError
from loadpilot_gateway.scenario_files import Compiled, ScenarioFiles

if TYPE_CHECKING:
    from pathlib import Path

SHOP = """
from loadpilot import VUser, scenario, task
print("imported")
@scenario(rps=40, duration="2s", mode="constant")
class Shop(VUser):
    @task
    def look(self, client):
        client.get("/")
"""
LEAVING = """
import subprocess
child = subprocess.Popen(["sleep", "600"], start_new_session={apart})
open("noted", "w").write(str(child.pid))
"""
TIMEOUTS_SECS = (4.0, 8.0, 16.0, 32.0)
"""The first is enough on most machines for the command to start and to import a file."""
LATER_SECS = 30.0
"""How much later a slow machine may answer: far less than a process sleeps that is left."""


def compiled(folder: Path, before: str) -> Compiled:
    """Compiles a scenario file that begins with this code."""
    (folder / "shop.py").write_text(before + SHOP, encoding="utf-8")
    return asyncio.run(ScenarioFiles(folder).compile("shop.py", None))


def problem_of(folder: Path, before: str) -> str:
    """The only problem of such a file."""
    with pytest.raises(ApiError) as caught:
        compiled(folder, before)
    (problem,) = caught.value.problems
    return problem.rule


def forged(text: str) -> str:
    """Prints a text in place of the plan."""
    return f"import os; os.write(1, {text.encode()!r}); os._exit(0)"


@pytest.mark.slow
def test_what_a_file_prints_is_no_plan(tmp_path: Path) -> None:
    """Broken if a file's own output is taken for its plan, or fills the memory."""
    plan = compiled(tmp_path, "").plan
    assert (plan["scenario"], len(plan["tasks"])) == ("Shop", 1)
    for before, rule in (
        (forged("text"), "must leave the standard output to the command"),
        (forged('{"plan": {}, "bodies": {"a": 1}}'), "must leave the standard output"),
        (forged('{"plan":' + "[" * 100_000), "must leave the standard output"),
        ("import os; os.write(1, b'text')", "must leave the standard output to the command"),
        ("print('x' * 70_000)", "must print at most 65536 bytes"),
        ("import os; os._exit(0)", "must leave the standard output to the command"),
        ("import os; os.abort()", "must compile; the command ended with"),
        ("import sys; sys.exit('no')", "called sys.exit('no') while it was imported"),
        ("raise KeyboardInterrupt", "must compile; the command ended with"),
    ):
        assert rule in problem_of(tmp_path, before), before
    assert compiled(tmp_path, "").plan == plan


@pytest.mark.slow
@pytest.mark.parametrize("before", ["import time; time.sleep(600)\n", "while True: pass\n"])
def test_a_file_that_hangs_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    """Broken if an endless file occupies the gateway for ever."""
    noted = "import os; open('noted', 'w').write(str(os.getpid()))\n"
    assert_ended([killed(tmp_path, monkeypatch, noted + before)], 10.0)


@pytest.mark.parametrize("apart", [False, True])
def test_a_process_that_a_file_leaves_holds_up_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, apart: bool
) -> None:
    """Broken if a process that keeps the child's pipes open makes the next caller wait, or if a
    process of the child's group survives it."""
    left = killed(tmp_path, monkeypatch, LEAVING.format(apart=apart))
    if apart:
        os.kill(left.pid, signal.SIGKILL)
    assert_ended([left], 10.0)


def killed(folder: Path, monkeypatch: pytest.MonkeyPatch, before: str) -> Process:
    """The process whose id the file has written when its time-out ends; on a slow machine the
    command may need a longer one to import it."""
    noted = folder / "noted"
    for secs in TIMEOUTS_SECS:
        monkeypatch.setattr(scenario_files, "COMPILE_SECS", secs)
        begin = time.monotonic()
        assert f"must compile within {secs:g} s" in problem_of(folder, before)
        assert time.monotonic() - begin < secs + LATER_SECS
        if noted.exists():
            break
    return Process(int(noted.read_text(encoding="utf-8")), "")
