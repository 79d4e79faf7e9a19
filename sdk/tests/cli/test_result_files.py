"""The files of `loadpilot run`, and its output for a CI job: they exist however a run ended."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from sdk.tests.support.reports import changed
from sdk.tests.support.run_command import CODES, FAULTS, SCENE, press

from loadpilot._native import Fault
from loadpilot.cli.output.summary import summary
from loadpilot.local.stack import StackFault

if TYPE_CHECKING:
    from sdk.tests.support.run_command import Scene

FILES = ("--junit", "ci/junit.xml", "--markdown", "ci/run.md", "-r", "ci/run.html")


def junit_case(name: str) -> ET.Element:
    """Read a case of the JUnit file."""
    cases = ET.parse("ci/junit.xml").getroot().iter("testcase")  # noqa: S314  (our own file)
    return next(one for one in cases if one.get("name") == name)


def page_data(path: str) -> Any:
    """Read the data of a page as its script does."""
    text = Path(path).read_text(encoding="utf-8")
    return json.loads(text.split('id="run-data">')[1].split("</script>")[0])


@pytest.mark.parametrize("code", [0, *CODES])
def test_a_run_leaves_its_files_whatever_it_came_to(
    code: int, scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a failed CI job has no files to show."""
    scene.log.report_json = json.dumps(changed(**CODES.get(code, {})))
    assert scene.run(*FILES) == code
    assert (junit_case("Run").find("error") is not None) == (code == 4)
    assert Path("ci/run.md").read_text(encoding="utf-8").startswith("## LoadPilot: ")
    written = capsys.readouterr()
    assert written.out == summary(json.loads(scene.log.report_json))
    assert "JUnit ci/junit.xml\n" in written.err
    assert "report ci/run.html\n" in written.err
    assert sorted(path.name for path in Path("ci").iterdir()) == ["junit.xml", "run.html", "run.md"]
    data = page_data("ci/run.html")
    assert data["report"] == json.loads(scene.log.report_json)
    assert data["answers"]["first_breach_us"] == [None]


@pytest.mark.parametrize("message", FAULTS)
def test_a_run_without_a_report_leaves_its_files(message: str, scene: Scene) -> None:
    """Broken if a stack that fails leaves the green files of the run before."""
    FAULTS[message](scene)
    Path("ci").mkdir()
    for name in ("run.html", "run.json"):
        Path("ci", name).write_text("green", encoding="utf-8")
    assert scene.run(*FILES, "--results-json", "ci/run.json") == 4
    assert sorted(path.name for path in Path("ci").iterdir()) == ["junit.xml", "run.md"]
    assert message in (junit_case("Run").findtext("error") or "")
    assert message in Path("ci/run.md").read_text(encoding="utf-8")


def test_an_interrupted_run_leaves_its_files(scene: Scene) -> None:
    """Broken if Ctrl-C loses the files, or JUnit is green although the exit code is 130."""
    scene.log.changes = [press(signal.SIGINT), {"sealed": True}]
    assert scene.run(*FILES) == 130
    assert junit_case("Run").findtext("error") == "interrupted by Ctrl-C"
    assert page_data("ci/run.html")["report"]["run"]["ending"] == "completed"


def test_a_file_that_is_missing_is_named_in_junit(scene: Scene) -> None:
    """Broken if JUnit is green although another file could not be written."""
    scene.log.changes.insert(0, lambda: Path("later").write_text("a file", encoding="utf-8"))
    assert scene.run("--markdown", "later/run.md", "--junit", "ci/junit.xml") == 4
    assert "--markdown" in (junit_case("Result files").findtext("error") or "")


def test_a_page_without_the_log_is_missing(scene: Scene) -> None:
    """Broken if a page lacks its charts and the command reports success, or if the other files are
    lost."""
    scene.log.reading.error = Fault("the log does not answer")
    assert scene.run(*FILES) == 4
    assert "--report" in (junit_case("Result files").findtext("error") or "")
    assert not Path("ci/run.html").exists()


