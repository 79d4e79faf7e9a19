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
        waits, healed = "in files beside the log", "its disk can be written to again"
    else:
        waits = "with the agents"
        healed = "the disk of its server can be written to and nats-server was started again"
    say(
        f"the load was stopped. What is not stored yet waits {waits}; once {healed}, "
        "`loadpilot report` shows what is there"
    )
    return ExitCode.INCOMPLETE
