"""The end of a watch: its report is read from a log whose server may just have ended."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from loadpilot.cli.commands import watch
from loadpilot.local.stack import StackFault

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest


def test_a_long_wait_for_an_ended_server_leaves_time_to_open_the_log_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Broken if a watch fails with exit code 4 because its session waited for a server of another
    command that ended: the log is there, and the watch can read it with a server of its own."""
    now = [0.0]
    opened: list[float] = []

    @contextmanager
    def open_log(_log: object, _interruptions: object) -> Iterator[Any]:
        opened.append(now[0])
        if len(opened) == 1:
            now[0] += 2 * watch.REOPEN_SECS
            raise StackFault("the server does not answer")
        yield SimpleNamespace(report=lambda run: f"report of {run}")

    monkeypatch.setattr(watch, "open_log", open_log)
    monkeypatch.setattr(watch, "monotonic", lambda: now[0])
    monkeypatch.setattr(watch, "sleep", lambda secs: now.__setitem__(0, now[0] + secs))
    sinks: Any = SimpleNamespace(read_rest=lambda _: None, finish=lambda _: None)
    one: Any = SimpleNamespace(run="01run", log=Path("log-1"))
    interruptions: Any = None
    assert watch._report(one, interruptions, sinks) == "report of 01run"
    assert len(opened) == 2
