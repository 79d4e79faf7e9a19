"""`loadpilot resume` under faults: with stand-ins for log and stack."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from loadpilot.cli import main
from loadpilot.cli.commands import resume
from loadpilot.control import run_list
from loadpilot.local.stack import LogUnavailable, StackFault

if TYPE_CHECKING:
    from collections.abc import Iterator

LOG = Path(".loadpilot/log-1")
LISTED = {
    "run": "01aaa",
    "scenario": "Shop",
    "state": "running",
    "ending": None,
    "created_at": 1,
    "target": "http://h:1",
    "profile_us": 1,
    "tags": {},
    "asked": True,
    "notes": 0,
    "is_baseline": False,
    "teardown": None,
}


class FakeSession:
    """A log with one run."""

    def runs(self) -> str:
        return json.dumps([LISTED])

    def unfinished(self, _run: str) -> str:
        return json.dumps({"agents": {"want": 1}, "plan": {}})


class DeadStack:
    """A stack that never becomes ready."""

    log_dir = LOG

    def __init__(self, fault: StackFault) -> None:
        self.fault = fault
        self.is_stopped = False

    def ready(self, _interrupted: object) -> None:
        raise self.fault

    def stop(self) -> None:
        self.is_stopped = True


@pytest.fixture
def one_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory with one log, whose stack is gone."""

    @contextmanager
    def opened(*_: Any) -> Iterator[FakeSession]:
        yield FakeSession()

    monkeypatch.setattr(run_list, "log_dirs", lambda _root: [LOG])
    monkeypatch.setattr(run_list, "open_log", opened)
    monkeypatch.setattr(resume, "open_log", opened)


@pytest.mark.usefixtures("one_log")
@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        (LogUnavailable("log unavailable: no space left on device"), 3, "stores it, and"),
        (StackFault("the local stack failed"), 4, "the local stack failed"),
    ],
)
def test_a_disk_that_fails_ends_a_resumed_run_as_it_ends_any_other(
    fault: StackFault,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Broken if a script cannot tell a full disk from a bug of ours when it resumes a run."""
    stack = DeadStack(fault)
    monkeypatch.setattr(resume.LocalStack, "for_resume", lambda *_: stack)
    assert main(["resume", "01aaa"]) == code
    assert said in capsys.readouterr().err
    assert stack.is_stopped


@pytest.mark.parametrize("words", [["rate", "01aaa", "0"], ["runs", "--tag", "team"]])
def test_a_command_that_starts_nothing_does_not_say_so(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if the message about a refused change of a running run says that nothing was
    started."""
    assert main(words) == 2
    written = capsys.readouterr().err
    assert "nothing was done" in written
    assert "started" not in written
