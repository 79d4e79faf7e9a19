"""Plugin of pytest: the fixture ``loadpilot_run``. pytest loads it; the product never does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from os import PathLike
    from typing import Unpack

    from .._generated.run_keywords import RunKeywords
    from .result import RunResult


class LoadpilotRun(Protocol):
    """The fixture's function."""

    def __call__(
        self,
        scenario: type | str | PathLike[str],
        /,
        *,
        quiet: bool = True,
        verbose: bool = False,
        **keywords: Unpack[RunKeywords],
    ) -> RunResult:
        """Run a scenario; the test fails unless the run passes."""


@pytest.fixture(scope="session")
def loadpilot_run() -> LoadpilotRun:
    """Run a scenario as ``loadpilot.run`` does; fail the test unless the run passes.

    The failure has the lines of the gates, and of the certificate where that is INVALID.
    """
    from ..errors import GateFailed  # noqa: PLC0415  (tests that do not run a scenario skip it)
    from .runner import run  # noqa: PLC0415  (as above)

    def run_and_judge(
        scenario: type | str | PathLike[str],
        /,
        *,
        quiet: bool = True,
        verbose: bool = False,
        **keywords: Unpack[RunKeywords],
    ) -> RunResult:
        __tracebackhide__ = True
        result = run(scenario, quiet=quiet, verbose=verbose, **keywords)
        failure = None
        try:
            result.raise_for_gates()
        except GateFailed as failed:
            failure = str(failed)
        # Not in the handler: pytest would show the caught exception too.
        if failure is not None:
            pytest.fail(failure, pytrace=False)
        return result

    return run_and_judge
