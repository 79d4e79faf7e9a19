"""`loadpilot runs`, `report` and `runs prune`, over logs that are stand-ins."""

from __future__ import annotations

import json
import signal
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sdk.tests.support.reports import changed, parsed
from sdk.tests.support.run_command import press

from loadpilot.cli import main
from loadpilot.cli.output.summary import summary
from loadpilot.control import run_list
from loadpilot.local.stack import StackFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FACTS = {
    "scenario": "Sh\x1bop",
    "ending": "completed",
    "created_at": 1_790_000_000_000_000,
    "target": "http://h:1",
    "profile_us": 10_000_000,
    "tags": {"team": "shop"},
    "asked": True,
    "notes": 0,
    "is_baseline": False,
    "teardown": None,
}


def listed(run: str, state: str = "sealed") -> dict[str, Any]:
    ending = "completed" if state == "sealed" else None
    return FACTS | {"run": run, "state": state, "ending": ending}


SHOP = "Sh\\x1bop"


class FakeLogs:
    """Logs with runs, by folder."""

    def __init__(self) -> None:
        self.runs: dict[Path, list[dict[str, Any]]] = {
            Path(".loadpilot/log-1"): [listed("01aaa"), listed("01abb")],
            Path(".loadpilot/log-2"): [listed("01abc"), listed("01zzz", "running")],
        }
        self.error: Exception | None = None
        self.has_stacks = True

    @contextmanager
    def reading(self, log_dir: Path, _interrupted: Callable[[], bool]) -> Iterator[FakeSession]:
        if self.error is not None:
            raise self.error
        yield FakeSession(self.runs[log_dir])


class FakeIndexed:
    """One run."""

    def __init__(self, run: str) -> None:
        self.run = run

    def report(self) -> str:
        return json.dumps(changed(run__id=self.run))

    def errors(self, _slice: str) -> str:
        return "{}"

    def report_without_series(self) -> str:
        return json.dumps(changed(run__id=self.run, series=[]))


class FakeSession:
    """One log."""

    def __init__(self, listed_: list[dict[str, Any]]) -> None:
        self.listed = listed_

    def runs(self) -> str:
        return json.dumps(self.listed)

    def read(self, run: str, _cache: Path) -> FakeIndexed:
        return FakeIndexed(run)

    def prune(self, runs: list[str], *, forgets: bool) -> int:
        owing = [one for one in self.listed if one["teardown"] == "owed" and one["run"] in runs]
        assert forgets or not owing, "an owed teardown is deleted without the flag"
        before = len(self.listed)
        self.listed[:] = [one for one in self.listed if one["run"] not in runs]
        return before - len(self.listed)


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> FakeLogs:
    fake = FakeLogs()
    monkeypatch.setattr(run_list, "log_dirs", lambda _root: list(fake.runs))
    monkeypatch.setattr(run_list, "reading", fake.reading)
    monkeypatch.setattr(run_list, "is_running", lambda _log: fake.has_stacks)
    return fake


def remaining_runs(logs: FakeLogs) -> list[str]:
    return [one["run"] for listed_ in logs.runs.values() for one in listed_]


