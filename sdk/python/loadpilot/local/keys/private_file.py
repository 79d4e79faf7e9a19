"""Whether a file with a secret is private."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

OTHERS = 0o077
OTHERS_OF_ROOT = 0o037
"""A file of root may be readable by its group: so Kubernetes mounts a Secret for a pod's group."""


def is_open_to_others(file: os.stat_result) -> bool:
    """Whether users beside the owner may read or change a file."""
    return bool(file.st_mode & (OTHERS if file.st_uid else OTHERS_OF_ROOT))
