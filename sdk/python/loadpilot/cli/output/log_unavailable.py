"""Message and exit code of a run whose log cannot be written to: its disk refuses writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...control.exit_code import ExitCode
from ...control.terminal import safe_lines, say

if TYPE_CHECKING:
    from pathlib import Path

    from ...local.stack import LogUnavailable


def report_log_unavailable(fault: LogUnavailable, log_dir: Path | None) -> ExitCode:
    """Print that the disk failed the run, and what to do; a fleet has no ``log_dir`` here."""
    where = f" (logs: {log_dir})" if log_dir is not None else ""
    say(f"error: {safe_lines(str(fault))}{where}")
    if log_dir is not None:
        advice = (
            "in files beside the log; once its disk can be written to again, `loadpilot resume` or "
            "the next run in this folder stores it, and `loadpilot report` shows it"
        )
    else:
        advice = (
            "with the agents; once the disk of its server can be written to and nats-server was "
            "started again, `loadpilot report` shows what is there"
        )
    say(f"the load was stopped. What is not stored yet waits {advice}")
    return ExitCode.INCOMPLETE
