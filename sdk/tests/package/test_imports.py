"""The package itself: the cost of its imports, and that all of its names exist."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.support.files import unpack

ROOT = Path(__file__).resolve().parents[3]
STORED = ROOT / "tests/e2e/results/stored_logs/open_loop.tar.gz"
SCENARIO = ROOT / "bench/scenarios/constant_rate.py"
COMMAND = """
import sys
from loadpilot.cli import main
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print({"pydantic", "textual"} & sys.modules.keys() != set())
"""


def output_of(program: str, *arguments: str, folder: Path | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_process_that_is_rust_imports_the_engine_alone() -> None:
    """Broken if agents, coordinators and supervisors import the names of scenario files."""
    ours = "sorted(name for name in sys.modules if name.startswith('loadpilot'))"
    mine = output_of(f"import sys, loadpilot._entry; print({ours}, 'typing' in sys.modules)")
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
    """Broken if a documented name can be imported in one way only."""
    assert output_of(f"{program}; print(bool(words))") == "True"


def test_a_word_is_the_same_each_time() -> None:
    """Broken if one name gives two objects, or if a wrong name gives any."""
    assert (
        output_of("import loadpilot, loadpilot.dsl as d; print(loadpilot.task is d.task)") == "True"
    )
    assert output_of("import loadpilot; print(hasattr(loadpilot, 'tasks'))") == "False"


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", str(SCENARIO), "--target", "http://127.0.0.1:1", "--dry-run"),
        ("report", "last"),
        ("runs",),
        ("watch", "last"),
        ("replay", "last", "--speed", "1000"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_command_starts_without_large_libraries(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """Broken if a command spends a tenth of a second of processor time on report models, or a
    quarter on a scenario browser that it does not show."""
    unpack(STORED, tmp_path / ".loadpilot/log-1")
    *printed, is_imported = output_of(COMMAND, *arguments, folder=tmp_path).splitlines()
    assert printed
    assert is_imported == "False"
