"""All sinks of a command: one thread reads the log for them."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Protocol, TextIO

from ...control.terminal import note, safe_lines, say
from .live_run import LiveRun
from .metric_server import MetricServer
from .outs import FORMATS
from .table_file import TableFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ...control.protocols import Session
    from .outs import Out

PERIOD_SECS = 1.0
"""Interval between two reads of the log."""
BUSY_FACTOR = 20
"""Minimum pause after a read, as a multiple of its duration: at most 5 % of a core."""
READ_END_SECS = 10.0
"""Timeout of the last read."""
FINISH_SECS = 5.0
"""Timeout of all sinks together to take the last points."""


class Sink(Protocol):
    """A place that takes the figures of a run."""

    label: str

    def take(self, live_run: LiveRun) -> None:
        """Hand on what is new; never waits."""

    def finish(self, live_run: LiveRun | None) -> None:
        """Hand on the rest; None when the end of the log cannot be read. Never waits."""

    def wait(self, deadline: float) -> None:
        """Wait until all is taken."""

    def trouble(self) -> str | None:
        """Say what was wrong and how much is missing; None when nothing is."""

    def summary(self) -> str:
        """Say how much was taken."""


class LiveSinks:
    """The sinks of one run and the thread that reads its log."""

    def __init__(self, sinks: Sequence[Sink], live_run: LiveRun) -> None:
        """Start the thread."""
        self._sinks = sinks
        self._so_far = live_run
        self._has_ended = threading.Event()
        self._is_read = False
        self._why = ""
        self._reader = threading.Thread(target=self._read, name="out", daemon=True)
        self._reader.start()

    def finish(self) -> None:
        """Let each sink take the rest, and print how it went. Waits a bounded time."""
        self._has_ended.set()
        self._reader.join(READ_END_SECS)
        live_run = self._so_far if self._is_read and not self._reader.is_alive() else None
        deadline = monotonic() + FINISH_SECS
        troubles = [self._attempt(partial(sink.finish, live_run)) for sink in self._sinks]
        for sink, unfinished in zip(self._sinks, troubles, strict=True):
            trouble = unfinished or self._attempt(partial(sink.wait, deadline)) or sink.trouble()
            if trouble is None:
                note(f"out {safe_lines(sink.label)}: {sink.summary()}")
            else:
                unread = f" ({safe_lines(self._why)})" if live_run is None and self._why else ""
                say(f"warning: --out {safe_lines(sink.label)}: {safe_lines(trouble)}{unread}")

    @staticmethod
    def _attempt(step: Callable[[], None]) -> str | None:
        """Do a step of a sink; returns what was wrong, for a sink never touches the run."""
        try:
            step()
        except Exception as error:  # noqa: BLE001
            return _words(error)
        return None

    def _read(self) -> None:
        pause = PERIOD_SECS
        while not self._has_ended.wait(pause):
            begun = monotonic()
            self._is_read = self._refresh()
            for sink in self._sinks if self._is_read else ():
                try:
                    sink.take(self._so_far)
                except Exception as error:  # noqa: BLE001  (the last read tries again)
                    self._why = _words(error)
            pause = max(PERIOD_SECS, BUSY_FACTOR * (monotonic() - begun))
        self._is_read = self._refresh(is_last=True)

    def _refresh(self, *, is_last: bool = False) -> bool:
        try:
            self._so_far.refresh(is_last=is_last)
        except Exception as error:  # noqa: BLE001  (a fault of the log is the follower's to report)
            self._why = _words(error)
            return False
        return True


@contextmanager
def live_sinks(outs: Sequence[Out], session: Session, run: str, stdout: TextIO) -> Iterator[None]:
    """Write the outputs for the length of the block.

    A user who leaves at once does not wait for them.
    """
    if not outs:
        yield
        return
    opened: list[Sink] = [
        TableFile(out, stdout) if out.kind in FORMATS else MetricServer(out) for out in outs
    ]
    sinks = LiveSinks(opened, LiveRun(session, run))
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException:
        sinks.finish()
        raise
    sinks.finish()


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
