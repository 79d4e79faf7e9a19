"""A run that a coordinator takes over HTTP, owned as long as this command reads the answer.

Secrets travel in the body of one request, over TLS or on loopback only. Must never show a token,
nor follow any run but the one that it requested.
"""

from __future__ import annotations

import http.client
import json
import queue
import socket
import ssl
import threading
from contextlib import suppress
from time import sleep
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from .. import _native
from .coordinator_address import TOKEN_VARIABLE
from .http_teardown_ledger import HttpLedger, encoded

if TYPE_CHECKING:
    from pathlib import Path

    from .coordinator_address import Api
    from .http_teardown_ledger import Beats

POST_BYTES_MAX = 32 << 20
"""Maximum bytes of a request, as the coordinator takes it."""
ANSWER_BYTES_MAX = 256 << 20
"""Maximum bytes of an answer, such as a report."""
SILENT_SECS = 30.0
"""Timeout for a silent coordinator, which sends a line a second."""
RETRIES_MAX = 3
"""Maximum number of times that a request is sent again which a proxy answered with 429."""
RETRY_SECS_MAX = 30
"""Maximum time to wait for that; a longer Retry-After ends the request."""
LINES_MAX = 256
"""Maximum number of lines that wait to be shown."""


class HttpSession:
    """One run at a coordinator over HTTP, and the requests about it."""

    judges: ClassVar[bool] = False

    def __init__(self, api: Api) -> None:
        """Take the address; opens nothing."""
        self._api = api
        self._watch: HttpWatch | None = None
        self._beats: Beats | None = None

    def meet(self) -> None:
        """Check that the coordinator is ready and accepts the token; raises Fault."""
        self.ask("GET", "/readyz")
        self.ask("GET", "/metrics")

    def submit(
        self,
        request_json: str,
        secrets: dict[str, str],
        bodies: dict[str, bytes | Path],
        run: str | None,
    ) -> str:
        """Post the run and begin to follow it."""
        request = json.loads(request_json)
        request.pop("owner", None)  # the coordinator owns it while the answer is read
        request |= {
            "run": run,
            "secrets": secrets,
            "bodies": {sha: encoded(body) for sha, body in bodies.items()},
        }
        if self._beats is not None and self._beats.run == run:
            request["claimant"] = self._beats.claimant
        body = self._written(request)
        connection = self._connection()
        response = self._send(connection, "POST", "/run?events=true", body)
        self._watch = HttpWatch(self._api.place, connection, response)
        return self._watch.accepted()

    def watch(
        self,
        run: str,
        interval_secs: float = 1.0,  # noqa: ARG002
        *,
        gates: bool = False,  # noqa: ARG002
        hold: bool = False,  # noqa: ARG002
    ) -> HttpWatch:
        """Return the stream of the run that this session requested; raises Fault for others.

        The coordinator sends a snapshot a second, and no gates.
        """
        if self._watch is None or self._watch.run != run:
            raise _native.Fault(f"{self._api.place}: only the run that was asked for is followed")
        return self._watch

    def stop(
        self,
        run: str,
        by: str,  # noqa: ARG002  (the coordinator names the author)
        breach: tuple[str, float, float] | None = None,
    ) -> None:
        """Request a stop."""
        if breach is not None:
            raise _native.Fault(f"{self._api.place}: it takes no gate as a reason to stop")
        self.ask("POST", f"/run/{run}/stop")

    def halt(self, run: str) -> None:
        """Abort: calls in flight are cancelled."""
        self.ask("POST", f"/run/{run}/halt")

    def report(self, run: str) -> str:
        """Read the report, as JSON."""
        return self.ask("GET", f"/run/{run}/report").decode()

    def parts(self, run: str) -> str:
        """Build the parts for a comparison from the report alone: over HTTP there is no log."""
        return _native.parts_of_report(self.report(run))

    def read(self, run: str) -> None:
        """Return None: over HTTP there is no log."""

    def samples(self, run: str, path: Path) -> str:
        """Raise Fault: the single calls of a run are not available over HTTP."""
        raise _native.Fault(f"{path}: the calls of {run} are not available at {self._api.place}")

    def read_samples(self, run: str, _slice_json: str, _form: str) -> _native.Samples:
        """Raise Fault: the single calls of a run are not available over HTTP."""
        raise _native.Fault(f"the calls of {run} are not available at {self._api.place}")

    def ledger(self, run: str, claimant: str) -> HttpLedger:
        """Open the teardown record of a run, for the command with this claimant id."""
        return HttpLedger(self, run, claimant)

    def keep_beating(self, beats: Beats) -> None:
        """Keep the beats of a claimant until this is closed, instead of those before."""
        if self._beats is not None:
            self._beats.end()
        self._beats = beats

    def close(self) -> None:
        """Close the connection, which stops a run that is not over, and end the beats."""
        if self._beats is not None:
            self._beats.end()
        if self._watch is not None:
            self._watch.close()

    def _connection(self) -> http.client.HTTPConnection:
        parts = urlsplit(self._api.url)
        host, port = parts.hostname or "", parts.port
        if parts.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=SILENT_SECS)
        try:
            context = ssl.create_default_context(cafile=self._api.cacert)
        except (OSError, ssl.SSLError) as error:
            raise _native.Fault(f"{self._api.cacert}: {error}") from error
        return http.client.HTTPSConnection(host, port, timeout=SILENT_SECS, context=context)

    def _send(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None
    ) -> http.client.HTTPResponse:
        """Send one request; raises Refused or Fault for an error answer.

        One that is answered with 429 was not performed: it is sent again after Retry-After.
        """
        headers = {"Accept": "application/json", "User-Agent": "loadpilot"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self._api.token is not None:
            headers["Authorization"] = f"Bearer {self._api.token}"
        for retries_left in range(RETRIES_MAX, -1, -1):
            try:
                connection.request(method, path, body, headers)
                response = connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                what = str(error) or type(error).__name__
                raise _native.Fault(f"the coordinator at {self._api.place}: {what}") from error
            wait_secs = retry_after(response)
            if wait_secs is None or not retries_left:
                break
            connection.close()
            sleep(wait_secs)
        if response.status < http.client.BAD_REQUEST:
            return response
        try:
            content = response.read(ANSWER_BYTES_MAX)
        except (OSError, http.client.HTTPException):
            content = b""
        connection.close()
        raise self._refusal(response.status, content)

    def _written(self, content: dict[str, Any]) -> bytes:
        """Write the body; raises Refused above POST_BYTES_MAX."""
        body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
        if len(body) > POST_BYTES_MAX:
            raise _native.Refused(
                f"{self._api.place}: a run over HTTP must be at most {POST_BYTES_MAX} bytes with "
                f"its bodies (got {len(body)}); --nats-url has no such limit"
            )
        return body

    def ask(self, method: str, path: str, content: dict[str, Any] | None = None) -> bytes:
        """Send one request, and read the whole answer; raises Refused, Fault."""
        body = None if content is None else self._written(content)
        connection = self._connection()
        try:
            response = self._send(connection, method, path, body)
            try:
                return response.read(ANSWER_BYTES_MAX)
            except (OSError, http.client.HTTPException) as error:
                raise _native.Fault(f"the coordinator at {self._api.place}: {error}") from error
        finally:
            connection.close()

    def _refusal(self, status: int, content: bytes) -> Exception:
        """Build the exception of an error answer."""
        where = f"the coordinator at {self._api.place}"
        if status == http.client.UNAUTHORIZED:
            why = "does not accept this token" if self._api.token else "requires a token"
            advice = f"give its token in env {TOKEN_VARIABLE}, or --coordinator-token-file FILE"
            return _native.Fault(f"{where} {why}; {advice}")
        try:
            answer: dict[str, Any] = json.loads(content)
            problems = [
                f"{one['field']}: {one['rule']} (got {json.dumps(one['value'])})"
                for one in answer.get("problems", [])
            ]
            words = "\n".join([str(answer["error"]), *problems])
        except (ValueError, KeyError, TypeError, AttributeError):
            return _native.Fault(
                f"{where} answers {status} without an error of LoadPilot; is it a coordinator?"
            )
        if status in {http.client.BAD_REQUEST, http.client.REQUEST_ENTITY_TOO_LARGE}:
            return _native.Refused(words)
        return _native.Fault(f"{where}: {words}")


def retry_after(response: http.client.HTTPResponse) -> int | None:
    """Return when to send a request again, in s; None when it is not to be sent again."""
    if response.status != http.client.TOO_MANY_REQUESTS:
        return None
    value = response.headers.get("Retry-After", "").strip()
    is_secs = value.isascii() and value.isdigit()
    return int(value) if is_secs and len(value) < 4 and int(value) <= RETRY_SECS_MAX else None


class HttpWatch:
    """The lines of one answer, read by a thread: a read that timed out cannot be continued."""

    def __init__(
        self,
        place: str,
        connection: http.client.HTTPConnection,
        response: http.client.HTTPResponse,
    ) -> None:
        """Start the thread."""
        self.run = ""
        self._place = place
        self._connection = connection
        self._socket: socket.socket | None = connection.sock
        self._lines: queue.Queue[str | Exception] = queue.Queue(LINES_MAX)
        self._closed = threading.Event()
        reader = threading.Thread(target=self._read, args=(response,), daemon=True)
        reader.start()

    def accepted(self) -> str:
        """Wait until the coordinator accepts the run; returns its id. Raises Fault."""
        first = self.next(SILENT_SECS)
        try:
            self.run = str(json.loads(first or "null")["accepted"])
        except (ValueError, KeyError, TypeError) as error:
            self.close()
            raise _native.Fault(f"the coordinator at {self._place} did not take the run") from error
        return self.run

    def next(self, timeout_secs: float) -> str | None:
        """Wait for the next line; None when there is none in time. Raises Fault."""
        try:
            line = self._lines.get(timeout=timeout_secs)
        except queue.Empty:
            return None
        if isinstance(line, Exception):
            raise line
        if line.startswith('{"fault"'):
            raise _native.Fault(f"the coordinator at {self._place}: {json.loads(line)['fault']}")
        return line

    def close(self) -> None:
        """End the thread, and close the connection."""
        self._closed.set()
        if self._socket is not None:
            with suppress(OSError):  # the coordinator may have closed it
                self._socket.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def _read(self, response: http.client.HTTPResponse) -> None:
        """Queue each line, and at last the reason of the end."""
        why = "it closed the connection"
        try:
            for line in response:
                self._put(line.decode())
        except (OSError, ValueError, http.client.HTTPException) as error:
            why = str(error) or type(error).__name__
        self._put(_native.Fault(f"the coordinator at {self._place}: {why}"))

    def _put(self, line: str | Exception) -> None:
        while not self._closed.is_set():
            with suppress(queue.Full):
                self._lines.put(line, timeout=1)
                return
