"""Gateways as operators start them, and a caller that shares no code with the product.

Must never end a process that it did not start.
"""

from __future__ import annotations

import http.client
import json
import re
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest
from tests.e2e.support.command import SCENARIOS, Loadpilot, Running
from tests.e2e.support.http_calls import PATIENCE_S, Answer, Caller

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

COMMAND = Path(sys.executable).with_name("loadpilot-gateway")
API = "/api/v1"
WEIGHTED = SCENARIOS / "weighted.py"
MANY_REQUESTS = {"REQUESTS_PER_SECOND": "100000", "REQUEST_BURST": "100000"}
"""Settings of a gateway whose test makes more requests than a caller may by default."""
LATENESS_US_MAX = 60_000_000
"""Lateness up to which an arrival starts, for tests that count all of them on a busy machine."""
LINK = re.compile(r"http://127\.0\.0\.1:(\d+)/#token=(\S+)")
"""What `loadpilot ui` prints."""


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event."""

    kind: str
    id: str | None
    data: Any


class Live:
    """A live view, read as a browser would."""

    def __init__(self, port: int, run: str, headers: Mapping[str, str] | None = None) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        self._connection.request("GET", f"{API}/runs/{run}/live", headers=dict(headers or {}))
        self.response = self._connection.getresponse()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.response.close()
        self._connection.close()

    def events(self) -> Iterator[Event]:
        """Events until the gateway ends the stream, without comments."""
        fields: dict[str, str] = {}
        for line in self.response:
            text = line.decode().rstrip("\n")
            if text:
                key, _, value = text.partition(": ")
                fields[key] = value
            elif "event" in fields:
                yield Event(fields["event"], fields.get("id"), json.loads(fields["data"]))
                fields = {}
            else:
                fields = {}


class Gateway(Caller):
    """A gateway that listens."""

    def api(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Gets a path of the API."""
        return self.ask("GET", API + path, headers=headers)

    def tell(
        self, path: str, body: object = b"", headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Posts to a path of the API."""
        return self.ask("POST", API + path, body, headers)

    def live(self, run: str, headers: Mapping[str, str] | None = None) -> Live:
        """Follows a run."""
        return Live(self.port, run, headers)

    def see_end(self, run: str) -> list[Event]:
        """Follows a run to its end."""
        with self.live(run) as live:
            return list(live.events())


class Gateways:
    """Starts and ends the gateways of a test."""

    def __init__(self, folder: Path, fleet: Fleet, environ: pytest.MonkeyPatch) -> None:
        self.fleet = fleet
        self.environ = environ
        self._folder = folder
        self._members = ExitStack()
        self.processes: list[Running] = []
        environ.setenv("XDG_CACHE_HOME", str(folder / "cache"))

    def start(self, **settings: str) -> Gateway:
        """Starts a gateway at a free port; settings are named without their prefix."""
        line = self.process(**settings).until("listening on")
        return Gateway(int(line.partition(", log")[0].rpartition(":")[2]))

    def process(self, *flags: str, **settings: str) -> Running:
        """Starts the process without waiting for it."""
        values = {"NATS_URL": self.fleet.url, "PORT": "0", **settings}
        for name, value in values.items():
            self.environ.setenv(f"LOADPILOT_GATEWAY_{name}", value)
        argv = [str(COMMAND), *flags]
        started = Running(argv, self._folder, self._folder / "none.json")
        for name in settings:
            self.environ.delenv(f"LOADPILOT_GATEWAY_{name}")
        self.processes.append(started)
        return self._members.enter_context(started)

    def close(self) -> None:
        """Ends all gateways."""
        self._members.close()


@pytest.fixture
def gateways(tmp_path: Path, fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateways]:
    """Starts gateways of the fleet."""
    gateways = Gateways(tmp_path, fleet, monkeypatch)
    yield gateways
    gateways.close()


def plan(loadpilot: Loadpilot, oracle: Oracle, rps: int = 50, secs: int = 3) -> dict[str, Any]:
    """The plan of a scenario, as the command prints it, which drops nothing on a busy machine."""
    flags = ("--rps", str(rps), "--duration", f"{secs}s", "--dry-run")
    compiled = loadpilot.run(WEIGHTED, oracle.url, *flags)
    assert compiled.code == 0, compiled.stderr
    found: dict[str, Any] = json.loads(compiled.stdout)
    found["max_lateness_us"] = LATENESS_US_MAX
    return found


def opened(running: Running) -> tuple[Gateway, str, dict[str, str]]:
    """Waits for the link, and opens it as a browser does."""
    line = running.until("LoadPilot at")
    found = LINK.search(line)
    assert found is not None, line
    port, token = int(found[1]), found[2]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    kind = {"Content-Type": "application/json"}
    connection.request("POST", f"{API}/session", json.dumps({"token": token}), kind)
    answer = connection.getresponse()
    assert answer.status == 204, answer.read()
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    connection.close()
    return Gateway(port), token, {"Cookie": cookie}


def cli_report(loadpilot: Loadpilot, fleet: Fleet, run: str) -> str:
    """The report as the command line prints it."""
    result = loadpilot.call("report", run, "--json", "--nats-url", fleet.url)
    assert result.code == 0, result.stderr
    return result.stdout.removesuffix("\n")
