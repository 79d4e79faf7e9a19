"""Entry points of console scripts and child processes that run in Rust.

Imports nothing else of the package: an agent's start is part of the time to the first request.
"""

from __future__ import annotations

import os
import sys

from . import TYPE_CHECKING, _native

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


def coordinator(argv: Sequence[str] | None = None) -> int:
    """Run a coordinator until a stop signal; returns the exit code.

    ``argv`` holds its flags; default: the arguments of this process.
    """
    return _native.coordinator_main(list(sys.argv[1:] if argv is None else argv))


def agent(argv: Sequence[str] | None = None) -> NoReturn:
    """Run an agent until a stop signal, and exit; ``argv`` as for :func:`coordinator`.

    Firing threads may still be running. Python's finalization would end them inside Rust code, so
    the process exits without it; the files that a scenario has unpacked are removed here.
    """
    code = _native.agent_main(list(sys.argv[1:] if argv is None else argv))
    if "loadpilot.play" in sys.modules:
        sys.modules["loadpilot.play"].clear()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def supervisor() -> int:
    """Run a local stack until its parent process ends it; returns the exit code."""
    return _native.supervisor_main(sys.argv[1:])