def test_runs_of_all_logs_are_listed_newest_last(
    logs: FakeLogs, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a run of a second log is not found, or if a name reaches the terminal unescaped."""
    assert main(["runs"]) == 0
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row.split()[0] for row in rows[::2]] == ["01aaa", "01abb", "01abc", "01zzz"]
    assert rows[1::2] == ["  team=shop"] * 4
    assert "Sh\\x1bop" in rows[0]
    assert "running" in rows[6]
    assert len(logs.runs) == 2


def test_runs_say_what_became_of_each_in_100_columns(
    logs: FakeLogs, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if verdict or figures differ from the report, if a running run has any, or if a row is
    wider than a terminal."""
    logs.runs[Path(".loadpilot/log-1")][0]["scenario"] = "A scenario with a very long name"
    logs.runs[Path(".loadpilot/log-1")][0]["state"] = "gathering"
    assert main(["runs"]) == 0
    heads, *rows = capsys.readouterr().out.splitlines()
    assert heads.split() == ["run", "UTC", "state", "verdict", "p99", "req/s", "errors", "scenario"]
    assert rows[2].split()[3:] == ["completed", "PASS", "10.800", "ms", "104.5", "0.00", "%", SHOP]
    assert rows[6].split()[3:] == ["running", "—", "—", "—", "—", SHOP]
    assert "A scenario w…" in rows[0]
    assert max(map(len, [heads, *rows])) <= 100
    assert main(["runs", "-v", "--last", "1"]) == 0
    written = capsys.readouterr()
    note = "  http://h:1 · 10 s planned · .loadpilot/log-2 · team=shop"
    assert written.out.splitlines()[2:] == [note]
    assert "3 older runs not shown; --last 4 shows all" in written.err
    assert main(["runs", "--last", "0"]) == 2


def test_a_report_is_of_the_last_run_unless_one_is_named(
    logs: FakeLogs, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if the run that just ended has to be named, or if -v prints no more than without
    it."""
    assert remaining_runs(logs)
    assert main(["report"]) == 0
    short = capsys.readouterr().out
    assert "01zzz" in short
    assert main(["report", "-v"]) == 0
    full = capsys.readouterr().out
    assert main(["report", "last", "--verbose"]) == 0
    assert capsys.readouterr().out == full
    assert "generator" in full
    assert "generator" not in short


def test_runs_are_listed_by_tag(logs: FakeLogs, capsys: pytest.CaptureFixture[str]) -> None:
    """Broken if the runs of another team are listed, or if the output does not mention a tag
    without runs."""
    logs.runs[Path(".loadpilot/log-1")][1]["tags"] = {"team": "shop", "build": "7"}
    assert main(["runs", "--tag", "build=7", "--tag", "team=shop"]) == 0
    row, tags = capsys.readouterr().out.splitlines()[1:]
    assert row.startswith("01abb")
    assert tags == "  team=shop, build=7"
    assert main(["runs", "--tag", "team=till"]) == 0
    assert "none of the 4 runs in .loadpilot has the tags team=till" in capsys.readouterr().err
    assert main(["runs", "--tag", "team"]) == 2


@pytest.mark.parametrize(
    ("name", "run"), [("01aaa", "01aaa"), ("01AA", "01aaa"), ("last", "01zzz")]
)
def test_a_report_is_found_by_id_beginning_or_as_the_last(
    name: str, run: str, logs: FakeLogs, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if the report of another run is shown than the one that was named."""
    assert main(["report", name]) == 0
    assert capsys.readouterr().out == summary(parsed(run__id=run))
    assert main(["report", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["run"]["id"] == run
    assert logs.error is None


def test_the_files_of_a_past_run_are_written_again(
    logs: FakeLogs,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Broken if files of a report need another run because a flag was forgotten, or if showing the
    report of a failed run fails."""
    junit, markdown, report = (tmp_path / name for name in ("j.xml", "r.md", "r.json"))
    flags = [f"--junit={junit}", f"--markdown={markdown}", f"--results-json={report}"]
    assert main(["report", "01aaa", *flags]) == 0
    assert capsys.readouterr().out == summary(parsed(run__id="01aaa"))
    assert json.loads(report.read_text(encoding="utf-8"))["run"]["id"] == "01aaa"
    assert 'errors="0"' in junit.read_text(encoding="utf-8")
    assert "## LoadPilot: PASS" in markdown.read_text(encoding="utf-8")
    assert main(["report", "01aaa", "--junit", "."]) == 2
    assert main(["report", "01aaa", "--samples", "a", "--results-json", "a"]) == 2
    assert logs.error is None


@pytest.mark.parametrize("name", ["01ab", "02", ""])
def test_a_name_that_is_no_single_run_is_usage(
    name: str, logs: FakeLogs, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if an ambiguous beginning picks a run by itself."""
    assert main(["report", name]) == 2
    written = capsys.readouterr()
    assert written.out == ""
    assert "error: " in written.err
    assert logs.error is None


def test_what_is_owed_is_shown_and_kept_until_it_is_given_up(
    logs: FakeLogs, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if an owed teardown is not shown, if deleting runs forgets it, or if a running run
    looks as if it required an action."""
    first, second = logs.runs[Path(".loadpilot/log-1")]
    going_on = logs.runs[Path(".loadpilot/log-2")][1]
    first["teardown"] = second["teardown"] = going_on["teardown"] = "owed"
    second |= {"asked": False, "state": "requested", "ending": None}
    assert main(["runs"]) == 0
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row.endswith(" · teardown owed") for row in rows[1::2]] == [True, True, False, False]
    assert " set up " in rows[2]
    assert main(["runs", "prune", "01aaa"]) == 2
    assert main(["runs", "prune", "--all"]) == 0
    assert remaining_runs(logs) == ["01aaa", "01abb", "01zzz"]
    assert "01aaa, 01abb still owes a teardown" in capsys.readouterr().err
    assert main(["report", "01abb"]) == 2
    assert main(["runs", "prune", "01abb", "--forget-teardowns"]) == 0
    assert remaining_runs(logs) == ["01aaa", "01zzz"]


@pytest.mark.parametrize("words", [["runs", "prune"], ["stop"], ["report"], ["verdict"]])
def test_an_empty_name_is_no_run(words: list[str], logs: FakeLogs) -> None:
    """Broken if `loadpilot runs prune "$ID"` deletes the only run when ID is not set."""
    logs.runs = {Path(".loadpilot/log-1"): [listed("01aaa")]}
    assert main([*words, ""]) == 2
    assert remaining_runs(logs) == ["01aaa"]


@pytest.mark.parametrize("words", [["report"], ["verify"], ["verdict"], ["compare"], ["dump"]])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_interruption_ends_a_command_that_reads(
    words: list[str],
    number: signal.Signals,
    logs: FakeLogs,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Broken if `timeout 60 loadpilot …` goes on for ever, or looks like a pass."""

    @contextmanager
    def reading(log: Path, interrupted: Callable[[], bool]) -> Iterator[FakeSession]:
        press(number)()
        with logs.reading(log, interrupted) as session:
            yield session

    monkeypatch.setattr(run_list, "reading", reading)
    assert main([*words, "01aaa"]) == 128 + number
    assert capsys.readouterr().out == ""


def test_prune_deletes_the_named_runs_and_nothing_that_runs(logs: FakeLogs) -> None:
    """Broken if a running run is deleted, or one too many of those that are over."""
    assert main(["runs", "prune", "01abb"]) == 0
    assert remaining_runs(logs) == ["01aaa", "01abc", "01zzz"]
    assert main(["runs", "prune", "--keep", "2"]) == 0
    assert remaining_runs(logs) == ["01abc", "01zzz"]
    assert main(["runs", "prune", "--keep", "9"]) == 0
    assert remaining_runs(logs) == ["01abc", "01zzz"]
    assert main(["runs", "prune", "--all"]) == 0
    assert remaining_runs(logs) == ["01zzz"]


@pytest.mark.parametrize(
    "flags",
    [[], ["01aaa", "--all"], ["--all", "--keep", "1"], ["--keep", "x"], ["--keep", "-1"], ["nope"]],
)
def test_prune_that_is_unclear_deletes_nothing(flags: list[str], logs: FakeLogs) -> None:
    """Broken if a typing error deletes runs."""
    assert main(["runs", "prune", *flags]) == 2
    assert len(remaining_runs(logs)) == 4


def test_prune_of_a_run_that_goes_on_is_refused(
    logs: FakeLogs, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if naming a running run deletes it, or is silently ignored."""
    assert main(["runs", "prune", "01zzz"]) == 2
    assert "01zzz is not over" in capsys.readouterr().err
    assert len(remaining_runs(logs)) == 4


def test_a_run_whose_processes_are_gone_is_killed(
    logs: FakeLogs, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a killed run is listed as running, or if the advice is to stop it, which is
    impossible."""
    logs.has_stacks = False
    assert main(["runs"]) == 0
    states = [row.split()[3] for row in capsys.readouterr().out.splitlines()[1::2]]
    assert states == ["completed"] * 3 + ["killed"]
    assert main(["runs", "prune", "01zzz"]) == 2
    assert "its processes are gone; `loadpilot resume 01zzz`" in capsys.readouterr().err
    assert len(remaining_runs(logs)) == 4


@pytest.mark.parametrize("command", [["runs"], ["report", "last"], ["runs", "prune", "--all"]])
def test_a_log_that_cannot_be_read_is_infrastructure(
    command: list[str], logs: FakeLogs, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if an error with a log reads like an empty directory."""
    logs.error = StackFault("no server")
    assert main(command) == 4
    assert "error: no server" in capsys.readouterr().err
