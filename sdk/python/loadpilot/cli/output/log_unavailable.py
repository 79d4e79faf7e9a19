"""What is said, and how it ends, when the disk of a log refuses writes under a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...control.exit_code import ExitCode
from ...control.terminal import safe_lines, say

if TYPE_CHECKING:
    from pathlib import Path

    from ...local.stack import LogUnavailable


def without_log(fault: LogUnavailable, log_dir: Path | None) -> ExitCode:
    """Say that the disk failed the run, and what is to be done; a fleet has no folder here."""
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
