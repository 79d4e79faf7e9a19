"""Which files with a secret count as private."""

from __future__ import annotations

import os

from loadpilot.local.private_file import is_open_to_others

PRIVATE = ((0o600, 1000), (0o400, 1000), (0o440, 0), (0o640, 0))
OPEN = ((0o640, 1000), (0o604, 1000), (0o460, 0), (0o450, 0), (0o444, 0))
"""Modes and owners, as in services/bus/src/private_file.rs."""


def test_only_a_file_of_root_may_be_readable_by_its_group() -> None:
    """Broken if a Secret of Kubernetes is refused, or a file that others can read is not."""
    for mode, owner in (*PRIVATE, *OPEN):
        file = os.stat_result((mode, 0, 0, 1, owner, 0, 0, 0, 0, 0))
        assert is_open_to_others(file) is ((mode, owner) in OPEN), (oct(mode), owner)
