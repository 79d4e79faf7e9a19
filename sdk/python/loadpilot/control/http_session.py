"""A run that a coordinator takes over HTTP, alive for as long as its answer is read.

Secrets travel in the body of one request, over TLS or on this machine only. Must never show a
token, nor follow anything but the run that it asked for.
"""

from __future__ import annotations

import http.client
import json
import queue
import socket
import ssl
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from .. import _native
from .coordinator_address import TOKEN_VARIABLE
from .http_teardown_ledger import HttpLedger, encoded

if TYPE_CHECKING:
    from pathlib import Path

    from .coordinator_address import Api
    from .http_teardown_ledger import Life

POST_BYTES_MAX = 32 << 20
"""Most that a coordinator takes in one request."""
ANSWER_BYTES_MAX = 256 << 20
"""Longest answer that is read, a report among them."""
SILENT_SECS = 30.0
"""A coordinator that says nothing for so long is gone: it speaks once a second."""
LINES_MAX = 256
"""Most lines that wait to be shown."""


class HttpSession:
    """One run that a coordinator takes over HTTP, alive while its answer is read."""

    def __init__(self, api: Api) -> None:
        """Take where it is; nothing is opened yet."""
        self._api = api
        self._watch: HttpWatch | None = None
        self._life: Life | None = None

    def meet(self) -> None:
        """Ask whether it is ready, and whether it knows us; raises Fault."""
        self.ask("GET", "/readyz")
        self.ask("GET", "/metrics")

    def submit(
        self,
        request_json: str,
        secrets: dict[str, str],
        bodies: dict[str, bytes],
        run: str | None,
    ) -> str:
        """Post the run and begin to follow it."""
        asked = json.loads(request_json)
        asked.pop("owner", None)  # whoever reads the answer is
        asked |= {
            "run": run,
            "secrets": secrets,
            "bodies": {sha: encoded(body) for sha, body in bodies.items()},
        }
        if self._life is not None and self._life.run == run:
            asked["claimant"] = self._life.claimant
        body = self._written(asked)
        connection = self._connection()
        response = self._send(connection, "POST", "/run?events=true", body)
        self._watch = HttpWatch(self._api.place, connection, response)
        return self._watch.accepted()

    def watch(self, run: str) -> HttpWatch:
        """Follow the run that was asked for."""
        if self._watch is None or self._watch.run != run:
            raise _native.Fault(f"{self._api.place}: only the run that was asked for is followed")
        return self._watch

    def stop(self, run: str, by: str) -> None:  # noqa: ARG002  (it writes who asked by itself)
        """Ask for a stop."""
        self.ask("POST", f"/run/{run}/stop")

    def halt(self, run: str) -> None:
        """Abort it."""
        self.ask("POST", f"/run/{run}/halt")

    def report(self, run: str) -> str:
        """Read its report."""
        return self.ask("GET", f"/run/{run}/report").decode()

    def samples(self, run: str, path: Path) -> str:
        """Refuse: a coordinator hands out no single calls."""
        raise _native.Fault(f"{path}: {self._api.place} does not hand out the calls of {run}")

    def ledger(self, run: str, claimant: str) -> HttpLedger:
        """Open what a run owes, for a command of this name."""
        return HttpLedger(self, run, claimant)

    def lives(self, life: Life) -> None:
        """Let it be said until this is closed that whoever owes a teardown lives."""
        if self._life is not None:
            self._life.end()
        self._life = life

    def close(self) -> None:
        """Go away: a run that is not over is stopped."""
        if self._life is not None:
            self._life.end()
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
        """Send one request; raises Refused or Fault unless the answer is a good one."""
        headers = {"Accept": "application/json", "User-Agent": "loadpilot"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self._api.token is not None:
            headers["Authorization"] = f"Bearer {self._api.token}"
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            what = str(error) or type(error).__name__
            raise _native.Fault(f"the coordinator at {self._api.place}: {what}") from error
        if response.status < http.client.BAD_REQUEST:
            return response
        try:
            told = response.read(ANSWER_BYTES_MAX)
        except (OSError, http.client.HTTPException):
            told = b""
        connection.close()
        raise self._refusal(response.status, told)

    def _written(self, asked: dict[str, Any]) -> bytes:
        """Write what is posted; raises Refused where that is more than a coordinator takes."""
        body = json.dumps(asked, ensure_ascii=False, separators=(",", ":")).encode()
        if len(body) > POST_BYTES_MAX:
            raise _native.Refused(
                f"{self._api.place}: a run over HTTP must be at most {POST_BYTES_MAX} bytes with "
                f"its bodies (got {len(body)}); --nats-url has no such limit"
            )
        return body

    def ask(self, method: str, path: str, asked: dict[str, Any] | None = None) -> bytes:
        """Ask for something that is answered at once; raises Refused, Fault."""
        body = None if asked is None else self._written(asked)
        connection = self._connection()
        try:
            response = self._send(connection, method, path, body)
            try:
                return response.read(ANSWER_BYTES_MAX)
            except (OSError, http.client.HTTPException) as error:
                raise _native.Fault(f"the coordinator at {self._api.place}: {error}") from error
        finally:
            connection.close()

    def _refusal(self, status: int, told: bytes) -> Exception:
        """Put an answer that says no into words."""
        where = f"the coordinator at {self._api.place}"
        if status == http.client.UNAUTHORIZED:
            shown_one = "does not accept this token" if self._api.token else "asks who you are"
            advice = f"give its token in env {TOKEN_VARIABLE}, or --coordinator-token-file FILE"
            return _native.Fault(f"{where} {shown_one}; {advice}")
        try:
            answer: dict[str, Any] = json.loads(told)
            problems = [
                f"{one['field']}: {one['rule']} (got {json.dumps(one['value'])})"
                for one in answer.get("problems", [])
            ]
            words = "\n".join([str(answer["error"]), *problems])
        except (ValueError, KeyError, TypeError, AttributeError):
            return _native.Fault(f"{where} answers {status}, as none of ours does")
        if status in {http.client.BAD_REQUEST, http.client.REQUEST_ENTITY_TOO_LARGE}:
            return _native.Refused(words)
        return _native.Fault(f"{where}: {words}")


class HttpWatch:
    """The lines of one answer; a thread reads them, since a read with a time-out cannot go on."""

    def __init__(
        self,
        place: str,
        connection: http.client.HTTPConnection,
        response: http.client.HTTPResponse,
    ) -> None:
        """Begin to read."""
        self.run = ""
        self._place = place
        self._connection = connection
        self._socket: socket.socket | None = connection.sock
        self._lines: queue.Queue[str | Exception] = queue.Queue(LINES_MAX)
        self._closed = threading.Event()
        reader = threading.Thread(target=self._read, args=(response,), daemon=True)
        reader.start()

    def accepted(self) -> str:
        """Wait for the id of the run; raises Fault."""
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
        """Read no further."""
        self._closed.set()
        if self._socket is not None:
            with suppress(OSError):  # it may have been closed by the other side
                self._socket.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def _read(self, response: http.client.HTTPResponse) -> None:
        """Hand on one line after the other, and at last why there are no more."""
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
