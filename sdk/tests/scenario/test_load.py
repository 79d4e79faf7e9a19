"""Scenario files that cannot be loaded: one clear message each, with the user's own lines."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import pytest

from loadpilot.problem import Problem, Refused
from loadpilot.scenario_file.load import choose, load

# Python before 3.11.4 raises a ValueError without a line.
HAS_LINE_OF_NULLS = sys.version_info >= (3, 11, 4)
FILES = {
    "class S(:\n": (":1", "SyntaxError: invalid syntax in `class S(:`"),
    "x = 1\n  y = 2\n": (":2", "IndentationError"),
    "from locust import HttpUser\n": (":1", "a file of Locust: see docs/migrate/locust.md"),
    "try:\n    import locust\nexcept ImportError:\n    pass\n": ("", "docs/migrate/locust.md"),
    "import nothing_of_that_name\n": (":1", "No module named 'nothing_of_that_name'"),
    "from os import nothing\n": (":1", "ImportError while it was imported"),
    "import sys\nsys.exit(0)\n": (":2", "called sys.exit(0)"),
    "raise SystemExit\n": (":1", "called sys.exit()"),
    "\n1 / 0\n": (":2", "ZeroDivisionError while it was imported: division by zero"),
    "def f():\n    raise KeyError('k')\nf()\n": (":2", "KeyError while it was imported: 'k'"),
    "raise BaseException('odd')\n": (":1", "BaseException while it was imported: odd"),
    "def f(): f()\nf()\n": (":1", "RecursionError while it was imported"),
    "": ("", "defines no scenario"),
    "from loadpilot import scenario\nx = scenario(rps=1)\n": ("", "defines no scenario"),
    "from loadpilot import scenario\n@scenario(speed=1)\nclass S: pass\n": (
        ":2",
        "@scenario knows no speed",
    ),
    "from loadpilot import scenario\n@scenario(rps=1)\ndef f(): pass\n": (
        ":2",
        "@scenario marks classes, not function",
    ),
    "from loadpilot import task\ntask(weight=2)(5)\n": (":2", "@task marks functions, not int"),
    "\0": (":1" if HAS_LINE_OF_NULLS else "", "null bytes"),
    "# -*- coding: latin-99 -*-\n": (":1", "encoding"),
}


def refused(path: Path) -> Problem:
    with pytest.raises(Refused) as raised:
        load(path)
    (problem,) = raised.value.problems
    return problem


@pytest.mark.parametrize("text", FILES)
def test_a_file_that_cannot_be_loaded_is_refused_at_its_line(text: str, tmp_path: Path) -> None:
    """Broken if a user sees a traceback of ours, or if a run without tasks starts."""
    path = tmp_path / "scene.py"
    path.write_text(text, encoding="utf-8")
    problem = refused(path)
    place, what = FILES[text]
    assert problem.place.endswith(f"scene.py{place}")
    assert what in problem.what


def test_what_is_no_readable_file_is_refused(tmp_path: Path) -> None:
    """Broken if a directory, a missing file or an invalid name ends in a traceback."""
    assert refused(tmp_path / "none.py").what == "no such file"
    assert "is a directory" in refused(tmp_path).what
    assert "cannot be read" in refused(Path("a\0b")).what
    binary = tmp_path / "scene.py"
    binary.write_bytes(b"\xff\xfe\x00garbage")
    assert ("SyntaxError" if HAS_LINE_OF_NULLS else "null bytes") in refused(binary).what
    large = tmp_path / "large.py"
    large.write_bytes(b"#" * (4 * 1024 * 1024 + 1))
    assert "larger than 4 MiB" in refused(large).what


def test_an_error_in_an_imported_module_shows_both_files(tmp_path: Path) -> None:
    """Broken if the frame that matters is hidden behind the import machinery."""
    (tmp_path / "mixin_broken.py").write_text("x = 1\ny = undefined\n", encoding="utf-8")
    path = tmp_path / "scene.py"
    path.write_text("\nimport mixin_broken\n", encoding="utf-8")
    problem = refused(path)
    assert problem.place.endswith("mixin_broken.py:2")
    assert "NameError" in problem.what
    assert "scene.py:2 `import mixin_broken`" in problem.what
    assert "loadpilot/compile" not in problem.what


def test_printing_at_import_stays_off_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if output of a scenario is mixed with the plan that --dry-run prints."""
    path = tmp_path / "scene.py"
    path.write_text("print('chatty')\n", encoding="utf-8")
    refused(path)
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err == "chatty\n"


TWO = """
from loadpilot import VUser, scenario, task
@scenario()
class One(VUser): pass
@scenario
class Two(VUser): pass
class Three(Two): pass
Alias = One
"""


def test_several_scenarios_are_listed_and_chosen_by_name(tmp_path: Path) -> None:
    """Broken if one of several scenarios runs without being named, or if an unmarked subclass
    counts as one."""
    path = tmp_path / "scene.py"
    path.write_text(TWO, encoding="utf-8")
    loaded = load(path)
    assert list(loaded.scenarios) == ["One", "Two"]
    assert choose(loaded, "Two").__name__ == "Two"
    for name in (None, "Three"):
        with pytest.raises(Refused, match="One, Two"):
            choose(loaded, name)


def test_imported_scenarios_do_not_count(tmp_path: Path) -> None:
    """Broken if importing a base scenario makes a file ambiguous."""
    (tmp_path / "mixin_two.py").write_text(TWO, encoding="utf-8")
    path = tmp_path / "scene.py"
    path.write_text("from mixin_two import One\n", encoding="utf-8")
    assert "only imports do not count: One of mixin_two" in refused(path).what


def test_a_scenario_may_be_called_like_a_module_of_python(tmp_path: Path) -> None:
    """Broken if a scenario file named json.py hides the json module from the product."""
    path = tmp_path / "json.py"
    path.write_text(TWO, encoding="utf-8")
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        assert len(load(Path("json.py")).scenarios) == 2
    finally:
        os.chdir(here)
    assert importlib.import_module("json").loads("1") == 1
