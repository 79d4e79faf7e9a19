"""Ctrl-C and SIGTERM, counted: the first stops, the second aborts, the third ends at once.

The first two are only counted, so that no step is cut in the middle; every wait of the command line
is short and checks the count.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import threading
from typing import TYPE_CHECKING, Self, TextIO

from .exit_code import ExitCode

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType

SIGNALS = {signal.SIGINT: ExitCode.INTERRUPTED, signal.SIGTERM: ExitCode.TERMINATED}
NOW = 3
"""Number of interruptions at which the command ends without waiting."""


class Interruptions:
    """Number of interruptions and the first of them; active inside a with block."""

    def __init__(self, counted: Mapping[signal.Signals, ExitCode] = SIGNALS) -> None:
        """Start with none; the signals are those of ``counted``."""
        self._counted = counted
        self.count = 0
        self.first: ExitCode | None = None
        self._before: dict[signal.Signals, signal._HANDLER] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._count) for number in self._counted}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def watch_pipe(self, stream: TextIO) -> None:
        """Count the end of the reader of a pipe as an interruption."""
        poll = select.poll()
        # Without an event of its own: only an error wakes it, which a pipe has without a reader.
        poll.register(stream.fileno(), 0)

        def wait() -> None:
            poll.poll()
            self.first = self.first or ExitCode.INTERRUPTED
            self.count += 1

        if stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode):
            threading.Thread(target=wait, name="reader of the output", daemon=True).start()

    def any(self) -> bool:
        """Whether there was any."""
        return self.count > 0

    def _count(self, number: int, _frame: FrameType | None) -> None:
        self.count += 1
        self.first = self.first or self._counted[signal.Signals(number)]
        if self.count >= NOW:
            raise KeyboardInterrupt


class FirstEnds(Interruptions):
    """Interruptions of a command that only reads: the first ends it, and the next is counted."""

    def _count(self, number: int, frame: FrameType | None) -> None:
        super()._count(number, frame)
        if self.count == 1:
            raise KeyboardInterrupt
