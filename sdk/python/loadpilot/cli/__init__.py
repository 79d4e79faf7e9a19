"""The command line. What a command does is in the module of its name.

Must import as little as possible before it knows the command: this is part of the time from Enter
to the first request.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import os
import sys


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    from ..control.exit_code import ExitCode

    try:
        code = _command(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; what is still buffered must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.INFRASTRUCTURE
    except Exception as error:  # noqa: BLE001  (what no command expects is an error of our own)
        from .output.internal_error import report

        report(error)
        code = ExitCode.INFRASTRUCTURE
    aside = sys.modules.get("loadpilot.cli.hooks")
    if aside is not None and aside.is_stuck():
        aside.leave(code)
    return code


def _command(argv: list[str]) -> int:
    """Read the command line and do what it says."""
    from cyclopts import CycloptsError

    from ..control.exit_code import ExitCode
    from ..control.terminal import safe, say
    from .app import app

    try:
        result = app(argv)
    except CycloptsError as error:
        from .flags.misread import misread

        say(f"error: {safe(misread(error))}")
        say("nothing was started; see `loadpilot --help`")
        return ExitCode.USAGE
    return int(result) if isinstance(result, int) else ExitCode.PASSED
