"""The version output of the programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from loadpilot import __version__, _native
from loadpilot.cli import main
from loadpilot.local.build import checkout_commit

if TYPE_CHECKING:
    from collections.abc import Sequence

GIT = shutil.which("git") or "git"
ROOT = Path(__file__).parents[4]
PROFILE = "development build" if _native.DEVELOPMENT_BUILD else "release build"
PROGRAMS = ("loadpilot", "loadpilot-agent", "loadpilot-coordinator", "loadpilot-gateway")


def called(*words: str, **environ: str) -> str:
    """The output of a program of this environment."""
    program = Path(sys.executable).with_name(words[0])
    return subprocess.check_output(
        [program, *words[1:]], text=True, timeout=60, env={**os.environ, **environ}
    )


@pytest.mark.parametrize(
    "words",
    [
        *((name, "--version") for name in PROGRAMS),
        ("loadpilot", "version"),
        ("loadpilot", "agent", "-V"),
        ("loadpilot", "coordinator", "--version"),
    ],
)
def test_every_program_names_the_commit_of_its_checkout(words: Sequence[str]) -> None:
    """Broken if the output does not identify the build, which a bug report needs."""
    head = subprocess.check_output([GIT, "-C", str(ROOT), "rev-parse", "HEAD"], text=True)
    program = next((f"loadpilot-{word} " for word in words if word in {"agent", "coordinator"}), "")
    program = f"{words[0]} " if words[0] != "loadpilot" else program
    text = called(*words)
    assert text.startswith(f"{program}{__version__} (commit {head[:12]}")
    assert text.endswith(f", {PROFILE})\n")


@pytest.mark.slow
def test_a_program_without_a_commit_says_so() -> None:
    """Broken if a machine without git prints a wrong commit, no commit, or an error."""
    for name in PROGRAMS:
        program = "" if name == "loadpilot" else f"{name} "
        expected = f"{program}{__version__} (commit unknown, {PROFILE})\n"
        assert called(name, "--version", PATH="/nowhere") == expected


def test_a_build_names_the_commit_that_its_builder_set(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if an installed wheel asks git, which knows nothing of it."""
    monkeypatch.setattr(_native, "COMMIT", "0123456789ab")
    assert main(["version"]) == 0
    assert capsys.readouterr().out == f"{__version__} (commit 0123456789ab, {PROFILE})\n"


def test_an_environment_inside_of_another_checkout_is_not_a_part_of_it(tmp_path: Path) -> None:
    """Broken if a wheel installed below a user's project names the user's commit."""
    assert checkout_commit(tmp_path) is None
    subprocess.run([GIT, "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "__init__.py").write_text("", encoding="utf-8")
    assert checkout_commit(tmp_path) is None
