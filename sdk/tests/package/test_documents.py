"""The Python of README and docs is what it says: each block is checked as a user's file would
be."""

from __future__ import annotations

import ast
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from sdk.tests.support.documents import Block, blocks

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


@pytest.mark.parametrize("block", OTHERS, ids=lambda block: block.name)
def test_other_python_in_a_document_is_python(block: Block) -> None:
    """Broken if a block does not even parse."""
    assert ast.parse(block.text).body


def test_the_pacer_that_is_described_keeps_its_promise() -> None:
    """Broken if the first thing that a newcomer builds does not add up."""
    (block,) = [block for block in OTHERS if block.document.name == "add-a-pacer.md"]
    names: dict[str, Any] = {**vars(profile), "pairwise": pairwise}
    exec(block.text, names)  # noqa: S102  (our own document)
    pieces = names["sawtooth"](10_000_001, 7_000_000, 3)
    assert sum(one["duration_us"] for one in pieces) == 10_000_001
    assert len(pieces) == 3


def test_there_are_documents_with_python() -> None:
    """Broken if blocks are no longer found, and the tests above look at nothing."""
    found = {block.document.name for block in SCENARIOS}
    assert found >= {"README.md", "script-a-user.md", "feed-and-vary.md", "write-a-scenario.md"}
    assert len(SCENARIOS) >= 12
    assert sum(block.is_whole for block in SCENARIOS) >= 6
