"""The client of the supervisor, against a stand-in that speaks the supervisor's protocol."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from loadpilot.local import stack as module
from loadpilot.local.folders import log_dirs
from loadpilot.local.stack import Event, EventKind, LocalStack, StackFault, parse, relay_events

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ADDRESS = {"token": "t", "ctl_bytes": 1, "data_bytes": 2}
Stand = "Callable[[str], LocalStack]"


def never() -> bool:
    return False


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], LocalStack]:
    """Return a function that starts a LocalStack whose supervisor is the given program."""
    stack_file = tmp_path / "log-1" / "stack.json"
    stack_file.parent.mkdir()
    facts = ADDRESS | {"url": "nats://127.0.0.1:1", "log_dir": str(stack_file.parent)}
    stack_file.write_text(json.dumps(facts), encoding="utf-8")

    def start(program: str) -> LocalStack:
        head = (
            "import json, sys\n"
            f"FILE = {str(stack_file)!r}\nDIR = {str(stack_file.parent)!r}\n"
            "def say(event, **facts): print(json.dumps({'event': event} | facts), flush=True)\n"
            "def ready(): say('ready', url='nats://127.0.0.1:1', stack_file=FILE, log_dir=DIR)\n"
        )
        path = tmp_path / "supervisor.py"
        path.write_text(head + program, encoding="utf-8")
        monkeypatch.setattr(module, "entry", lambda _part: [sys.executable, str(path)])
        return LocalStack([])

    return start


def test_a_stack_is_ready_with_the_address_of_its_file(
    stand_in: Callable[[str], LocalStack], tmp_path: Path
) -> None:
    """Broken if the token is read from anywhere but the private file."""
    stack = stand_in("ready()\nassert sys.stdin.readline() == 'stop\\n'\n")
    address = stack.ready(never)
    assert address is not None
    assert (address.url, address.token) == ("nats://127.0.0.1:1", "t")
    assert (address.ctl_bytes, address.data_bytes) == (1, 2)
    assert address.log_dir == tmp_path / "log-1"
    stack.stop()
    assert stack._process.returncode == 0


def test_a_busy_folder_gives_the_address_of_the_other_stack(
    stand_in: Callable[[str], LocalStack],
) -> None:
    """Broken if a log that a running command uses cannot be read at the same time."""
    stack = stand_in("say('busy', stack_file=FILE)\n")
    address = stack.ready(never)
    assert address is not None
    assert address.token == "t"  # noqa: S105
    stack.stop()


FAILURES = {
    "say('failed', reason='no room on the disk')": "no room on the disk",
    "sys.stderr.write('clap says no\\n'); sys.exit(2)": "ended with code 2: clap says no",
    "sys.exit(0)": "ended with code 0",
    "print('no JSON'); print('{\"event\": \"odd\"}'); sys.exit(3)": "ended with code 3",
}


@pytest.mark.parametrize("program", FAILURES)
def test_a_stack_that_does_not_start_says_why(
    program: str, stand_in: Callable[[str], LocalStack]
) -> None:
    """Broken if the reason of a failed start is lost, or if the command waits for it in vain."""
    stack = stand_in(program)
    with pytest.raises(StackFault, match=FAILURES[program]):
        stack.ready(never)
    stack.stop()


def test_a_restart_is_relayed_and_a_death_is_a_fault(
    stand_in: Callable[[str], LocalStack], tmp_path: Path
) -> None:
    """Broken if a run continues without its stack."""
    stack = stand_in(
        "say('restarted', child='agent-1', pid=5, because='killed')\nready()\n"
        "say('restarted', child='coordinator', pid=6, because='killed')\n"
        "say('failed', reason='coordinator ended 5 times within a minute')\n"
    )
    assert stack.ready(never) is not None
    restarted, failed = stack.next_event(5), stack.next_event(5)
    assert restarted is not None
    assert restarted.kind is EventKind.RESTARTED
    assert failed is not None
    text = str(stack.fault(failed))
    assert "coordinator ended 5 times" in text
    assert str(tmp_path / "log-1") in text
    stack.stop()


def test_a_part_that_cannot_start_says_its_cause_once(
    stand_in: Callable[[str], LocalStack],
) -> None:
    """Broken if six attempts hide the cause, or if a part that was killed twice is shown once."""
    error = "ImportError: no module named 'gone'"
    output = "\\n".join(["Traceback", error] * 6)
    stack = stand_in(
        "ready()\n"
        "for _ in range(5): say('restarted', child='agent-1', pid=5, because='exit code 1')\n"
        "for _ in range(2): say('restarted', child='agent-2', pid=6, because='signal 9')\n"
        "say('failed', reason='agent-1 ended 6 times within a minute (last: exit code 1); '\n"
        f'    "its output: {output}")\n'
    )
    assert stack.ready(never) is not None
    lines: list[str] = []
    with pytest.raises(StackFault) as failed:
        relay_events(stack, lines.append, 5)
    assert lines == [
        "restarted agent-1: exit code 1",
        "restarted agent-2: signal 9",
        "restarted agent-2: signal 9",
    ]
    assert str(failed.value).count(error) == 1
    stack.stop()


def test_an_interrupted_start_is_given_up_at_once(stand_in: Callable[[str], LocalStack]) -> None:
    """Broken if Ctrl-C during the start waits for the stack to be ready."""
    stack = stand_in("sys.stdin.readline()\n")
    assert stack.ready(lambda: True) is None
    stack.stop()


def test_a_stack_that_does_not_stop_is_killed(
    stand_in: Callable[[str], LocalStack], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a hanging supervisor keeps the command line from ending."""
    monkeypatch.setattr(module, "STOP_SECS", 0.2)
    stack = stand_in("import time\nready()\ntime.sleep(600)\n")
    stack.ready(never)
    stack.stop()
    assert stack._process.returncode == -9


def test_only_events_of_the_supervisor_are_events() -> None:
    """Broken if an unexpected line is taken for an event, or ends the reading."""
    assert parse(b'{"event": "failed", "reason": "x"}') == Event(EventKind.FAILED, {"reason": "x"})
    for line in (b"", b"x", b"[]", b"5", b"{}", b'{"event": 5}', b'{"event": "odd"}', b"\xff"):
        assert parse(line) is None


def test_a_missing_or_broken_stack_file_is_a_fault(tmp_path: Path) -> None:
    """Broken if an incomplete file ends in a traceback."""
    path = tmp_path / "stack.json"
    for text in ("", "{", "[]", "{}", '{"url": "x"}'):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(StackFault, match="cannot be read"):
            module.address(path)


def test_logs_are_listed_by_number(tmp_path: Path) -> None:
    """Broken if log-10 comes before log-2, or if an unrelated folder is taken for a log."""
    for name in ("log-10", "log-2", "log-x", "other", "log-1"):
        (tmp_path / name).mkdir()
    assert [path.name for path in log_dirs(tmp_path)] == ["log-1", "log-2", "log-10"]
    assert log_dirs(tmp_path / "none") == []
