"""The command line. What a command does is in the module of its name.

Must import as little as possible before it knows the command: this is part of the time from Enter
to the first request.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    from cyclopts import CycloptsError

    from .app import app
    from .exit_code import ExitCode
    from .terminal import safe, say

    try:
        result = app(sys.argv[1:] if argv is None else argv)
    except CycloptsError as error:
        say(f"error: {safe(' '.join(str(error).split()))}")
        say("nothing was started; see `loadpilot --help`")
        return ExitCode.USAGE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        sys.stdout = None
        return ExitCode.INFRASTRUCTURE
    return int(result) if isinstance(result, int) else ExitCode.PASSED
