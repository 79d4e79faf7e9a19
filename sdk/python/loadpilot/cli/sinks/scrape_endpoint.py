"""``--metrics HOST:PORT``: the runs of this command, for a Prometheus that scrapes it.

The endpoint serves from the first run of the command to the end of the command, which waits a while
for a last scrape. Must never touch a run: a port that is taken, a scrape that is slow and one that
fails cost figures only.
"""

from __future__ import annotations

import ipaddress
import math
import threading
from collections import OrderedDict
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Any

from ... import _native
from ...control.figures import plural
from ...control.terminal import note, safe_lines, say
from .outs import LOOPBACK, METRICS, split_address

if TYPE_CHECKING:
    from collections.abc import Callable
    from email.message import Message
    from socket import socket

    from .live_run import LiveRun
    from .outs import Out

PATH = "/metrics"
CONNECTIONS_MAX = 8
"""Maximum number of scrapes at a time; further connections are closed."""
TIMEOUT_SECS = 5.0
"""Timeout for a request, and for its answer to be read."""
CLOSE_SECS = 0.1
"""Maximum time until a closed listener ends."""
FRESH_SECS = 1.0
"""Minimum interval between two computations of figures, however many scrapes there are."""
BUSY_FACTOR = 20
"""Minimum interval, too, as a multiple of the time that the last one took: 5 % of a core."""
RUNS_MAX = 20
"""Maximum number of runs that are shown: the newest ones."""
LAST_SCRAPE_SECS = 20.0
"""Maximum time that the end of the command waits for a last scrape."""
LAST_SCRAPE_POLL_SECS = 0.1
SCRAPES_KEPT = 9
"""Number of scrapes whose times are kept, for the intervals between them."""
SLACK_SECS = 0.5
"""Delay of a scrape up to which it is still expected."""
TIMELY_PART = 0.5
"""Part of the scraper's timeout in which an answer must be sent: the network needs the rest."""
SCRAPE_TIMEOUT = "X-Prometheus-Scrape-Timeout-Seconds"
"""Header with the time after which Prometheus drops an answer."""


class ShownRun:
    """One run as it is shown."""

    def __init__(self) -> None:
        """Start without figures."""
        self._reading: _native.Reading | None = None
        self._figures: _native.MetricFigures | None = None
        self._next_at = 0.0
        self._lock = threading.Lock()

    def read(self, reading: _native.Reading) -> None:
        """Show the figures of this reading, which go on as the log is read."""
        with self._lock:
            self._reading = reading

    def finish(self, reading: _native.Reading) -> None:
        """Show the whole run; the reading is not used any more."""
        figures = reading.figures("command", now_us())
        with self._lock:
            self._reading, self._figures = None, figures

    def figures(self) -> _native.MetricFigures | None:
        """Compute the current figures; recent ones are reused."""
        with self._lock:
            begun = monotonic()
            if self._reading is not None and begun >= self._next_at:
                self._figures = self._reading.figures("command", now_us())
                took = monotonic() - begun
                self._next_at = begun + max(FRESH_SECS, BUSY_FACTOR * took)
            return self._figures


class ScrapeEndpoint:
    """The listener of one command."""

    def __init__(self, place: str) -> None:
        """Listen; raises OSError where that is impossible."""
        self._runs: OrderedDict[str, ShownRun] = OrderedDict()
        self._lock = threading.Lock()
        self._scraped_at: list[float] = []
        """Times of the last SCRAPES_KEPT scrapes."""
        self._delivered_at = 0.0
        """Time of the last scrape that was answered within half of the scraper's timeout."""
        self._changed_at = monotonic()
        """When the last run ended."""
        self.scrapes = 0
        host, port = split_address(place)
        self._server = Server((host, port), self)
        serve = partial(self._server.serve_forever, CLOSE_SECS)
        threading.Thread(target=serve, name="metrics", daemon=True).start()

    def run(self, run: str) -> ShownRun:
        """Show one more run."""
        with self._lock:
            shown = self._runs.setdefault(run, ShownRun())
            while len(self._runs) > RUNS_MAX:
                self._runs.popitem(last=False)
            return shown

    def ended(self) -> None:
        """Record that the figures are final and not scraped yet."""
        self._changed_at = monotonic()

    def answer(self, accept: str, asked_at: float) -> tuple[str, bytes]:
        """Write the figures of all runs for a scrape of this time: media type and body."""
        with self._lock:
            runs = list(self._runs.values())
        figures = [found for run in runs if (found := run.figures()) is not None]
        answer = _native.exposition(accept, figures)
        self.scrapes += 1
        self._scraped_at = [*self._scraped_at, asked_at][-SCRAPES_KEPT:]
        return answer

    def delivered(self, asked_at: float, timeout_secs: float) -> None:
        """Note that the answer to a scrape was sent; late ones may reach no scraper in time."""
        if monotonic() < asked_at + timeout_secs * TIMELY_PART:
            self._delivered_at = asked_at

    def wait_for_last_scrape(self, is_interrupted: Callable[[], bool]) -> None:
        """Wait until the final figures were scraped, if scrapes are expected soon.

        Scrapes at uneven intervals are those of several scrapers: all of them come within the
        longest interval.
        """
        seen = self._scraped_at
        gaps = [after - before for before, after in pairwise(seen)]
        gaps = [gap for gap in gaps if gap <= LAST_SCRAPE_SECS]
        if not gaps:
            return
        interval = max(gaps)
        is_even = min(gaps) > interval / 2
        all_by = self._changed_at + (0.0 if is_even else interval + SLACK_SECS)
        give_up = min(seen[-1], monotonic()) + min(2 * interval + 1, LAST_SCRAPE_SECS)
        pause = threading.Event()
        while (now := monotonic()) < give_up:
            if is_interrupted() or (self._delivered_at >= self._changed_at and now >= all_by):
                return
            pause.wait(LAST_SCRAPE_POLL_SECS)

    def close(self) -> None:
        """Close the port."""
        self._server.shutdown()
        self._server.server_close()


