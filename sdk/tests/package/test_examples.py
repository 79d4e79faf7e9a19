"""The examples are sound scenarios: what people copy from must compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadpilot.compile.plan import compile_scenario
from loadpilot.compile.scenario.settings import Overrides
from loadpilot.scenario_file.load import load

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_scenario_of_an_example_compiles(path: Path) -> None:
    """Broken if an example uses what the compiler refuses."""
    loaded = load(path)
    for cls in loaded.scenarios.values():
        compiled = compile_scenario(loaded, cls, "http://localhost:8000", Overrides())
        assert compiled.plan["tasks"]


def test_there_are_examples() -> None:
    """Broken if the folder moved, so that the test above checks nothing."""
    assert {path.name for path in EXAMPLES} >= {"demo.py", "shop.py"}
