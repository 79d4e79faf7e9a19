"""The live view of a probe: one line at a terminal, which that of its result replaces."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, TextIO

from ...output.live import LineView, line

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...._generated.snapshot import Snapshot
    from ...output.live import PlanInfo

ERASE = "\r\x1b[2K"
"""Moves the cursor to the beginning of the line, and erases the line."""


class StepView(LineView):
    """A view without figures: only lines that users have to know."""

    def show(self, snapshot: Snapshot) -> None:
        """Show no figures: the line of the probe does."""


class ProbeView(StepView):
    """A view that redraws the last line of a terminal."""

    interval_secs = 0.5

    def __init__(self, info: PlanInfo, write: Callable[[str], object], stream: TextIO) -> None:
        """Draw on ``stream``; lines that stay are printed with ``write``."""
        super().__init__(info, write)
        self._stream = stream

    def show(self, snapshot: Snapshot) -> None:
        """Draw the figures, as much of them as the line holds."""
        width = shutil.get_terminal_size().columns - 1
        self._draw(line(self._info, snapshot)[:width])

    def tell(self, text: str) -> None:
        """Print a line that stays."""
        self.close()
        super().tell(text)

    def close(self) -> None:
        """Erase the line."""
        self._draw("")

    def _draw(self, text: str) -> None:
        self._stream.write(ERASE + text)
        self._stream.flush()
