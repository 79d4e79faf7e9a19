"""Identity of a command: its author, for readers of the log, and its claimant id."""

from __future__ import annotations

import os
import platform
import uuid


def author() -> str:
    """Name the author of a request: user@host, for people."""
    import getpass  # noqa: PLC0415  (start-up is a promise)

    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container may run as a user without a name
        user = f"uid-{os.getuid()}"
    return f"{user}@{platform.node() or 'unknown'}"


def new_claimant() -> str:
    """Make a random id under which a command sends signs of life and owns a run."""
    return f"cli-{uuid.uuid4().hex}"
