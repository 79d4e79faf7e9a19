"""The cumulative figures of a run, sent to a server of metrics every two seconds over HTTP.

A message that a server does not take costs resolution and no count: the next one has all counts
again. Must never show the password of an address.
"""

from __future__ import annotations

import base64
import http.client
import ssl
import threading
from contextlib import suppress
from http import HTTPStatus
from time import monotonic, time_ns
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ... import _native
from ...control.figures import count, plural
from .outs import FLAG
from .worker import Worker

if TYPE_CHECKING:
    from .live_run import LiveRun
    from .outs import Out

PUSH_SECS = 2.0
"""Interval between two messages."""
TIMEOUT_SECS = 5.0
"""Timeout for a server to accept a connection, and for each part of its response."""
TRIES = 3
"""Maximum number of times that a message is sent; a server that is silent gets it once."""
RETRY_SECS = 0.5
"""Delay of the first retry; each further one is twice as long."""
ANSWER_BYTES_MAX = 1 << 16
"""Maximum number of bytes that are read of a response."""
WHY_CHARS_MAX = 200
"""Maximum length of a server's words in a line, in characters."""
HEADERS = {
    "prometheus": {
        "Content-Type": "application/x-protobuf",
        "Content-Encoding": "snappy",
        "X-Prometheus-Remote-Write-Version": "0.1.0",
    },
    "otlp": {"Content-Type": "application/x-protobuf"},
}


class NotTaken(Exception):
    """A server did not take a message; the text says why."""

    def __init__(self, why: str, *, may_retry: bool) -> None:
        """Take the reason, and whether the same message may be taken later."""
        super().__init__(why)
        self.may_retry = may_retry


class Connection:
    """A connection to a server, opened again when it closed. Used by one thread."""

    def __init__(self, out: Out) -> None:
        """Open nothing yet."""
        self._out = out
        self._open: http.client.HTTPConnection | None = None

    def post(self, body: bytes) -> bytes:
        """Send a message and read the response; raises NotTaken."""
        try:
            status, answer = self._exchange(body)
        except TimeoutError:
            self.close()
            raise NotTaken(f"no response within {TIMEOUT_SECS:.0f} s", may_retry=False) from None
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise NotTaken(_words(error), may_retry=True) from None
        except ValueError as error:  # an address that cannot be encoded
            self.close()
            raise NotTaken(_words(error), may_retry=False) from None
        if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            return answer
        may_retry = status >= HTTPStatus.INTERNAL_SERVER_ERROR
        may_retry |= status == HTTPStatus.TOO_MANY_REQUESTS
        words = answer.decode("utf-8", "replace").strip().split("\n", 1)[0][:WHY_CHARS_MAX]
        raise NotTaken(f"it answered {status}{': ' if words else ''}{words}", may_retry=may_retry)

    def close(self) -> None:
        """Close it."""
        if self._open is not None:
            with suppress(OSError):
                self._open.close()
        self._open = None

    def _exchange(self, body: bytes) -> tuple[int, bytes]:
        was_open = self._open is not None
        if self._open is None:
            self._open = self._connect()
        try:
            self._open.request("POST", self._path(), body, self._headers())
            response = self._open.getresponse()
        except (http.client.RemoteDisconnected, ConnectionError):
            if not was_open:
                raise
            # The server closed the idle connection.
            self.close()
            return self._exchange(body)
        answer = response.read(ANSWER_BYTES_MAX)
        if response.will_close or not response.isclosed():
            self.close()
        return response.status, answer

    def _connect(self) -> http.client.HTTPConnection:
        url = self._out.url
        host, port = url.hostname or "", url.port
        if url.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECS)
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, port, timeout=TIMEOUT_SECS, context=context)

    def _path(self) -> str:
        url = self._out.url
        return f"{url.path}?{url.query}" if url.query else url.path

    def _headers(self) -> dict[str, str]:
        url = self._out.url
        headers = {**HEADERS[self._out.kind], "User-Agent": f"loadpilot/{_native.VERSION}"}
        if url.username is not None:
            pair = f"{unquote(url.username)}:{unquote(url.password or '')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        return headers


class MetricServer:
    """The sink of ``prometheus`` and ``otlp``."""

    flag = FLAG

    def __init__(self, out: Out) -> None:
        """Start its thread."""
        self.label = out.label
        self._kind = out.kind
        self._connection = Connection(out)
        self._worker = Worker(f"out {out.kind}")
        self._is_closing = threading.Event()
        self._next_at = 0.0
        self._offered = 0
        """Number of points that the server should have."""
        self._taken = 0
        self._has_last = False
        """Whether the log was read to its end; a run that never started has no figures."""
        self._why: str | None = None
        """Why the server did not take a message, for the newest such message."""

    def take(self, live_run: LiveRun) -> None:
        """Send the figures as of now, unless the last ones are newer than PUSH_SECS."""
        if monotonic() < self._next_at:
            return
        self._next_at = monotonic() + PUSH_SECS - 0.5
        message = self._message(live_run)
        if message is not None:
            body, points = message
            self._offered += points
            self._worker.offer(lambda: self._send(body, points))

    def finish(self, live_run: LiveRun | None) -> None:
        """Send the figures of the whole run next: messages that wait have older counts."""
        self._is_closing.set()
        self._worker.drop()
        message = None if live_run is None else self._message(live_run)
        self._has_last = live_run is not None
        body, points = message or (b"", 0)
        self._offered += points
        self._worker.end(lambda: self._end(body, points))

    def wait(self, deadline: float) -> None:
        """Wait until all is sent."""
        if not self._worker.wait(deadline):
            self._why = self._why or "it took too long to respond"

    def trouble(self) -> str | None:
        """Return what was wrong and how many points are missing; None when none is."""
        missed = self._offered - self._taken
        if missed:
            why = self._why or "it was too slow"
            return f"{why}; it misses {count(missed)} of {plural(self._offered, 'point')}"
        return None if self._has_last else "it misses the figures of the whole run"

    def summary(self) -> str:
        """Return how much was sent."""
        return plural(self._taken, "point")

    def _message(self, live_run: LiveRun) -> tuple[bytes, int] | None:
        return live_run.reading.metrics(self._kind, time_ns() // 1000)  # type: ignore[arg-type]

    def _end(self, body: bytes, points: int) -> None:
        if points:
            self._send(body, points)
        self._connection.close()

    def _send(self, body: bytes, points: int) -> None:
        for tried in range(1, TRIES + 1):
            try:
                answer = self._connection.post(body)
            except NotTaken as error:
                is_last = tried == TRIES or not error.may_retry
                # At the end there is one retry, at once.
                delay = RETRY_SECS * 2 ** (tried - 1)
                if is_last or (self._is_closing.wait(delay) and tried > 1):
                    self._why = str(error)
                    return
            else:
                self._taken += points - self._rejected(answer, points)
                return

    def _rejected(self, answer: bytes, points: int) -> int:
        """Count the points that a server reports as not taken."""
        if self._kind != "otlp":
            return 0
        rejected = _native.otlp_rejected(answer)
        if rejected is None:
            return 0
        self._why = f"it rejected points: {rejected[1][:WHY_CHARS_MAX]}"
        return min(points, rejected[0])


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