class Server(ThreadingHTTPServer):
    """A server of few connections, each on a thread."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], endpoint: ScrapeEndpoint) -> None:
        """Listen; raises OSError."""
        if ":" in address[0]:
            import socket  # noqa: PLC0415  (most addresses are of IPv4)

            self.address_family = socket.AF_INET6
        self._free = threading.BoundedSemaphore(CONNECTIONS_MAX)
        handler = type("Handler", (Scrape,), {"endpoint": endpoint})
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection on a thread, or close it when there are too many."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        """Ignore a broken connection: the scraper scrapes again."""


class Scrape(BaseHTTPRequestHandler):
    """One scrape."""

    timeout = TIMEOUT_SECS
    server_version = f"loadpilot/{_native.VERSION}"
    sys_version = ""
    endpoint: ScrapeEndpoint

    def do_GET(self) -> None:
        """Answer with the metrics, to callers that address this machine as such."""
        if not is_loopback(self.headers.get("Host", "")):
            # A page in a browser may have another name resolve to this machine.
            self._answer(HTTPStatus.FORBIDDEN, "text/plain", b"Host must be a loopback address\n")
        elif self.path.partition("?")[0] != PATH:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"the metrics are at /metrics\n")
        else:
            asked_at = monotonic()
            try:
                kind, body = self.endpoint.answer(self.headers.get("Accept", ""), asked_at)
            except (RuntimeError, ValueError) as error:
                why = f"{safe_lines(str(error))}\n".encode()
                self._answer(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", why)
            else:
                self._answer(HTTPStatus.OK, kind, body)
                self.endpoint.delivered(asked_at, timeout_secs(self.headers))

    def log_message(self, *_: object) -> None:
        """Print nothing: the terminal has the live view."""

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class ScrapeSink:
    """The sink of ``--metrics``: shows one run at the endpoint of the command."""

    flag = METRICS

    def __init__(self, out: Out, run: str) -> None:
        """Open the endpoint, unless an earlier run did."""
        self.label = out.place
        self._run = run
        self._endpoint = opened(out.place)
        self._is_whole = False

    def take(self, live_run: LiveRun) -> None:
        """Show the figures that were read."""
        if self._endpoint is not None:
            self._endpoint.run(self._run).read(live_run.reading)

    def finish(self, live_run: LiveRun | None) -> None:
        """Show the whole run."""
        if self._endpoint is not None and live_run is not None:
            self._endpoint.run(self._run).finish(live_run.reading)
            self._endpoint.ended()
        self._is_whole = live_run is not None

    def wait(self, deadline: float) -> None:
        """Nothing is sent."""

    def trouble(self) -> str | None:
        """Return a text if the end is missing; a taken port was reported at the start."""
        is_lacking = self._endpoint is not None and not self._is_whole
        return "it misses the figures of the whole run" if is_lacking else None

    def summary(self) -> str:
        """Return "": the endpoint prints its number of scrapes at the end of the command."""
        return ""


_ENDPOINTS: dict[str, ScrapeEndpoint | None] = {}
"""The endpoint of this command by its address; None where it could not listen."""


def opened(place: str) -> ScrapeEndpoint | None:
    """Return the endpoint of the command; the first call opens it, or warns that it cannot."""
    if place not in _ENDPOINTS:
        try:
            _ENDPOINTS[place] = ScrapeEndpoint(place)
        except OSError as error:
            why = error.strerror or str(error)
            say(f"warning: {METRICS} {place}: {safe_lines(why)}; the run goes on without")
            _ENDPOINTS[place] = None
    return _ENDPOINTS[place]


def close_endpoints(is_interrupted: Callable[[], bool]) -> None:
    """Wait for a scrape of the final figures, and close all ports, at the end of a command."""
    while _ENDPOINTS:
        place, endpoint = _ENDPOINTS.popitem()
        if endpoint is not None:
            endpoint.wait_for_last_scrape(is_interrupted)
            endpoint.close()
            note(f"metrics {place}: {plural(endpoint.scrapes, 'scrape')}")


def now_us() -> int:
    """Return the time in µs since 1970."""
    return time_ns() // 1000


def timeout_secs(headers: Message) -> float:
    """Return how long the scraper waits for its answer, in seconds; infinite if not stated."""
    try:
        return float(headers.get(SCRAPE_TIMEOUT, "inf"))
    except ValueError:
        return math.inf


def is_loopback(host_header: str) -> bool:
    """Whether the header Host names a loopback address; without the header, too."""
    host = host_header.rpartition(":")[0] if not host_header.endswith("]") else host_header
    host = (host or host_header).strip("[]").lower()
    if not host or host in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
