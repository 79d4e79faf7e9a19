"""The command line; each command is a module in ``commands``.

Imports wait until the command is known: start-up is part of the time from Enter to the first
request.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import os
import sys


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    from ..control.exit_code import ExitCode

    _open_closed_streams()
    try:
        code = _command(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output is gone; the flush at exit must not fail on buffered text.
        from ..control.terminal import drop_output

        drop_output(sys.stdout)
        return ExitCode.INFRASTRUCTURE
    except Exception as error:  # noqa: BLE001  (an unexpected exception is an error of ours)
        from .output.internal_error import report

        report(error)
        code = ExitCode.INFRASTRUCTURE
    hooks = sys.modules.get("loadpilot.cli.hooks")
    if hooks is not None and hooks.is_stuck():
        hooks.leave(code)
    return code


def _open_closed_streams() -> None:
    """Open the null device for closed standard streams, so that no file gets their number."""
    modes = {"stdin": os.O_RDONLY, "stdout": os.O_WRONLY, "stderr": os.O_WRONLY}
    for number, (name, mode) in enumerate(modes.items()):
        if getattr(sys, name) is not None:
            continue
        null = os.open(os.devnull, mode)
        if null != number:
            os.dup2(null, number)
            os.close(null)
        os.set_inheritable(number, True)  # noqa: FBT003  (positional only)
        stream = os.fdopen(number, "r" if mode == os.O_RDONLY else "w", encoding="utf-8")
        setattr(sys, name, stream)


def _command(argv: list[str]) -> int:
    """Parse the command line and run the command."""
    from cyclopts import CycloptsError

    from ..control.exit_code import ExitCode
    from ..control.terminal import safe, say
    from ..problem import Refused
    from .app import app
    from .flags.misread import misread, refuse_one_dash

    try:
        refuse_one_dash(app, argv)
        result = app(argv)
    except Refused as refused:
        from .output.refusal import refuse

        return refuse(refused.problems)
    except CycloptsError as error:
        from .output.github import annotate_refusal

        text = safe(misread(error))
        say(f"error: {text}")
        annotate_refusal(text, os.environ)
        say("nothing was started; see `loadpilot --help`")
        return ExitCode.USAGE
    return int(result) if isinstance(result, int) else ExitCode.PASSED
