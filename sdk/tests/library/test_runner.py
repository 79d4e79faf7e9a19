"""The result of `loadpilot.run` after its command has ended."""

from __future__ import annotations

import json

import pytest

import loadpilot
from loadpilot.library.command import Ended
from loadpilot.library.runner import _result
from loadpilot.library.scenario_source import ScenarioSource
from loadpilot.local.folders import ROOT

REPORT = json.dumps({"run": {"id": "abc"}})
SOURCE = ScenarioSource("shop.py")


@pytest.mark.parametrize("code", [0, 1, 3])
def test_a_run_that_was_over_before_ctrl_c_has_its_result(code: int) -> None:
    """Broken if Ctrl-C during the wait for a last scrape discards a run that was not
    interrupted."""
    result = _result(Ended(code, REPORT, (), is_interrupted=True), SOURCE, ROOT)
    assert (result.run_id, result.exit_code, result.passed) == ("abc", code, code == 0)


@pytest.mark.parametrize(("code", "product"), [(130, REPORT), (130, ""), (0, ""), (4, "")])
def test_a_run_that_ctrl_c_stopped_raises(code: int, product: str) -> None:
    """Broken if a program goes on after Ctrl-C as if its run had ended by itself."""
    with pytest.raises(loadpilot.RunInterrupted) as interrupted:
        _result(Ended(code, product, (), is_interrupted=True), SOURCE, ROOT)
    assert (interrupted.value.result is not None) == bool(product)
