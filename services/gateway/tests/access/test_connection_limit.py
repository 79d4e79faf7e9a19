"""A past log that many requests read at the same time."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.e2e.support.files import unpack

from loadpilot_gateway.limits import SESSIONS_MAX
from loadpilot_gateway.runs import sessions
from loadpilot_gateway.runs.logs import FolderLog
from loadpilot_gateway.runs.sessions import TooManyRequests

STORED = Path(__file__).parents[4] / "tests/e2e/results/stored_logs"


def test_a_request_too_many_ends_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken if a request that finds all connections in use closes them while others use them.
    2 s."""
    unpack(STORED / "open_loop.tar.gz", tmp_path / "log-1")
    log = FolderLog(tmp_path / "log-1", tmp_path / "cache")
    monkeypatch.setattr(sessions, "LEND_SECS", 0.01)
    with ExitStack() as users:
        users.callback(log.close)
        with ExitStack() as requests:
            lent = [requests.enter_context(log.lend()) for _ in range(SESSIONS_MAX)]
            with pytest.raises(TooManyRequests, match="too many requests wait"), log.lend():
                pass
            assert len({one.runs() for one in lent}) == 1
        with log.lend() as again:
            assert again in lent, "the log was opened a second time"
