"""All sinks of a command: one thread reads the log for them."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Protocol, TextIO

from ... import _native
from ...control.terminal import note, safe_lines, say
from .live_run import LiveRun

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

    flag: str
    label: str

    def take(self, live_run: LiveRun) -> None:
        """Hand on new figures; never waits."""

    def finish(self, live_run: LiveRun | None) -> None:
        """Hand on the rest; None when the end of the log cannot be read. Never waits."""

    def wait(self, deadline: float) -> None:
        """Wait until all is taken."""

    def trouble(self) -> str | None:
        """Return what was wrong and how much is missing; None when nothing is missing."""

    def summary(self) -> str:
        """Return how much was taken; empty where the end of the command prints it."""


def open_sink(out: Out, run: str, stdout: TextIO) -> Sink:
    """Open the sink of an output. Runs without one do not wait for these imports."""
    from .outs import FORMATS, SCRAPED

    if out.kind == SCRAPED:
        from .scrape_endpoint import ScrapeSink

        return ScrapeSink(out, run)
    if out.kind in FORMATS:
        from .table_file import TableFile

        return TableFile(out, stdout)
    from .metric_server import MetricServer

    return MetricServer(out)


class LiveSinks:
    """The sinks of one run, and a thread that reads its log for them."""

    def __init__(self, outs: Sequence[Out], run: str, stdout: TextIO) -> None:
        """Open the sinks; nothing is read yet."""
        self._sinks = [open_sink(out, run, stdout) for out in outs]
        self._live_run = LiveRun(run)
        self._has_ended = threading.Event()
        self._reader: threading.Thread | None = None
        self._is_whole = False
        """Whether the log was read to its end."""

    @contextmanager
    def reading(self, session: Session) -> Iterator[None]:
        """Read the log for the length of the block."""
        if not self._sinks:
            yield
            return
        self._live_run.open(session)
        self._reader = threading.Thread(target=self._read, name="out", daemon=True)
        self._reader.start()
        try:
            yield
        finally:
            self._has_ended.set()

    def finish(self, session: Session) -> None:
        """Hand the rest of the log to each sink, and print its result."""
        if self._sinks:
            why = _attempt(partial(self.read_rest, session))
            if why is None:
                self._end(self._live_run)
            else:
                self.leave(why)

    def read_rest(self, session: Session) -> None:
        """Read the log of a run that is over to its end, once; raises Fault, Refused."""
        if not self._sinks or self._is_whole:
            return
        if self._reader is not None:
            self._reader.join(READ_END_SECS)
            if self._reader.is_alive():
                raise _native.Fault("the log does not answer")
        self._live_run.open(session)
        self._live_run.refresh(is_last=True)
        self._is_whole = True

    def leave(self, why: str) -> None:
        """End all sinks without the rest of the run."""
        self._end(None, why)

    def _end(self, live_run: LiveRun | None, why: str = "") -> None:
        deadline = monotonic() + FINISH_SECS
        troubles = [_attempt(partial(sink.finish, live_run)) for sink in self._sinks]
        for sink, unfinished in zip(self._sinks, troubles, strict=True):
            trouble = unfinished or _attempt(partial(sink.wait, deadline)) or sink.trouble()
            if trouble is None:
                if summary := sink.summary():
                    note(f"{sink.flag.strip('-')} {safe_lines(sink.label)}: {summary}")
            else:
                unread = f" ({safe_lines(why)})" if why else ""
                label = f"{sink.flag} {safe_lines(sink.label)}"
                say(f"warning: {label}: {safe_lines(trouble)}{unread}")

    def _read(self) -> None:
        pause = PERIOD_SECS
        while not self._has_ended.wait(pause):
            begun = monotonic()
            # A step that fails here is tried again at the end.
            if _attempt(self._live_run.refresh) is None:
                for sink in self._sinks:
                    _attempt(partial(sink.take, self._live_run))
            pause = max(PERIOD_SECS, BUSY_FACTOR * (monotonic() - begun))


@contextmanager
def live_sinks(outs: Sequence[Out], session: Session, run: str, stdout: TextIO) -> Iterator[None]:
    """Write the outputs of a run for the length of the block.

    A user who leaves at once does not wait for them.
    """
    sinks = LiveSinks(outs, run, stdout)
    try:
        with sinks.reading(session):
            yield
    except KeyboardInterrupt:
        raise
    except BaseException:
        sinks.finish(session)
        raise
    sinks.finish(session)


def _attempt(step: Callable[[], object]) -> str | None:
    """Do a step of a sink; returns its error instead of raising: a sink must not affect the run."""
    try:
        step()
    except Exception as error:  # noqa: BLE001
        return _words(error)
    return None


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
