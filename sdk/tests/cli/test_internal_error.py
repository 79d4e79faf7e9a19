"""An exception that no command expects ends with one line, a trace in a file, and exit code 4."""

from __future__ import annotations

import re
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from loadpilot.cli import app, main
from loadpilot.inputs import params

if TYPE_CHECKING:
    import pytest


def test_an_internal_error_is_a_line_and_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a bug of ours looks like a failed gate (1), hides its message under a trace, loses
    the trace, or shows a secret."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise LookupError("no such key: hunter2\nand more")

    source = params.ParameterSource({"TOKEN": "hunter2"})
    source.read("TOKEN", None, secret=True, place="scene.py:1")
    monkeypatch.setattr(params, "_source", source)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(app, "app", fail)
    assert main(["runs"]) == 4
    output = capsys.readouterr()
    assert output.out == ""
    (line,) = output.err.splitlines()
    found = re.fullmatch(
        r"error: internal error: LookupError: no such key: \*\*\*; trace: (.+)", line
    )
    assert found is not None, line
    path = Path(found[1])
    trace = path.read_text("utf-8")
    assert trace.startswith("Traceback (most recent call last):")
    assert 'raise LookupError("no such key: ***' in trace
    assert "hunter2" not in trace
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_trace_that_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a full disk turns one error into another, with another exit code."""

    def fail(*_: object) -> NoReturn:
        raise RuntimeError

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    monkeypatch.setattr(app, "app", fail)
    assert main(["runs"]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: internal error: RuntimeError; trace: (could not be written: ")
