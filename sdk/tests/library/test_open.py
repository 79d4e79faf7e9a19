"""`loadpilot.open`: its errors are the exceptions that it documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import loadpilot
from loadpilot.library.tables.run import open_ended
from loadpilot.local.folders import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def test_what_cannot_be_opened_raises_a_builtin_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a program that catches the documented exceptions ends with another one."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LookupError):
        loadpilot.open("last")
    with pytest.raises(ValueError, match="--nats-url: must be"):
        loadpilot.open("last", nats_url="http://127.0.0.1:1")
    (tmp_path / "torn.lprun").write_text("no run")
    with pytest.raises(ValueError, match="torn"):
        loadpilot.open("./torn.lprun")
    (ROOT / "log-1").mkdir(parents=True)
    monkeypatch.setenv("LOADPILOT_NATS_SERVER", str(tmp_path / "nowhere"))
    with pytest.raises(RuntimeError, match="nowhere"):
        loadpilot.open("last")
    with pytest.raises(RuntimeError, match="nowhere"):
        open_ended("a" * 26, ROOT)
