"""Drives the oracle from Python: starts it, sets its behaviour, waits for counts, reads its log.

Standard library only, so that every test suite can use it. Must never judge: it returns what the
oracle saw, and the test compares.

    with Oracle(built_binary(), tmp_path / "oracle.jsonl") as oracle:
        oracle.freeze(after_first_ms=3000, for_ms=2000)
        run_load(oracle.url)
        assert len(oracle.requests()) == planned

Errors: `OracleError` when the oracle cannot be started, refuses a command, or ended by itself.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

STOP_TIMEOUT_S = 20.0
"""Timeout for the oracle to write the rest of its log and end."""

COMMAND_TIMEOUT_S = 20.0
"""Timeout of a command, in addition to the time that its line makes the oracle wait."""


class OracleError(Exception):
    """The oracle did not perform a test's command."""


class Outcome(StrEnum):
    """How a request ended; README.md defines each value."""

    INCOMPLETE = "incomplete"
    MALFORMED = "malformed"
    OPEN = "open"
    ANSWERED = "answered"
    ABORTED = "aborted"
    TRUNCATED = "truncated"
    RESET = "reset"
    UNANSWERED = "unanswered"


BROKEN = frozenset({Outcome.INCOMPLETE, Outcome.MALFORMED})
"""Outcomes of requests that were not received whole and well-formed."""


