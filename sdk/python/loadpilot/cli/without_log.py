"""What is said, and how it ends, when the disk of a log refuses writes under a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .exit_code import ExitCode
from .terminal import safe_lines, say

if TYPE_CHECKING:
    from pathlib import Path

    from ..local.stack import LogUnavailable


def without_log(fault: LogUnavailable, log_dir: Path | None) -> ExitCode:
    """Say that the disk failed the run, and what is to be done."""
    say(f"error: {safe_lines(str(fault))} (logs: {log_dir})")
    say(
        "the load was stopped. What is not stored yet waits in files beside the log; once its "
        "disk can be written to again, `loadpilot report` shows what is there"
    )
    return ExitCode.INCOMPLETE
