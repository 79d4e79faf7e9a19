"""Console scripts and child processes that are Rust: hands the arguments over, nothing else.

Must never import the rest of the package: an agent's start is part of the time to first request.
"""

import sys

from . import _native


def coordinator() -> int:
    """Run a coordinator until it is told to stop; returns the exit code."""
    return _native.coordinator_main(sys.argv[1:])


def agent() -> int:
    """Run an agent until it is told to stop; returns the exit code."""
    return _native.agent_main(sys.argv[1:])


def supervisor() -> int:
    """Run a local stack until its owner ends it; returns the exit code."""
    return _native.supervisor_main(sys.argv[1:])
