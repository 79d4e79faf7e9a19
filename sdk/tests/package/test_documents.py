"""The Python in README and docs: each block is checked like a user's file."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from sdk.tests.support.documents import Block, blocks

from loadpilot.cli import main
from loadpilot.compile.plan import compile_scenario
from loadpilot.compile.scenario import profile
from loadpilot.compile.scenario.settings import Overrides
from loadpilot.inputs.params import ParameterSource
from loadpilot.scenario_file.load import load

if TYPE_CHECKING:
    from pathlib import Path

SCENARIOS = [block for block in blocks() if block.is_scenario]
OTHERS = [block for block in blocks() if not block.is_scenario]
ENVIRON = {"SHOP_KEY": "made-up"}


@pytest.mark.parametrize("block", SCENARIOS, ids=lambda block: block.name)
def test_a_scenario_in_a_document_compiles(block: Block, tmp_path: Path) -> None:
    """Broken if the product refuses a scenario of its documents."""
    (tmp_path / "users.csv").write_text("name\nada\n")
    (tmp_path / "image.jpg").write_bytes(b"\xff\xd8")
    path = tmp_path / "scene.py"
    path.write_text(block.file)
    loaded = load(path, ParameterSource(ENVIRON, {}))
    assert loaded.scenarios
    for cls in loaded.scenarios.values():
        compiled = compile_scenario(loaded, cls, "http://localhost:8000", Overrides())
        assert compiled.plan["tasks"]


def test_what_a_document_says_of_compiling_is_true(tmp_path: Path) -> None:
    """Broken if the scenario that is called compiled runs in Python."""
    first = next(block for block in SCENARIOS if block.document.name == "script-a-user.md")
    path = tmp_path / "scene.py"
    path.write_text(first.file)
    loaded = load(path)
    compiled = compile_scenario(loaded, loaded.scenarios["Shop"], "http://localhost", Overrides())
    assert "code" in compiled.plan, compiled.reasons


@pytest.mark.parametrize(
    ("page", "language", "kind"), [("k6.md", "js", "k6"), ("jmeter.md", "xml", "jmx")]
)
def test_the_file_of_another_tool_offers_the_load_of_the_scenario_beside_it(
    page: str, language: str, kind: str, tmp_path: Path
) -> None:
    """Broken if a page presents two files as equal that offer different loads."""
    (block,) = [one for one in SCENARIOS if one.document.name == page]
    (foreign,) = re.findall(
        rf"^```{language}\n(.*?)^```", block.document.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "foreign").write_text(foreign)
    ours, imported = tmp_path / "ours.py", tmp_path / "imported.py"
    ours.write_text(block.file)
    assert main(["import", kind, str(tmp_path / "foreign"), "-o", str(imported)]) == 0
    plans = []
    for path in (ours, imported):
        loaded = load(path)
        (cls,) = loaded.scenarios.values()
        plans.append(compile_scenario(loaded, cls, "http://localhost:8000", Overrides()).plan)
    assert plans[0]["profile"] == plans[1]["profile"]
    assert plans[0].get("users") == plans[1].get("users")


@pytest.mark.parametrize("block", OTHERS, ids=lambda block: block.name)
def test_other_python_in_a_document_is_python(block: Block) -> None:
    """Broken if a block is not valid Python."""
    assert ast.parse(block.text).body


def test_the_pacer_that_is_described_keeps_its_promise() -> None:
    """Broken if the pieces of the documented pacer do not add up to its duration."""
    (block,) = [block for block in OTHERS if block.document.name == "add-a-pacer.md"]
    names: dict[str, Any] = {**vars(profile), "pairwise": pairwise}
    exec(block.text, names)  # noqa: S102  (our own document)
    pieces = names["sawtooth"](10_000_001, 7_000_000, 3)
    assert sum(one["duration_us"] for one in pieces) == 10_000_001
    assert len(pieces) == 3


def test_there_are_documents_with_python() -> None:
    """Broken if blocks are no longer found, so that the tests above check nothing."""
    found = {block.document.name for block in SCENARIOS}
    assert found >= {"README.md", "script-a-user.md", "feed-and-vary.md", "write-a-scenario.md"}
    assert len(SCENARIOS) >= 12
    assert sum(block.is_whole for block in SCENARIOS) >= 6
