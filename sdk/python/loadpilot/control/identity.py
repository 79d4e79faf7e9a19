"""Who asks, for people who read the log, and under which name a command beats."""

from __future__ import annotations

import getpass
import os
import platform
import uuid


def author() -> str:
    """Say who asks: user@host, for people to read."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container may run as a user that has no name
        user = f"uid-{os.getuid()}"
    return f"{user}@{platform.node() or 'unknown'}"


def new_claimant() -> str:
    """Make up the name under which a command beats, and under which a run is its own."""
    return f"cli-{uuid.uuid4().hex}"
