"""JUnit, Markdown and GitHub's annotations of a run: they agree with its exit code, whatever its
name, and text from others is nothing but text in them."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from itertools import product
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from sdk.tests.support.reports import (
    GOOD,
    changed,
    closed,
    empty,
    measured,
    parsed,
    troubled,
    valid,
)

from loadpilot.cli.output.github import annotation, announce
from loadpilot.cli.output.junit import junit
from loadpilot.cli.output.markdown import ROWS_MAX, code, markdown
from loadpilot.cli.output.run_end import Case, Kind, RunEnd
from loadpilot.cli.output.summary import summary
from loadpilot.cli.output.verdict import head
from loadpilot.control.exit_code import INTERRUPTIONS, ExitCode, exit_code
from loadpilot.control.terminal import inert, safe

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SUMMARY_BYTES_MAX = 1024 * 1024
"""What GitHub takes of a step."""
HOSTILE = "]]><b>&|\\|`*_[x](y)#1 @me :o: www.x.y ::error::\r\n%0A\x00\x1b[31m\u202e\ud800\ufffe"
TIME = r"\d+(\.\d+)?"
COUNT = r"\d+"
SUITE = {"name": ".*", "tests": COUNT, "failures": COUNT, "errors": COUNT, "time": TIME}
SCHEMA: dict[str, tuple[dict[str, str], dict[str, str], set[str]]] = {
    "testsuites": (SUITE, {}, {"testsuite"}),
    "testsuite": (
        SUITE,
        {"skipped": COUNT, "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"},
        {"properties", "testcase"},
    ),
    "properties": ({}, {}, {"property"}),
    "property": ({"name": ".+", "value": ".*"}, {}, set()),
    "testcase": (
        {"classname": ".+", "name": ".+", "time": TIME},
        {},
        {"failure", "error", "system-out"},
    ),
    "failure": ({"type": ".+", "message": ".*"}, {}, set()),
    "error": ({"type": ".+", "message": ".*"}, {}, set()),
    "system-out": ({}, {}, set()),
}
"""Of each element the attributes that are needed, those that may be, and the children: the part
of the schema of Jenkins' xUnit plugin that GitLab's parser reads as well."""

STATES = [
    {"run__ending": "completed"},
    {"run__ending": "stopped"},
    {"run__ending": "stopped", "run__unanswered": {"calls": 9}},
    {"run__ending": "abandoned"},
    {"run__ending": "failed"},
    {"run__ending": "log_full"},
    {"run__ending": None, "run__state": "running"},
    *(
        {
            "run__ending": None,
            "run__state": "refused",
            "run__refused": [{"field": field, "rule": "r", "value": "v"}],
        }
        for field in ("agents", "plan")
    ),
]
GRADES = ["VALID", "DEGRADED", "INVALID"]
VERDICTS: list[tuple[list[str], list[bool]]] = [
    ([], []),
    ([], [True, True]),
    ([], [True, False]),
    (["reason"], []),
    (["reason"], [True]),
]
"""Reasons to fail, and whether each gate passed; from both the engine computes the verdict."""


def every_end() -> Iterator[RunEnd]:
    """List the ends of runs with each combination of the inputs of an exit code."""
    for state, grade, (reasons, gates) in product(STATES, GRADES, VERDICTS):
        report = changed(**state, certificate__grade=grade)
        gate = report["verdict"]["thresholds"][0]
        thresholds = [{**gate, "key": f"gate{n}", "passed": one} for n, one in enumerate(gates)]
        passed = not reasons and all(gates)
        report["verdict"] = {"passed": passed, "thresholds": thresholds, "reasons": reasons}
        valid(report)
        for interruption, strict in product([None, *INTERRUPTIONS], [False, True]):
            end = RunEnd.of(report, interruption, strict=strict)
            assert end.code == exit_code(report, interruption, strict=strict)
            yield from (end, end.lacking("--samples"))


def of(report: dict[str, Any]) -> RunEnd:
    return RunEnd.of(valid(report), None, strict=False)


def read(text: str) -> ET.Element:
    """Parse a JUnit file and check it against the schema."""
    root = ET.fromstring(text)  # noqa: S314  (our own file)
    for element in root.iter():
        needed, optional, children = SCHEMA[element.tag]
        assert needed.keys() <= set(element.keys()) <= needed.keys() | optional.keys()
        for name, pattern in (needed | optional).items():
            assert re.fullmatch(pattern, element.get(name, ""), re.DOTALL) or name in optional
        assert {child.tag for child in element} <= children
    return root


@pytest.mark.slow
def test_junit_is_green_exactly_when_the_exit_code_is_0() -> None:
    """Broken if a job is red and its test report green, or the reverse."""
    for end in every_end():
        root = read(junit(end))
        (suite,) = root
        for kind, name in ((Kind.FAILURE, "failures"), (Kind.ERROR, "errors")):
            assert suite.get(name) == root.get(name) == str(len(list(suite.iter(kind))))
        bad = int(suite.get("failures", "")) + int(suite.get("errors", ""))
        assert (bad == 0) == (end.code is ExitCode.PASSED), end
        names = {case.get("name") for case in suite.iter("testcase")}
        assert suite.get("tests") == str(len(names))


@pytest.mark.slow
def test_markdown_says_pass_exactly_when_the_exit_code_is_0() -> None:
    """Broken if a comment says that a failed run passed."""
    green = ("## LoadPilot: PASS (", "## LoadPilot: STOPPED, passing so far (")
    for end in every_end():
        assert markdown(end).startswith(green) == (end.code is ExitCode.PASSED), end


def test_markdown_says_which_further_judgement_failed() -> None:
    """Broken if a comparison that a slower target fails reads as a run that went wrong."""
    end = of(GOOD)
    failed = Case("Comparison", Kind.FAILURE, "B is 50 % slower than A at p50")
    failing = replace(end, code=ExitCode.GATE_FAILED, whole=(*end.whole, failed))
    text = markdown(failing)
    assert text.startswith("## LoadPilot: FAIL: Comparison (`")
    assert "- **Comparison**: `B is 50 % slower than A at p50`" in text
    lacking = failing.lacking("--samples")
    assert markdown(lacking).startswith("## LoadPilot: ERROR: ")


@pytest.mark.parametrize(
    ("report", "kinds"),
    [
        (GOOD, ["passed"] * 4),
        (changed(certificate__grade="INVALID"), ["passed", "error", "passed", "passed"]),
        (empty(), ["error", "passed", "failure"]),
        (troubled(), ["passed", "doubtful", "passed", "passed", "failure", "failure"]),
    ],
    ids=["good", "invalid", "empty", "troubled"],
)
def test_a_gate_fails_and_a_measurement_errs(report: dict[str, Any], kinds: list[str]) -> None:
    """Broken if CI cannot tell a slow target from a run that proves nothing."""
    assert [case.kind for case in of(report).cases] == kinds


def test_junit_has_the_time_and_length_of_the_run() -> None:
    """Broken if the file of a past run looks like one of a run of today."""
    (suite,) = read(junit(of(GOOD)))
    assert suite.get("timestamp") == "2026-09-21T14:13:21"
    assert suite.get("time") == "10.000"
    first, *others = suite.findall("testcase")
    assert (first.get("name"), first.get("time")) == ("Run", "10.000")
    assert {one.get("time") for one in others} == {"0"}


def test_a_run_without_a_report_is_an_error_with_its_reason() -> None:
    """Broken if a stack that did not start leaves a green file, or no file."""
    end = RunEnd.without_report("Shop", ExitCode.INFRASTRUCTURE, "no nats-server\nis here")
    (suite,) = read(junit(end))
    (case,) = suite.findall("testcase")
    assert case.findtext("error") == "no nats-server\nis here"
    assert "- **Run**: `no nats-server`\n  - `is here`\n" in markdown(end)


@given(st.text())
def test_foreign_text_is_text_in_junit(text: str) -> None:
    """Broken if a name ends an XML element, or makes a file that no parser accepts."""
    report = changed(scenario=text, target_url=text)
    report["verdict"] |= {"passed": False, "reasons": [text]}
    report["verdict"]["thresholds"][0]["key"] = text or "x"
    (suite,) = read(junit(RunEnd.of(report, None, strict=False)))
    assert suite.get("name") == safe(text)
    assert suite.findall("testcase")[2].findtext("failure") == safe(text)


def visible_text(text: str, *, in_table: bool) -> str:
    """Render Markdown as GitHub does; returns the visible text, which must be a single code
    span."""
    renderer = MarkdownIt("commonmark", {"html": True}).enable("table")
    html = renderer.render(f"| a |\n| -- |\n| {text} |\n" if in_table else f"x {text}\n")
    cells = re.findall(r"<td>(.*?)</td>" if in_table else r"<p>x (.*)</p>", html, re.DOTALL)
    assert len(cells) == 1, html
    inside = re.fullmatch(r"<code>([^<]*)</code>", cells[0], re.DOTALL)
    assert inside is not None, html
    return unescape(inside[1])


@pytest.mark.parametrize("in_table", [False, True])
@given(text=st.text(alphabet=st.sampled_from("`|\\<>&*_[]()#@: a\n\r\t~!'\""), max_size=40))
def test_foreign_text_is_code_in_markdown(text: str, in_table: bool) -> None:  # noqa: FBT001
    """Broken if a name becomes a link, a mention, a tag, or a further column."""
    if safe(text):
        assert visible_text(code(text), in_table=in_table) == safe(text)


@pytest.mark.parametrize("report", [GOOD, troubled(), empty(), closed(), measured()])
def test_hostile_names_are_inert(report: dict[str, Any]) -> None:
    """Broken if one place of the document does not escape its text."""
    report = {**report, "scenario": HOSTILE, "target_url": HOSTILE}
    report["verdict"] = {**report["verdict"], "reasons": [HOSTILE], "passed": False}
    report["certificate"] = {
        "grade": "DEGRADED",
        "findings": [{"kind": "agent_cpu", "grade": "DEGRADED", "evidence": HOSTILE}],
    }
    raised = [{"by": "task", "count": 40, "text": HOSTILE}]
    report["tasks"] = [{**task, "name": HOSTILE, "raised": raised} for task in report["tasks"]]
    gate = {"key": HOSTILE, "reason": HOSTILE, "passed": False}
    report["verdict"]["thresholds"] = [{**GOOD["verdict"]["thresholds"][0], **gate}]
    end = RunEnd.of(report, None, strict=False)
    read(junit(end))
    text = markdown(end)
    assert all(line.isprintable() for line in text.split("\n"))
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    outside = re.sub(r"<code>[^<]*</code>", "", html)
    assert "me" not in re.findall(r"@(\w+)", outside)
    assert not re.search(r"<(a|b|img|script)\b", outside)
    assert "]]" not in outside
    columns = {
        len(re.findall("<t[hd]", row)) for row in re.findall("<tr>.*?</tr>", html, re.DOTALL)
    }
    assert columns <= {2, 3, 7}


@pytest.mark.slow
def test_markdown_fits_the_step_summary_of_github() -> None:
    """Broken if a scenario of a thousand tasks makes a job fail that passed."""
    task = {**GOOD["tasks"][0], "name": "|" * 400}
    gate = {**GOOD["verdict"]["thresholds"][0], "key": "|" * 400, "reason": "|" * 400}
    report = changed(tasks=[task] * 1_000)
    report["verdict"]["thresholds"] = [gate] * 1_000
    text = markdown(of(report))
    assert len(text.encode()) < SUMMARY_BYTES_MAX
    assert f"{1_000 - ROWS_MAX} more are in the report." in text


def test_markdown_shows_both_latencies_and_every_task() -> None:
    """Broken if a reader has to open the job to see the figures."""
    text = markdown(of(GOOD))
    for line in (
        "| ✓ `p99_ms` | 10.8 | `<= 250` |",
        "| corrected | 1.200 | 2.400 | 3.600 | 10.800 | 36.000 | 120.00 |",
        "| uncorrected | 1.100 | 2.200 | 3.300 | 9.900 | 33.000 | 110.00 |",
        "| `buy` | 190 | 0 | 1.200 | 3.600 | 10.800 | 120.00 |",
        "0 of what finished, 0.00 %.",
    ):
        assert line in text.splitlines(), line
    assert "| closed loop | 1.200 |" in markdown(of(closed()))
    assert "no call reached a server" in markdown(of(empty()))


@given(st.text(), st.text())
def test_an_annotation_is_one_command(title: str, text: str) -> None:
    """Broken if a name ends the command, adds a property, or begins another command."""
    line = annotation("error", title, text)
    assert not set(line) & set("\r\n")
    level, properties, shown_text = re.fullmatch(  # type: ignore[union-attr]
        r"::(\w+) title=([^:,]*)::(.*)", line, re.DOTALL
    ).groups()
    decoded = [
        re.sub("%(25|0D|0A|3A|2C)", lambda found: chr(int(found[1], 16)), part)
        for part in (properties, shown_text)
    ]
    assert [level, *decoded] == ["error", title, text]


@pytest.mark.slow
@given(st.lists(st.sampled_from(["::", "##[", "error", "]", " ", "\t", "\n", "x"])).map("".join))
def test_no_line_of_a_run_is_a_command(text: str) -> None:
    """Broken if an error of a task or a task's name is executed by the runner of the job."""
    raised = [{"by": "task", "count": 1, "text": text}]
    report = changed(tasks=[{**GOOD["tasks"][0], "name": text, "raised": raised}] * 2)
    report["verdict"]["reasons"] = [text]
    for written in (summary(valid(report)), head(valid(report)), inert(text)):
        assert not any(line.lstrip().startswith("::") for line in written.split("\n"))
        assert "##[" not in written


def test_github_gets_annotations_and_a_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a job has to be opened to see why it failed, or if another CI system gets
    commands."""
    summary = tmp_path / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    end = of(troubled())
    announce(end, {"GITHUB_STEP_SUMMARY": str(summary)})
    assert capsys.readouterr().err == ""
    announce(end, {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)})
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("::")[1].split()[0] for line in lines] == ["warning", "error", "error"]
    assert "error_rate::error_rate: 4.3, must be <= 1" in lines[1].replace("%3A", ":")
    assert summary.read_text(encoding="utf-8") == f"before\n{markdown(end)}\n"


def test_a_summary_that_cannot_be_written_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a full disk of the runner fails a run that passed."""
    environ = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(tmp_path)}
    announce(of(parsed()), environ)
    assert "warning: GITHUB_STEP_SUMMARY: " in capsys.readouterr().err
