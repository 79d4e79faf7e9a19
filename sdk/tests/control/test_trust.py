"""Which files of a log may be executed here: those that this user submitted from this machine."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path

import pytest

from loadpilot.control import trust
from loadpilot.local import submitted

GOLDEN = Path(__file__).parents[3] / "proto/golden"
PLAN = json.loads((GOLDEN / "plan.v1.json").read_text(encoding="utf-8"))
SETUP = {"plan": PLAN, "by": "eve@\x1b[2Jfar", "file": "shop.py"}


def packed(*names: str) -> bytes:
    """An archive of files with these names."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    return content.getvalue()


BUNDLE = packed("shop.py", "rows.csv")
HASH = hashlib.sha256(BUNDLE).hexdigest()


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty state folder of the user; returns the file in it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "loadpilot/submitted"


def test_what_was_submitted_here_may_be_executed(state: Path) -> None:
    """Broken if a teardown asks for a flag on the machine of its own author."""
    with pytest.raises(trust.Untrusted):
        trust.check("01r", SETUP, BUNDLE, None)
    for _ in range(2):
        trust.record_submission(HASH, json.dumps(PLAN))
    trust.check("01r", SETUP, BUNDLE, None)
    assert state.stat().st_mode & 0o777 == 0o600
    assert len(state.read_text(encoding="ascii").splitlines()) == 1


def test_files_of_ours_with_a_plan_of_others_are_refused() -> None:
    """Broken if a record of the log can make this command send our own files, with our secrets, to
    another target."""
    trust.record_submission(HASH, json.dumps(PLAN))
    other = {**SETUP, "plan": {**PLAN, "target": "http://elsewhere:1"}}
    with pytest.raises(trust.Untrusted, match="target     http://elsewhere:1"):
        trust.check("01r", other, BUNDLE, None)


def test_a_refusal_shows_what_to_look_at_and_what_to_type() -> None:
    """Broken if the user cannot see whose files these are, or if the log can draw on the screen."""
    with pytest.raises(trust.Untrusted) as refused:
        trust.check("01r", SETUP, BUNDLE, "0" * 64)
    message = str(refused.value)
    assert "author     eve@\\x1b[2Jfar" in message
    assert "files      shop.py, rows.csv" in message
    assert f"`loadpilot resume 01r --trust {HASH}`" in message
    trust.check("01r", SETUP, BUNDLE, HASH)
    assert not trust.problems(HASH)
    assert trust.problems(HASH[:12])


def test_a_file_that_others_can_write_is_not_believed(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if another user of this machine can decide what is executed."""
    trust.record_submission(HASH, json.dumps(PLAN))
    state.chmod(0o620)
    with pytest.raises(trust.Untrusted):
        trust.check("01r", SETUP, BUNDLE, None)
    assert "writable by the current user only" in capsys.readouterr().err


def test_old_lines_make_room_for_new_ones(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken if the file grows without an end, or forgets what was submitted last."""
    monkeypatch.setattr(submitted, "LINES_MAX", 3)
    for number in range(5):
        submitted.record(f"{number}", "p")
    assert state.read_text(encoding="ascii").split() == ["2", "p", "3", "p", "4", "p"]
