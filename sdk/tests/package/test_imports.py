"""The package itself: what importing it costs, and that all of its words are there."""

from __future__ import annotations

import subprocess
import sys

import pytest


def said(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_process_that_is_rust_imports_the_engine_alone() -> None:
    """Broken if agents, coordinators and supervisors wait for the words of scenario files."""
    ours = "sorted(name for name in sys.modules if name.startswith('loadpilot'))"
    mine = said(f"import sys, loadpilot._entry; print({ours}, 'typing' in sys.modules)")
    assert mine == "['loadpilot', 'loadpilot._entry', 'loadpilot._native'] False"


@pytest.mark.parametrize(
    "program",
    [
        "import loadpilot; words = [getattr(loadpilot, name) for name in loadpilot.__all__]",
        "import loadpilot; from loadpilot import *; words = [eval(n) for n in loadpilot.__all__]",
        "import loadpilot; words = set(loadpilot.__all__) <= set(dir(loadpilot))",
    ],
)
def test_every_word_is_there_however_it_is_asked_for(program: str) -> None:
    """Broken if a name that the documentation has is found by one way of importing only."""
    assert said(f"{program}; print(bool(words))") == "True"


def test_a_word_is_the_same_each_time() -> None:
    """Broken if two files get two things under one name, or a wrong name gets any."""
    assert said("import loadpilot, loadpilot.dsl as d; print(loadpilot.task is d.task)") == "True"
    assert said("import loadpilot; print(hasattr(loadpilot, 'tasks'))") == "False"
