"""Console scripts and child processes in Rust: pass the arguments on, nothing else.

The rest of the package must never be imported here: the start of an agent is part of the time to
the first request.
"""

from __future__ import annotations

import os
import sys

from . import TYPE_CHECKING, _native

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


def coordinator(arguments: Sequence[str] | None = None) -> int:
    """Run a coordinator until it is asked to stop; returns the exit code.

    ``arguments`` are its flags; without them, those of this process.
    """
    return _native.coordinator_main(*_called(arguments))


def agent(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run an agent until it is asked to stop, and exit; ``arguments`` as for :func:`coordinator`.

    Firing threads may still be about to end. Python would end them in the middle of Rust, so the
    process exits without finalising Python; the unpacked files of a scenario are removed here.
    """
    code = _native.agent_main(*_called(arguments))
    if "loadpilot.play" in sys.modules:
        sys.modules["loadpilot.play"].clear()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def supervisor() -> int:
    """Run a local stack until its parent process ends it; returns the exit code."""
    return _native.supervisor_main(sys.argv[1:])


def _called(arguments: Sequence[str] | None) -> tuple[list[str], str | None]:
    """Return the arguments, and the commit for ``--version``: git runs for that flag only."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if {"--version", "-V"}.isdisjoint(words):
        return words, None
    from .local.build import commit  # noqa: PLC0415  (see above)

    return words, commit()
