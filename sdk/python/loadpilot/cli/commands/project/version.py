"""``loadpilot version``: version, commit and build profile."""

from __future__ import annotations

from ....control.exit_code import ExitCode
from ....local.build import build_text


def version() -> ExitCode:
    """Print one line."""
    print(build_text())
    return ExitCode.PASSED
