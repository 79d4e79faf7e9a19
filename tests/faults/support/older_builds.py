"""The programs of an earlier commit, built beside those of today.

Must never touch the work tree: the sources are read from the history.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BUILD_S = 1_800


@dataclass(frozen=True, slots=True)
class Older:
    """Paths of the older programs."""

    coordinator: Path
    agent: Path


@cache
def older(commit: str) -> Older:
    """Builds the programs of a commit, once. Skips the test where the history or Rust is
    missing."""
    cargo, git, tar = (shutil.which(name) for name in ("cargo", "git", "tar"))
    if cargo is None or git is None or tar is None:
        pytest.skip("needs cargo, git and tar, to build older programs: https://rustup.rs")
    argv = [git, "cat-file", "-e", f"{commit}^{{commit}}"]
    if subprocess.run(argv, cwd=ROOT, capture_output=True, check=False).returncode != 0:
        pytest.skip(f"needs the history back to {commit}: git fetch --unshallow")
    place = ROOT / "target" / "older" / commit
    sources, built = place / "src", place / "target"
    if not sources.exists():
        packed = subprocess.run(
            [git, "archive", commit], cwd=ROOT, capture_output=True, check=True
        ).stdout
        sources.mkdir(parents=True)
        subprocess.run([tar, "-x"], cwd=sources, input=packed, check=True)
    programs = ("loadpilot-coordinator", "loadpilot-agent")
    subprocess.run(
        [cargo, "build", "--locked", *(word for name in programs for word in ("-p", name))],
        cwd=sources,
        env=os.environ | {"CARGO_TARGET_DIR": str(built)},
        check=True,
        timeout=BUILD_S,
    )
    return Older(*(built / "debug" / name for name in programs))
