"""The result files of a CI job, from real runs: they agree with the exit code, and are always
written."""

from __future__ import annotations

import json
import signal
import socket
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

SCENE = """
from loadpilot import LoadClient, VUser, scenario, task

print("scene | loaded")

@scenario(rps=20, duration="2s", mode="constant", thresholds={"get:p99_ms": 5000, "error_rate": 9})
class Shop(VUser):
    @task
    def get(self, client: LoadClient) -> None:
        client.get("/get")
"""
FILES = ("--junit", "ci/load.xml", "--markdown", "ci/load.md")


def kinds(loadpilot: Loadpilot) -> dict[str, str]:
    """Read the results of the cases of the JUnit file by name."""
    root = ET.parse(loadpilot.folder / "ci/load.xml").getroot()  # noqa: S314  (our own file)
    return {case.get("name", ""): case[0].tag for case in root.iter("testcase")}


@pytest.mark.slow
def test_the_files_of_a_run_are_those_of_its_log(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if the files of a past run differ from those of the run, or if standard output has
    more than the report for a program. One run of 2 s and its report.
    """
    oracle.status(503)
    finished = loadpilot.run(SCENE, oracle.url, *FILES, "--output", "json", "--quiet")
    assert finished.judged == 1, finished.stderr
    assert json.loads(finished.stdout) == finished.report
    assert finished.stdout == finished.results.read_text(encoding="utf-8")
    assert finished.stderr == "scene | loaded\n"
    found = kinds(loadpilot)
    assert (found["get:p99_ms"], found["error_rate"]) == ("system-out", "failure")
    assert found["Load and answers"] == "failure"
    files = [loadpilot.folder / "ci/load.xml", loadpilot.folder / "ci/load.md"]
    written = [path.read_text(encoding="utf-8") for path in files]
    assert "| ✗ `error_rate` | 100 | `<= 9` |" in written[1]
    again = loadpilot.call("report", "last", *FILES)
    assert again.code == 0, again.stderr
    assert [path.read_text(encoding="utf-8") for path in files] == written


def test_an_interrupted_run_leaves_its_files(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if Ctrl-C prevents the files of a CI job. One run, interrupted after a second."""
    with loadpilot.start(SCENE, oracle.url, "--duration", "60s", *FILES) as running:
        assert oracle.wait_count(20, 30)
        running.signal(signal.SIGINT)
        finished = running.end(30)
    assert finished.code == 130, finished.stderr
    assert kinds(loadpilot)["Run"] == "error"
    markdown = (loadpilot.folder / "ci/load.md").read_text(encoding="utf-8")
    assert "- **Run**: `interrupted by Ctrl-C`" in markdown


@pytest.mark.slow
def test_a_target_that_is_down_is_an_error(loadpilot: Loadpilot) -> None:
    """Broken if the files of a run with a dead target report success. One run, which ends itself
    after 5 s."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # not listening: connections are refused, the port is taken
        target = f"http://127.0.0.1:{closed.getsockname()[1]}"
        finished = loadpilot.run(SCENE, target, "--duration", "60s", *FILES)
    assert finished.code == 3, finished.stderr
    assert kinds(loadpilot)["Run"] == "error"
    markdown = (loadpilot.folder / "ci/load.md").read_text(encoding="utf-8")
    assert "Not measured: no call reached a server." in markdown