class CountKind(StrEnum):
    """The count that `wait_count` waits for."""

    RECEIVED = "received"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Request:
    """One request as the oracle saw it. Times are µs of CLOCK_REALTIME."""

    seq: int
    connection: int
    arrival_us: int
    end_us: int | None
    method: str
    path: str
    id: str | None
    body_len: int
    body_fnv1a: str
    status: int | None
    outcome: Outcome
    error: str | None
    client_closed: bool
    headers: tuple[tuple[str, str], ...] | None
    kernel_us: int | None
    """Time at which the kernel had received the request; needs `kernel_times=True`."""

    @property
    def route(self) -> str:
        """The path without its query."""
        return self.path.partition("?")[0]

    @property
    def service_us(self) -> int | None:
        """From the first bytes of the request to the end of the answer."""
        return None if self.end_us is None else self.end_us - self.arrival_us

    def header(self, name: str) -> str | None:
        """The first value of a header; needs `log_headers=True`."""
        if self.headers is None:
            raise OracleError("headers are not logged: start the oracle with log_headers=True")
        return next((v for n, v in self.headers if n == name.lower()), None)


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts at one moment; `broken` requests are not among the `received`."""

    received: int
    ended: int
    broken: int
    first_us: int | None
    last_us: int | None
    connections: int
    connections_open: int


def built_binary() -> Path:
    """Path of the oracle that `cargo build -p loadpilot-oracle` builds."""
    target = os.environ.get("CARGO_TARGET_DIR") or Path(__file__).resolve().parents[2] / "target"
    binary = Path(target) / "debug" / "loadpilot-oracle"
    if not binary.is_file():
        raise OracleError(f"{binary} is missing: run `cargo build -p loadpilot-oracle`")
    return binary


def read_log(log: Path) -> list[Request]:
    """Every request of a log, broken ones included, by number.

    A request that was open at a flush has more than one line; the last one holds. Text after the
    last line end is a line that is still being written; no flush has covered it.
    """
    text = log.read_text(encoding="utf-8")
    latest: dict[int, Request] = {}
    for line in text[: text.rfind("\n") + 1].splitlines():
        request = _request(json.loads(line))
        latest[request.seq] = request
    return [latest[seq] for seq in sorted(latest)]


def _request(fields: dict[str, Any]) -> Request:
    headers = fields.get("headers")
    return Request(
        seq=fields["seq"],
        connection=fields["conn"],
        arrival_us=fields["arrival_us"],
        end_us=fields["end_us"],
        method=fields["method"] or "",
        path=fields["path"] or "",
        id=fields["id"],
        body_len=fields["body_len"],
        body_fnv1a=fields["body_fnv1a"],
        status=fields["status"],
        outcome=Outcome(fields["outcome"]),
        error=fields.get("error"),
        client_closed=fields.get("client_closed", False),
        headers=None if headers is None else tuple((name, value) for name, value in headers),
        kernel_us=fields.get("kernel_us"),
    )


class Oracle:
    """An oracle process. It ends with the `with` block, and with the test process however that
    ends, since it watches its stdin."""

    def __init__(
        self,
        binary: Path,
        log: Path,
        *,
        behaviours: Sequence[str] = (),
        port: int = 0,
        id_header: str = "x-request-id",
        log_headers: bool = False,
        kernel_times: bool = False,
    ) -> None:
        """Starts the oracle and waits until it listens.

        `behaviours` are control lines (README.md), obeyed before the first connection.
        """
        argv = [str(binary), "--log", str(log), "--until-eof"]
        argv += ["--port", str(port), "--id-header", id_header]
        argv += ["--log-headers"] if log_headers else []
        argv += ["--kernel-times"] if kernel_times else []
        for line in behaviours:
            argv += ["--behaviour", line]
        self.log = log
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        ready = self._process.stdout.readline()
        if not ready:
            raise OracleError(f"the oracle ended with {self._end()} before it listened")
        fields = json.loads(ready)
        self.port: int = fields["port"]
        self.control_port: int = fields["control"]
        self.pid: int = fields["pid"]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends the oracle; its log is complete afterwards and can still be read."""
        if self._process.returncode is None and (code := self._end()) != 0:
            raise OracleError(f"the oracle ended with {code}; its log may be incomplete")

    def _end(self) -> int:
        """Closes its stdin, waits, and returns its exit code."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            return self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
        finally:
            self._process.stdout.close()

    # Reads what the oracle saw.

    def requests(self) -> list[Request]:
        """Every complete request so far, in the order of arrival; open ones included."""
        return [request for request in self._all() if request.outcome not in BROKEN]

    def broken(self) -> list[Request]:
        """Requests that were not received whole and well-formed; a correct client sends none."""
        return [request for request in self._all() if request.outcome in BROKEN]

    def counts(self) -> Counts:
        """The counts now."""
        return self._counts(self.command("count"))

    def first_request_us(self) -> int | None:
        """Arrival of the first request."""
        return self.counts().first_us

    def freezes(self) -> list[tuple[int | None, int | None]]:
        """Begin and end of each freeze that was set and not lifted; `None` if not known yet."""
        return [(begin, end) for begin, end in self.command("freezes")["freezes"]]

    def wait_count(self, count: int, timeout_s: float, of: CountKind = CountKind.RECEIVED) -> bool:
        """Blocks until `count` requests are counted; `False` if `timeout_s` passed first."""
        line = f"wait-count {count} timeout_ms={timeout_s * 1000:.3f} of={of}"
        reached: bool = self.command(line, timeout_s)["reached"]
        return reached

    def flush(self) -> None:
        """Completes the log file up to now; `requests` does so by itself."""
        self.command("flush")

    # Sets what the oracle does. Rules add up, later ones win; `clear` removes them.

    def delay(self, ms: float, *, path: str | None = None, fraction: float | None = None) -> None:
        """Answer `ms` after a request's first bytes."""
        self._rule(f"delay {ms}", path, fraction)

    def queue(self, workers: int, ms: float, *, wait_max_ms: float | None = None) -> None:
        """Answer when one of `workers` has served the request, each of which takes `ms` per
        request; with `wait_max_ms`, answer 503 to a request that would wait longer."""
        limit = "" if wait_max_ms is None else f" wait_max_ms={wait_max_ms}"
        self._rule(f"queue {workers} {ms}{limit}", None, None)

    def status(self, code: int, *, path: str | None = None, fraction: float | None = None) -> None:
        """Answer with this status."""
        self._rule(f"status {code}", path, fraction)

    def size(self, count: int, *, path: str | None = None, fraction: float | None = None) -> None:
        """Answer with a body of `count` bytes."""
        self._rule(f"size {count}", path, fraction)

    def drip(self, ms: float, *, path: str | None = None, fraction: float | None = None) -> None:
        """Send the body byte by byte, `ms` apart."""
        self._rule(f"drip {ms}", path, fraction)

    def truncate(self, *, path: str | None = None, fraction: float | None = None) -> None:
        """End the connection in the middle of the body."""
        self._rule("truncate", path, fraction)

    def reset(self, *, path: str | None = None, fraction: float | None = None) -> None:
        """Reset the connection instead of an answer."""
        self._rule("reset", path, fraction)

    def silent(self, *, path: str | None = None, fraction: float | None = None) -> None:
        """Never answer."""
        self._rule("silent", path, fraction)

    def close_after(self, *, path: str | None = None, fraction: float | None = None) -> None:
        """End the connection after the answer."""
        self._rule("close", path, fraction)

    def clear(self) -> None:
        """Remove every rule and the slow accept; freezes stay."""
        self.command("clear")

    def freeze(self, *, after_first_ms: float | None = None, for_ms: float | None = None) -> None:
        """Answer nothing: from now, or from `after_first_ms` after the first request; for
        `for_ms`, or until `unfreeze`."""
        begin = "" if after_first_ms is None else f" after_first_ms={after_first_ms}"
        length = "" if for_ms is None else f" for_ms={for_ms}"
        self.command(f"freeze{begin}{length}")

    def unfreeze(self) -> None:
        """Lift every freeze, also those to come."""
        self.command("unfreeze")

    def slow_accept(self, ms: float) -> None:
        """Wait `ms` before each accept."""
        self.command(f"slow-accept {ms}")

    def refuse(self) -> None:
        """Close the listener: new connections are refused, accepted ones stay."""
        self.command("refuse")

    def accept(self) -> None:
        """Listen again, on the same port."""
        self.command("accept")

    def command(self, line: str, wait_s: float = 0.0) -> dict[str, Any]:
        """Sends one control line; `wait_s` is the time for which the line makes the oracle wait."""
        address = ("127.0.0.1", self.control_port)
        with socket.create_connection(address, COMMAND_TIMEOUT_S) as control:
            control.settimeout(wait_s + COMMAND_TIMEOUT_S)
            control.sendall(line.encode() + b"\n")
            with control.makefile("rb") as answers:
                text = answers.readline()
        if not text:
            raise OracleError(f"the oracle ended during {line!r}")
        answer: dict[str, Any] = json.loads(text)
        if not answer["ok"]:
            raise OracleError(f"{line!r}: {answer['error']}")
        return answer

    def _all(self) -> list[Request]:
        if self._process.returncode is None:
            self.flush()
        return read_log(self.log)

    def _rule(self, effect: str, path: str | None, fraction: float | None) -> None:
        where = "" if path is None else f" path={path}"
        share = "" if fraction is None else f" fraction={fraction}"
        self.command(f"{effect}{where}{share}")

    @staticmethod
    def _counts(answer: dict[str, Any]) -> Counts:
        return Counts(**{name: answer[name] for name in Counts.__dataclass_fields__})
