"""The live view on a terminal: frames drawn in place, four a second.

The block has no state of its own in the terminal: the cursor stays visible, and lines wrap again
after each frame, so that a command that is killed leaves nothing to repair. Following a run must
never wait for its terminal.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from ....control.terminal import safe, wants_colour
from ..live import line
from .cells import painted, width_of
from .frame import Size, frame
from .output import TerminalOutput
from .rows import Moment
from .trend import Second, extended

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from ...._generated.report import ThresholdResult
    from ...._generated.snapshot import Snapshot
    from ..live import PlanInfo

FRAME_SECS = 0.25
"""Interval between two frames."""
LINE_SECS = 1.0
"""Interval between two lines on a terminal that is too small for frames."""
UNKNOWN = Size(80, 24)
"""Size of a terminal that does not know its own."""
WRAP, NO_WRAP, ERASE_LINE, ERASE_BELOW = "\x1b[?7h", "\x1b[?7l", "\x1b[K", "\x1b[J"


class ScreenView:
    """A view that redraws a block of lines below what was printed."""

    interval_secs = FRAME_SECS

    def __init__(
        self,
        info: PlanInfo,
        stream: TextIO,
        now: Callable[[], float] = monotonic,
        *,
        speed: float = 1.0,
    ) -> None:
        """Draw on a terminal, from the line of the cursor on, until closed.

        ``speed`` is the time of the run per time of ``now``: another one for a replay.
        """
        self._info = info
        self.shows_gates = bool(info.gates) and info.judges
        self._output = TerminalOutput(stream)
        self._now = now
        self._speed = speed
        self._colour = wants_colour(stream)
        self._snapshot: Snapshot | None = None
        self._shown_at = 0.0
        self._trend: tuple[Second, ...] = ()
        self._gates: tuple[ThresholdResult, ...] | None = None
        self._judged_secs = 0.0
        self._drawn_at = 0.0
        self._drawn: list[int] = []
        """The cells of each line of the block."""
        self._told: list[str] = []
        """Lines that wait to be printed above the block."""

    def show(self, snapshot: Snapshot) -> None:
        """Draw the run as of now."""
        is_new = self._snapshot is None or snapshot["state"] != self._snapshot["state"]
        self._snapshot, self._shown_at = snapshot, self._now()
        self._trend = extended(self._trend, snapshot)
        if is_new:
            self._drawn_at = 0.0
        self.refresh()

    def judge(self, gates: list[ThresholdResult]) -> None:
        """Take the gates as they stand, for the next frame."""
        self._gates, self._judged_secs = tuple(gates), self._elapsed_secs()

    def tell(self, text: str) -> None:
        """Print a line above the block."""
        self._told.append(safe(text))
        self._draw()

    def refresh(self) -> None:
        """Draw the next frame if it is due."""
        if self._now() - self._drawn_at >= FRAME_SECS * 0.9:
            self._draw()

    def close(self) -> None:
        """Remove the block."""
        self._snapshot = None
        self._output.write(self._removed() + self._printed())
        self._output.close()

    def _draw(self) -> None:
        # What a slow terminal has not taken is never followed by another frame.
        if not self._output.is_free():
            return
        size = self._size()
        if size.is_enough:
            self._drawn_at = self._now()
            self._output.write(self._framed(size))
        else:
            self._output.write(self._lined())

    def _framed(self, size: Size) -> str:
        """Write the frame over the one before."""
        snapshot = self._snapshot
        if snapshot is None:
            return self._removed(size) + self._printed()
        text = self._removed(size) + self._printed() if self._told else self._back(size)
        elapsed_secs = self._elapsed_secs()
        moment = Moment(snapshot, elapsed_secs, self._gates, self._judged_secs, self._trend)
        lines = frame(self._info, moment, size)
        self._drawn = [width_of(one) for one in lines]
        rows = (f"{painted(one, colour=self._colour)}{ERASE_LINE}\r\n" for one in lines)
        return f"{text}{NO_WRAP}{''.join(rows)}{WRAP}{ERASE_BELOW}"

    def _lined(self) -> str:
        """Write the figures as a line, once a second."""
        text = self._removed() + self._printed()
        if self._snapshot is None or self._now() - self._drawn_at < LINE_SECS:
            return text
        self._drawn_at = self._now()
        return text + line(self._info, self._snapshot) + "\r\n"

    def _removed(self, size: Size | None = None) -> str:
        """Erase the block; the cursor is then where it began."""
        if not self._drawn:
            return ""
        text = self._back(size or self._size()) + ERASE_BELOW
        self._drawn = []
        return text

    def _back(self, size: Size) -> str:
        """Move the cursor to the first row of the block.

        A terminal that became narrower has wrapped its lines.
        """
        rows = sum(max(1, -(-cells // size.columns)) for cells in self._drawn)
        return f"\r\x1b[{rows}A" if rows else "\r"

    def _printed(self) -> str:
        """Take the lines that wait, to be printed where the cursor is."""
        text = "".join(f"{one}\r\n" for one in self._told)
        self._told = []
        return text

    def _elapsed_secs(self) -> float:
        """Compute the time of the run: that of the snapshot, moved on."""
        snapshot = self._snapshot
        if snapshot is None:
            return 0.0
        elapsed_secs = snapshot["elapsed_secs"]
        passed_secs = (self._now() - self._shown_at) * self._speed
        return elapsed_secs + (passed_secs if elapsed_secs > 0 else 0.0)

    def _size(self) -> Size:
        columns, rows = self._output.size()
        return Size(columns, rows) if columns and rows else UNKNOWN
