"""The teardown claims of one run at a coordinator over HTTP: ``_native.Ledger`` without NATS.

The coordinator stores the claims. This command beats once a second, at any coordinator behind the
address. Must never show a secret.
"""

from __future__ import annotations

import base64
import json
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .. import _native

if TYPE_CHECKING:
    from pathlib import Path

    from .http_session import HttpSession

BEAT_SECS = 1.0
"""Interval of beats; after ten seconds without one other commands may play the teardown."""


class HttpLedger:
    """The claims of one run, on behalf of one claimant."""

    def __init__(self, session: HttpSession, run: str, claimant: str) -> None:
        """Take the session, the run and the claimant."""
        self._session = session
        self._run = run
        self._claimant = claimant

    def owed(self) -> str:
        """Read the state of setup and teardown, as JSON."""
        return self._get("")

    def claim_setup(self, claim_json: str, bundle: bytes, secrets: dict[str, str]) -> None:
        """Claim setup and teardown; raises Refused when another claimant was first."""
        claim = {"claim": json.loads(claim_json), "bundle": encoded(bundle), "secrets": secrets}
        self._post("/setup", claim)
        self._session.keep_beating(Beats(self._session, self._run, self._claimant))

    def keep(self, sealed: bytes, key: str) -> None:
        """Store the states of the setup so far for the teardown."""
        states = {"claimant": self._claimant, "states": encoded(sealed), "key": key}
        self._post("/states", states)

    def claim_teardown(self, by: str, *, is_gone: bool) -> str:  # noqa: ARG002  (not known here)
        """Claim the teardown; the coordinator listens 10 s for its claimant first."""
        claim_json = self._post("/claim", {"claimant": self._claimant, "by": by})
        if json.loads(claim_json)["claim"] == "taken":
            self._session.keep_beating(Beats(self._session, self._run, self._claimant))
        return claim_json

    def finish(self, names: list[str]) -> None:
        """Record that the teardown was played, with the methods that failed."""
        self._post("/finish", {"claimant": self._claimant, "failed": names})

    def means(self) -> str:
        """Read the secrets of the teardown and the key of its states, as JSON."""
        return self._get("/means")

    def read_archive(self, *, states: bool) -> bytes:
        """Read the archive of the scenario's files, or the sealed states of the setup."""
        return self._session.ask("GET", self._path(f"/kept?states={str(states).lower()}"))

    def _get(self, what: str) -> str:
        return self._session.ask("GET", self._path(what)).decode()

    def _post(self, what: str, body: dict[str, Any]) -> str:
        return self._session.ask("POST", self._path(what), body).decode()

    def _path(self, what: str) -> str:
        return f"/run/{self._run}/owed{what}"


class Beats:
    """Beats for a claimant, on a thread, until it is ended."""

    def __init__(self, session: HttpSession, run: str, claimant: str) -> None:
        """Start the thread."""
        self.run = run
        self.claimant = claimant
        self._session = session
        self._over = threading.Event()
        threading.Thread(target=self._beat, daemon=True).start()

    def end(self) -> None:
        """End the thread."""
        self._over.set()

    def _beat(self) -> None:
        path, body = f"/run/{self.run}/owed/alive", {"claimant": self.claimant}
        while not self._over.is_set():
            # A lost beat is followed by the next.
            with suppress(_native.Fault, _native.Refused):
                self._session.ask("POST", path, body)
            self._over.wait(BEAT_SECS)


def encoded(content: bytes | Path) -> str:
    """Encode bytes, or those of a file, as base64 for JSON."""
    whole = content if isinstance(content, bytes) else content.read_bytes()
    return base64.b64encode(whole).decode()
