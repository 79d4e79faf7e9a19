"""What following a run costs the load that it follows."""

from __future__ import annotations

import subprocess
import sys

FOLLOWED = """
import sys
from loadpilot.cli.follow import Followed, Follower

class Watch:
    def next(self, secs):
        missing = [name for name in ("pydantic", NAME) if name not in sys.modules]
        assert not missing, missing
        return '{"sealed": true}'

class Nobody:
    count = 0

NAME = "loadpilot._generated.snapshot"
assert NAME not in sys.modules, "starting a run must not wait for it"
follower = Follower(session=None, run="", view=None, interruptions=Nobody())
assert follower.follow(Watch(), None) is Followed.OVER
"""


def test_what_reads_snapshots_is_imported_before_the_first_one() -> None:
    """Broken if a tenth of a second of imports falls into the load, which may share the core."""
    done = subprocess.run(
        [sys.executable, "-c", FOLLOWED], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
