"""Scenarios in notebooks: the cells that a class needs, and no others."""

from __future__ import annotations

import ast
import linecache
import sys
from hashlib import sha256
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

import loadpilot
from loadpilot.dsl import spec_of
from loadpilot.library.notebook import explained, gathered, written
from loadpilot.library.scenario_source import source_of

if TYPE_CHECKING:
    from pathlib import Path

IMPORTS = """
from __future__ import annotations
import random, json as j
import pandas
from loadpilot import *
"""
DEFINED = """
BASE = "/api"
UNUSED = open("never")

def path(name):
    return f"{BASE}/{name}"

def other():
    return random
"""
CLASS = """
@scenario(rps=5)
class Shop:
    @task
    def browse(self, client, other=0):
        result = client.get(path(j.dumps("x")))
        assert [pandas for pandas in (lambda UNUSED: UNUSED)(result.headers)]
result = run(Shop)
Shop.extra = 1
"""
TWICE = """
def path(name):
    return "/" + name
"""


def cell(text: str, names: dict[str, Any]) -> None:
    """Execute a cell as a kernel does: only linecache has its source, under a name made from its
    text."""
    name = f"<pyapi-cell-{sha256(text.encode()).hexdigest()[:8]}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), names)  # noqa: S102  (a cell of this test)


def text_of(name: str, *cells: str) -> str:
    """The statements that a name needs, from cells that were not executed."""
    return gathered(name, {str(number): text for number, text in enumerate(cells)}, {})


def test_a_class_is_gathered_with_what_it_uses_alone() -> None:
    """Broken if loading a class runs cells that it does not need, or misses one that it does."""
    text = text_of("Shop", IMPORTS, DEFINED, "%timeit pass", CLASS)
    assert [ast.unparse(one).split("\n")[0] for one in ast.parse(text).body] == [
        "from __future__ import annotations",
        "import random, json as j",
        "from loadpilot import *",
        "BASE = '/api'",
        "def path(name):",
        "@scenario(rps=5)",
    ]
    assert "# kept" in text_of("a", "a = [  # kept\n1]")


def test_the_last_definition_of_a_name_counts() -> None:
    """Broken if a cell that was corrected and executed again has no effect."""
    text = text_of("Shop", DEFINED, CLASS, TWICE)
    assert text.index("return f") < text.index('return "/"')


def test_a_class_of_a_session_gets_a_file_for_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a scenario in a notebook has no file, or if the file is left behind."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "session"}
    cell("from loadpilot import scenario, task", names)
    cell(CLASS.replace("result = run(Shop)", ""), names)
    with source_of(names["Shop"]) as source:
        (file,) = tmp_path.iterdir()
        assert source.arguments() == ["--scenario=Shop", file.name]
        assert file.read_text().startswith("from loadpilot import scenario, task\n@scenario")
        message = source.explained(f"{file.name}:5: `name` is not a constant")
    assert (
        message == "notebook, line `def browse(self, client, other=0):`: `name` is not a constant"
    )
    assert list(tmp_path.iterdir()) == []


EDITED = {
    'def path(name):\n    return "/old"': 'def path(name):\n    return "/new"',
    "RPS: int = 5": "RPS: int = 6",
    """@scenario(rps=RPS)
class Edited:
    @task
    def browse(self, client):
        client.get(path("x"))""": """@scenario(rps=RPS)
class Edited:
    @task
    def other(self, client):
        client.get(path("y"))""",
}


def test_a_cell_that_was_edited_back_counts_as_it_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a function, a constant or a class runs as it was before its last edit. A cell that
    returns to an earlier text has its earlier name, and so its earlier place."""
    monkeypatch.chdir(tmp_path)
    session = ModuleType("edited")
    monkeypatch.setitem(sys.modules, "edited", session)
    names = session.__dict__
    cell("from loadpilot import scenario, task", names)
    for texts in (EDITED, EDITED.values(), EDITED):
        for text in texts:
            cell(text, names)
    with source_of(names["Edited"]) as source:
        loaded: dict[str, Any] = {"__name__": "loaded"}
        exec((tmp_path / source.path).read_text(), loaded)  # noqa: S102  (cells of this test)
    assert loaded["path"]("x") == "/old"
    assert loaded["RPS"] == 5
    assert "browse" in vars(loaded["Edited"])
    assert spec_of(loaded["Edited"]) == spec_of(names["Edited"])


def test_runs_of_one_text_share_its_file_until_the_last_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a run deletes the file of another one, or if the file is left behind after both."""
    monkeypatch.chdir(tmp_path)
    with written("one = 1\n") as first:
        with written("one = 1\n") as second, written("two = 2\n"):
            assert first == second
        assert (tmp_path / first).read_text() == "one = 1\n"
        monkeypatch.chdir("/")
    assert list(tmp_path.iterdir()) == []


def test_a_line_that_is_not_there_keeps_its_message() -> None:
    """Broken if the explanation of an error is itself an error."""
    assert explained("cell.py:9: no", "cell.py", "one\n") == "cell.py: no"


@loadpilot.scenario()
class Marked:
    class Inner:
        pass


class Unmarked:
    pass


def test_a_class_that_no_file_has_is_refused() -> None:
    """Broken if agents look for a scenario in vain, or if the message names no solution."""

    @loadpilot.scenario()
    class Local:
        pass

    sourceless = loadpilot.scenario()(type("Sourceless", (), {"__module__": "nowhere"}))
    expected = {
        Unmarked: "Unmarked: is no scenario; mark the class with @scenario(…)",
        Local: "Local: is defined inside test_a_class_that_no_file_has_is_refused; define it at "
        "the top level of its file, where agents find it by its name",
        sourceless: "Sourceless: its source is not available; write it to a file, and give its "
        "path or import the class from there",
    }
    for cls, message in expected.items():
        with pytest.raises(loadpilot.RunRefused) as refused, source_of(cls):
            pass
        assert str(refused.value) == message
    with pytest.raises(TypeError, match="takes a scenario class or a path"), source_of(3):
        pass
    with source_of(Marked) as source:
        assert source.arguments() == ["--scenario=Marked", __file__]
