"""Console scripts and child processes that are Rust: hands the arguments over, nothing else.

Must never import the rest of the package: an agent's start is part of the time to first request.
"""

from __future__ import annotations

import os
import sys

from . import TYPE_CHECKING, _native

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


def coordinator(words: Sequence[str] | None = None) -> int:
    """Run a coordinator until it is told to stop; returns the exit code.

    ``words`` are its flags, those of this process if there are none.
    """
    return _native.coordinator_main(list(sys.argv[1:] if words is None else words))


def agent(words: Sequence[str] | None = None) -> NoReturn:
    """Run an agent until it is told to stop, and exit; ``words`` as for :func:`coordinator`.

    Firing threads may still be about to end. Python would end them in the middle of Rust, so it is
    left without being taken down; what a scenario has unpacked is removed here.
    """
    code = _native.agent_main(list(sys.argv[1:] if words is None else words))
    if "loadpilot.play" in sys.modules:
        sys.modules["loadpilot.play"].clear()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def supervisor() -> int:
    """Run a local stack until its owner ends it; returns the exit code."""
    return _native.supervisor_main(sys.argv[1:])
