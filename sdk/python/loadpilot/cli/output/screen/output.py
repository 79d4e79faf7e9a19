"""Output to a terminal that never waits for it: a terminal may stop taking output (Ctrl-S).

The terminal is opened a second time, since whether a write waits is a property of what was opened,
which other processes share.
"""

from __future__ import annotations

import os
import select
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

CLOSE_SECS = 1.0
"""Timeout for the terminal to take the rest when it is closed."""


class TerminalOutput:
    """Text on its way to a terminal."""

    def __init__(self, stream: TextIO) -> None:
        """Open the terminal of a stream."""
        stream.flush()
        flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK
        try:
            self._fd = os.open(os.ttyname(stream.fileno()), flags)
        except OSError:
            # It belongs to another user (su): writes may wait.
            self._fd = os.dup(stream.fileno())
        self._rest = b""

    def size(self) -> tuple[int, int]:
        """Return columns and rows of the terminal now, 0 if it does not know them."""
        try:
            return os.get_terminal_size(self._fd)
        except OSError:
            return 0, 0

    def is_free(self) -> bool:
        """Whether the terminal has taken all output so far."""
        self._flush()
        return not self._rest

    def write(self, text: str) -> None:
        """Write as much as the terminal takes now, and keep the rest."""
        self._rest += text.encode("utf-8", "backslashreplace")
        self._flush()

    def close(self) -> None:
        """Write the rest, as far as the terminal takes it in time."""
        deadline = monotonic() + CLOSE_SECS
        while not self.is_free() and monotonic() < deadline:
            select.select([], [self._fd], [], max(0.0, deadline - monotonic()))
        os.close(self._fd)

    def _flush(self) -> None:
        try:
            while self._rest:
                self._rest = self._rest[os.write(self._fd, self._rest) :]
        except BlockingIOError:
            pass
        except OSError:
            # The terminal is gone; the run goes on.
            self._rest = b""
