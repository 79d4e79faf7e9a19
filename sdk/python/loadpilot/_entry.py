"""Console scripts and child processes that are Rust: hands the arguments over, nothing else.

Must never import the rest of the package: an agent's start is part of the time to first request.
"""

import os
import sys
from typing import NoReturn

from . import _native


def coordinator() -> int:
    """Run a coordinator until it is told to stop; returns the exit code."""
    return _native.coordinator_main(sys.argv[1:])


def agent() -> NoReturn:
    """Run an agent until it is told to stop, and exit.

    Firing threads may still be about to end. Python would end them in the middle of Rust, so it is
    left without being taken down; what a scenario has unpacked is removed here.
    """
    code = _native.agent_main(sys.argv[1:])
    if "loadpilot.play" in sys.modules:
        sys.modules["loadpilot.play"].clear()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def supervisor() -> int:
    """Run a local stack until its owner ends it; returns the exit code."""
    return _native.supervisor_main(sys.argv[1:])
