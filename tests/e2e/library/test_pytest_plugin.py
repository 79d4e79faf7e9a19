"""The pytest fixture `loadpilot_run`, as users' tests use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.programs import SCENARIO

if TYPE_CHECKING:
    from tests.oracle.oracle import Oracle

pytest_plugins = ["pytester"]

TESTS = """
def test_good(loadpilot_run):
    result = loadpilot_run(Shop, target={url!r})
    assert result.report["arrivals"]["started"] == 40

def test_slow(loadpilot_run):
    loadpilot_run(Shop, target={url!r}, thresholds={{"p99_ms": 0.0001}})

def test_typo(loadpilot_run):
    loadpilot_run(Shop, target={url!r}, duration="1 minute or so")
"""
PLAIN = """
import sys

def test_plain():
    assert not [name for name in sys.modules if name.startswith("loadpilot.") and
                name not in {"loadpilot.library", "loadpilot.library.pytest_plugin"}]
    assert "cyclopts" not in sys.modules
"""


@pytest.mark.slow
def test_a_test_fails_with_the_lines_of_its_gates(
    pytester: pytest.Pytester, oracle: Oracle
) -> None:
    """Broken if a missed gate passes a test, or the failure shows no figure and limit."""
    pytester.makepyfile(SCENARIO + TESTS.format(url=oracle.url))
    ran = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", "-k", "not good")
    ran.assert_outcomes(failed=2, deselected=1)
    ran.stdout.re_match_lines(
        [
            r"Shop did not pass \(run \w+\)",
            r"verdict +FAIL",
            r"  ✗ p99_ms +\d[\d.]* <= 0\.0001",
            r".*RunRefused: --duration: .*1 minute or so.*",
        ]
    )
    ran.stdout.no_fnmatch_line("*During handling of the above exception*")
    assert len(oracle.requests()) == 40


@pytest.mark.slow
def test_a_test_passes_with_its_run(pytester: pytest.Pytester, oracle: Oracle) -> None:
    """Broken if a good run fails its test, or if the fixture has other figures than the target."""
    pytester.makepyfile(SCENARIO + TESTS.format(url=oracle.url))
    ran = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", "-k", "good")
    if "INVALID" not in ran.stdout.str():  # a busy machine
        ran.assert_outcomes(passed=1, deselected=2)
    assert len(oracle.requests()) == 40


@pytest.mark.slow
def test_tests_without_runs_import_nothing_of_it(pytester: pytest.Pytester) -> None:
    """Broken if the plugin slows down every pytest run of an environment."""
    pytester.makepyfile(PLAIN)
    ran = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")
    ran.assert_outcomes(passed=1)
    listed = pytester.runpytest_subprocess("--fixtures", "-p", "no:cacheprovider")
    listed.stdout.fnmatch_lines(["loadpilot_run*", "*fail the test unless the run passes*"])
