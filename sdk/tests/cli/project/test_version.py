"""What `loadpilot version` says of the build."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from loadpilot import __version__, _native
from loadpilot.cli import main
from loadpilot.cli.commands.project.version import checkout_commit

if TYPE_CHECKING:
    import pytest

GIT = shutil.which("git") or "git"
ROOT = Path(__file__).parents[4]


def test_a_checkout_names_its_commit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a user reports a bug in a build that nobody can find."""
    head = subprocess.check_output([GIT, "-C", str(ROOT), "rev-parse", "HEAD"], text=True)
    monkeypatch.setattr(_native, "COMMIT", None)
    monkeypatch.setattr(_native, "DEVELOPMENT_BUILD", True)
    assert main(["version"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{__version__} (commit {head[:12]}")
    assert text.endswith(", development build)\n")
    monkeypatch.setattr(_native, "COMMIT", "0123456789ab")
    monkeypatch.setattr(_native, "DEVELOPMENT_BUILD", False)
    assert main(["version"]) == 0
    assert capsys.readouterr().out == f"{__version__} (commit 0123456789ab, release build)\n"


def test_an_environment_inside_of_another_checkout_is_not_a_part_of_it(tmp_path: Path) -> None:
    """Broken if a wheel installed below a user's project names the user's commit."""
    assert checkout_commit(tmp_path) is None
    subprocess.run([GIT, "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "__init__.py").write_text("", encoding="utf-8")
    assert checkout_commit(tmp_path) is None
