"""A gateway, reached as users reach it: over TLS, with a token."""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

LOADPILOT = Path(sys.executable).with_name("loadpilot")
PATIENCE_S = 60.0
LATENESS_MAX_US = 60_000_000
POLL_S = 0.1
"""Interval of requests, far below the rate that a gateway allows."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway on this machine."""

    port: int
    cacert: Path
    token: str = field(repr=False)

    def submit(self, scenario: Path, target: str, rps: int, secs: int, agents: int) -> str:
        """Requests a run; returns its id."""
        load = ["--target", target, "--rps", str(rps), "--duration", f"{secs}s", "--dry-run"]
        compiled = subprocess.run(
            [LOADPILOT, "run", scenario, *load], check=True, capture_output=True, text=True
        )
        # No arrival is dropped as late: a busy machine must not change the counts.
        plan = json.loads(compiled.stdout) | {"max_lateness_us": LATENESS_MAX_US}
        started = self._ask("POST", "/runs", {"plan": plan, "agents": {"want": agents}})
        return str(started["run"])

    def report(self, run: str) -> dict[str, Any]:
        """The report of a run once it is over."""
        self._follow(run)
        found: dict[str, Any] = self._ask("GET", f"/runs/{run}")
        return found

    def wait_calls(self, run: str, least: int) -> None:
        """Waits until the log has this number of finished calls."""
        deadline = monotonic() + PATIENCE_S
        while sum(self._ask("GET", f"/runs/{run}")["calls"]["outcomes"].values()) < least:
            assert monotonic() < deadline, "the run did not reach the count in time"
            sleep(POLL_S)

    def _follow(self, run: str) -> None:
        """Waits until the run has ended; connects again when its event stream breaks off, as pages
        do."""
        deadline = monotonic() + PATIENCE_S
        while not self._is_sealed(run, deadline):
            assert monotonic() < deadline, "the run did not end in time"

    def _is_sealed(self, run: str, deadline: float) -> bool:
        connection = self._connection()
        connection.request("GET", f"/api/v1/runs/{run}/live", headers=self._headers())
        for line in connection.getresponse():
            assert monotonic() < deadline, "the run did not end in time"
            if line.startswith(b"event: sealed"):
                connection.close()
                return True
        connection.close()
        return False

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        connection = self._connection()
        content = None if body is None else json.dumps(body)
        connection.request(method, f"/api/v1{path}", content, self._headers())
        answer = connection.getresponse()
        received = answer.read()
        connection.close()
        assert answer.status < 300, received
        return json.loads(received)

    def _connection(self) -> http.client.HTTPSConnection:
        trust = ssl.create_default_context(cafile=str(self.cacert))
        return http.client.HTTPSConnection(
            "localhost", self.port, timeout=PATIENCE_S, context=trust
        )

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
