"""The files of `run --out`, row by row, and the meaning of the flag in configuration."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from loadpilot.cli.commands.run import Run
from loadpilot.cli.sinks.outs import Out
from loadpilot.cli.sinks.table_file import Rows
from loadpilot.cli.sinks.worker import QUEUE_MAX, Worker

if TYPE_CHECKING:
    from sdk.tests.support.run_command import Scene

LINES = ["one\n", "two\n", "three\n"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(path: Path | None) -> Rows:
    return Rows(path, sys.stdout)


@pytest.mark.parametrize("old", [None, "old", "linked"])
def test_rows_that_changed_are_corrected(folder: Path, old: str | None) -> None:
    """Broken if a call that was reported late is not in the file, or if a link is replaced."""
    path = folder / "x"
    if old == "linked":
        path = folder.parent / "link"
        path.symlink_to(folder / "x")
    if old is not None:
        path.write_text(old, encoding="utf-8")
    written = rows(path)
    written.append("head\n", 0, ["one\n", "tow\n"])
    assert path.read_text(encoding="utf-8") == (old or "head\none\ntow\n")
    written.finish("head\n", LINES)
    assert path.read_text(encoding="utf-8") == "head\none\ntwo\nthree\n"
    assert (written.why, written.missed) == (None, 0)
    assert os.listdir(folder) == ["x"]  # noqa: PTH208  (hidden files, too)
    assert path.is_symlink() == (old == "linked")


@pytest.mark.parametrize(
    ("first", "then", "missed", "why"),
    [
        (["one\n", "two\n"], 2, 0, None),
        (["one\n", "tow\n"], 2, 1, "rows changed after they were written"),
        (["one\n"], 2, 1, "it took too long to write"),
    ],
)
def test_a_pipe_cannot_be_corrected(
    folder: Path, first: list[str], then: int, missed: int, why: str | None
) -> None:
    """Broken if an invalid row, or one that was left out, is not counted."""
    path = folder / "pipe"
    os.mkfifo(path)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(path.read_text(encoding="utf-8")))
    reader.start()
    written = rows(path)
    written.append("head\n", 0, first)
    written.append("head\n", then, LINES[then:])
    written.finish("head\n", LINES)
    reader.join(10)
    assert read == ["".join(["head\n", *first, *LINES[then:]])]
    assert (written.missed, written.why) == (missed, why)


@pytest.mark.parametrize("old", [None, "old"])
def test_a_file_whose_folder_is_gone(folder: Path, old: str | None) -> None:
    """Broken if a file that cannot be moved to its place is lost, or not named."""
    path = folder / "sub" / "x"
    path.parent.mkdir()
    if old is not None:
        path.write_text(old, encoding="utf-8")
    written = rows(path)
    written.append("", 0, LINES[:1])
    path.parent.rename(folder / "gone")
    (folder / "sub").write_text("a file", encoding="utf-8")
    written.finish("", ["changed\n", *LINES])
    assert (written.missed, written.why is not None) == (4, True)
    if old is not None:
        assert (folder / "gone/x").read_text(encoding="utf-8") == old


def test_a_file_of_a_run_without_an_end(folder: Path) -> None:
    """Broken if the file of a part of a run replaces that of a whole one."""
    path = folder / "x"
    path.write_text("old", encoding="utf-8")
    written = rows(path)
    written.append("", 0, LINES)
    written.abandon("the log could not be read")
    assert path.read_text(encoding="utf-8") == "old"
    assert os.listdir(folder) == ["x"]  # noqa: PTH208
    assert written.why == "the log could not be read"


@pytest.mark.timed
def test_a_worker_that_hangs_holds_up_nothing() -> None:
    """Broken if a slow sink makes the reader of the log wait, or the command at its end."""
    hang = threading.Event()
    worker = Worker("test")
    begun = time.monotonic()
    taken = [worker.offer(lambda: hang.wait(30) and None) for _ in range(QUEUE_MAX + 9)]
    assert taken.count(False) in {8, 9}
    worker.end(lambda: None)
    assert not worker.wait(time.monotonic() + 0.1)
    assert time.monotonic() - begun < 5
    hang.set()


@pytest.fixture
def read_outs(monkeypatch: pytest.MonkeyPatch) -> list[Out]:
    """The outputs of the run that is about to start."""
    found: list[Out] = []
    monkeypatch.setattr(Run, "execute", lambda run: found.extend(run.options.outs) or 0)
    return found


def test_outputs_are_configured(
    scene: Scene, read_outs: list[Out], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a file or the environment cannot set an output, or a flag does not replace it."""
    a, b = Out("json", "a.json"), Out("csv", "b.csv")
    Path("loadpilot.toml").write_text('out = ["json=a.json", "csv=b.csv"]\n', encoding="utf-8")
    assert scene.run() == 0
    assert read_outs == [a, b]
    monkeypatch.setenv("LOADPILOT_OUT", "csv=b.csv json=a.json")
    assert scene.run() == 0
    assert read_outs[2:] == [b, a]
    assert scene.run("--out", "csv=b.csv") == 0
    assert read_outs[4:] == [b]


LOGINS = ["https://ann:hunter2@example.com/w", "https://example.com/w?u=ann&p=hunter2&hunter2"]


@pytest.mark.parametrize("address", LOGINS)
def test_a_file_holds_no_password(
    address: str,
    scene: Scene,
    read_outs: list[Out],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Broken if a password may be committed with a project, or a dry run prints one."""
    out = f"otlp={address}"
    Path("loadpilot.toml").write_text(f'out = ["{out}"]\n', encoding="utf-8")
    assert scene.run() == 2
    assert "otlp must have no password in a file; set LOADPILOT_OUT" in capsys.readouterr().err
    monkeypatch.setenv("LOADPILOT_OUT", out)
    assert scene.run("-v") == 0
    assert read_outs == [Out("otlp", out.removeprefix("otlp="))]
    assert scene.run("--dry-run", "-v") == 0
    written = capsys.readouterr()
    assert "otlp=https://example.com/w" in written.err
    assert "hunter2" not in written.err + written.out + Out("otlp", address).label


def test_a_detached_run_has_no_outputs(
    scene: Scene, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a detached command accepts outputs that it would not write."""
    monkeypatch.setenv("NATS_TOKEN", "t")
    fleet = ("--nats-url", "nats://127.0.0.1:1", "--external-agents", "1")
    assert scene.run("--out", "json=a", "--detach", *fleet) == 2
    assert "--out: is written while a command follows the run" in capsys.readouterr().err
    assert scene.run("--metrics", "127.0.0.1:9090", "--detach", *fleet) == 2
    assert "--metrics: is served by this command" in capsys.readouterr().err