def test_a_page_of_a_run_that_never_started(scene: Scene) -> None:
    """Broken if a refused run has no page, or if its page needs answers that no log has."""
    scene.log.reading.error = Fault("the run never started")
    scene.log.report_json = json.dumps(changed(run__start_at=None))
    scene.run(*FILES)
    assert page_data("ci/run.html")["answers"] is None


def test_json_is_all_of_standard_output(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    """Broken if a program cannot parse the output because of what the scenario prints."""
    Path("scene.py").write_text(f"{SCENE}\nprint('loaded')\n", encoding="utf-8")
    assert scene.run("--output", "json") == 0
    written = capsys.readouterr()
    assert written.out == scene.log.report_json + "\n"
    assert "loaded\n" in written.err


def test_a_pipe_without_a_reader_ends(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a run hangs after its end, with its servers, because of a pipe that has no reader,
    or if the file that is missing is not reported."""
    monkeypatch.setattr("loadpilot.cli.output.results.READER_SECS", 0.1)
    os.mkfifo("p")
    assert scene.run("--results-json", "p") == 4
    why = "p could not be written: no process read the pipe within 0.1 s"
    assert why in capsys.readouterr().err


def test_pipes_are_written_to_and_links_stay(scene: Scene) -> None:
    """Broken if a pipe or a link is replaced by a file, as a device would be under root."""
    os.mkfifo("run.md")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(Path("run.md").read_text("utf-8")))
    reader.daemon = True
    reader.start()
    Path("kept").mkdir()
    Path("r.json").symlink_to("kept/r.json")
    assert scene.run("--markdown", "run.md", "--results-json", "r.json") == 0
    assert Path("run.md").is_fifo()
    reader.join(10)
    assert read[0].startswith("## LoadPilot: PASS")
    assert Path("kept/r.json").read_text("utf-8") == scene.log.report_json + "\n"
    Path("kept/r.json").write_text("old", encoding="utf-8")
    scene.log.changes = [{"sealed": True}]
    assert scene.run("--results-json", "r.json") == 0
    assert Path("kept/r.json").read_text("utf-8") == scene.log.report_json + "\n"
    assert Path("r.json").is_symlink()
    assert [path.name for path in Path("kept").iterdir()] == ["r.json"]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_reader_that_is_gone_changes_no_result(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, stream: str
) -> None:
    """Broken if `loadpilot run … 2>&1 | head` ends the run, or replaces the files of a passed run
    by an error."""
    end, start = os.pipe()
    os.close(end)
    with os.fdopen(start, "w", encoding="utf-8") as unread:
        monkeypatch.setattr(f"sys.{stream}", unread)
        assert scene.run(*FILES, "--output", "json") == 0
    assert junit_case("Run").find("error") is None
    assert "Broken pipe" not in Path("ci/run.md").read_text(encoding="utf-8")


def test_quiet_prints_verdict_and_certificate(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a log of CI is long for a run that passed, or silent on one that did not."""
    assert scene.run("--quiet", "--results-json", "r.json") == 0
    written = capsys.readouterr()
    assert written.out == "verdict      PASS\ncertificate  VALID\n"
    assert written.err == ""
    scene.stack.error = StackFault("no nats-server")
    assert scene.run("-q") == 4
    assert capsys.readouterr().err == "error: no nats-server\n"


def test_github_sees_what_failed(
    scene: Scene, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a workflow shows no reason, or if the reason is only in standard output."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    scene.log.report_json = json.dumps(changed(certificate__grade="INVALID"))
    assert scene.run("--output", "json") == 3
    written = capsys.readouterr()
    title = "LoadPilot Shop%3A Measurement quality"
    assert f"::error title={title}::the certificate is INVALID\n" in written.err
    assert "::error" not in written.out
    assert "## LoadPilot: VOID" in Path("summary.md").read_text(encoding="utf-8")
    assert scene.run("--seed", "x") == 2
    assert "::error title=LoadPilot::--seed: " in capsys.readouterr().err
    assert scene.run("--junt", "x") == 2
    assert "::error title=LoadPilot::Unknown option: --junt" in capsys.readouterr().err
