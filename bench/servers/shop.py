"""The target of *seeds*: the shop of `bench/target`, which prints its counts at its end.

It listens on loopback only, and ends with the block, or with this process however that ends.
"""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Self

from bench.install.build import cargo
from bench.measure.process_tree import ToolFault

if TYPE_CHECKING:
    from pathlib import Path

STOP_SECS = 10.0


def build(*, release: bool) -> Path:
    """Build it; returns its binary."""
    return cargo("-p", "loadpilot-target", release=release) / "loadpilot-target"


class ShopTarget:
    """One server; it inherits the cores of this process."""

    answered = 0
    """Requests of its life, known after the block."""
    refused = 0
    """Those of them that got 400 or above."""

    def __init__(self, binary: Path) -> None:
        """Start it and wait until it listens; raises ToolFault."""
        argv = [str(binary), "--port", "0", "--until-eof"]
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None  # noqa: S101  (it is a PIPE)
        line = self._process.stdout.readline().strip()
        if not line.startswith("listening on "):
            self._process.kill()
            raise ToolFault(f"{binary} did not start; it said {line!r}")
        self.url = line.removeprefix("listening on ") + "/"

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        """End it and read the counts that it prints; raises ToolFault if it prints none."""
        said, _ = self._process.communicate(timeout=STOP_SECS)
        found = re.fullmatch(r"answered (\d+), refused (\d+)\s*", said)
        if found is not None:
            self.answered, self.refused = int(found[1]), int(found[2])
        elif error is None:
            raise ToolFault(f"the target ended without its count; it said {said!r}")
