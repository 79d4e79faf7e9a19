"""Errors of a scenario in words, and the lines that led to them."""

from __future__ import annotations

import runpy
from typing import TYPE_CHECKING

import pytest

from loadpilot.play.tracebacks import TRACE_LINES_MAX, add_root, describe, remove_root, trace

if TYPE_CHECKING:
    from pathlib import Path

SCENE = """
import json
def deep(left):
    if left: deep(left - 1)
    json.loads("hunter2")
def buy():
    deep(1)
"""


@pytest.fixture
def scene(tmp_path: Path) -> dict[str, object]:
    (tmp_path / "shop.py").write_text(SCENE)
    return runpy.run_path(str(tmp_path / "shop.py"))


def test_a_traceback_has_the_users_lines_and_nothing_of_what_stands_there(
    scene: dict[str, object], tmp_path: Path
) -> None:
    """Broken if a secret in a line reaches the log, or if frames of a library hide the user's."""
    add_root(tmp_path)
    try:
        error = raised(scene, "buy")
        assert trace(error) == "shop.py:7 in buy\nshop.py:4 in deep\nshop.py:5 in deep"
        assert describe(error).endswith("(shop.py:5)")
        assert len(trace(raised(scene, "deep", 50)).split("\n")) == TRACE_LINES_MAX
    finally:
        remove_root(tmp_path)
    assert trace(error) == ""


def raised(scene: dict[str, object], name: str, *given: int) -> BaseException:
    """The error of a function of the scene."""
    function = scene[name]
    assert callable(function)
    with pytest.raises(ValueError, match="Expecting value") as caught:
        function(*given)
    return caught.value
