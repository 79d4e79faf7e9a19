"""Ctrl-C and SIGTERM, counted: once means stop, twice means abort, more means now.

The handler only counts, so that nothing is torn in the middle; every wait of the command line is
short and looks at the count.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Self

from .exit_code import ExitCode

if TYPE_CHECKING:
    from types import FrameType

SIGNALS = {signal.SIGINT: ExitCode.INTERRUPTED, signal.SIGTERM: ExitCode.TERMINATED}
NOW = 3
"""This many interruptions mean that the user does not want to wait for anything."""


class Interruptions:
    """How often, and by what first, the user asked to end; active inside a with block."""

    def __init__(self) -> None:
        """Start with none."""
        self.count = 0
        self.first: ExitCode | None = None
        self._before: dict[signal.Signals, signal._HANDLER] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._heard) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def any(self) -> bool:
        """Whether there was any."""
        return self.count > 0

    def _heard(self, number: int, _frame: FrameType | None) -> None:
        self.count += 1
        self.first = self.first or SIGNALS[signal.Signals(number)]
        if self.count >= NOW:
            raise KeyboardInterrupt
