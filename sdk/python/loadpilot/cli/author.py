"""Who asks, for the log: people read it, nothing is decided by it."""

from __future__ import annotations

import getpass
import os
import platform


def author() -> str:
    """Say who asks: user@host, for people to read."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container may run as a user that has no name
        user = f"uid-{os.getuid()}"
    return f"{user}@{platform.node() or 'unknown'}"
