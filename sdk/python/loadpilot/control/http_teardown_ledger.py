"""The debt of one run as a coordinator over HTTP keeps it: what ``_native.Ledger`` is at a log.

The coordinator writes the claims; that this command lives it says itself, once a second, to
whichever coordinator answers. Must never show a secret.
"""

from __future__ import annotations

import base64
import json
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .. import _native

if TYPE_CHECKING:
    from .http_session import HttpSession

BEAT_SECS = 1.0
"""How often it says that it lives; ten seconds without that, and others may play the teardown."""


class HttpLedger:
    """What one run owes, as the command of a name sees it."""

    def __init__(self, session: HttpSession, run: str, claimant: str) -> None:
        """Take where it is kept."""
        self._session = session
        self._run = run
        self._claimant = claimant

    def owed(self) -> str:
        """Tell what is owed, and of what run, as JSON."""
        return self._get("")

    def claim_setup(self, claim_json: str, bundle: bytes, secrets: dict[str, str]) -> None:
        """Take setup and teardown upon this command; raises Refused when somebody was first."""
        claim = {"claim": json.loads(claim_json), "bundle": encoded(bundle), "secrets": secrets}
        self._post("/setup", claim)
        self._session.lives(Life(self._session, self._run, self._claimant))

    def keep(self, sealed: bytes, key: str) -> None:
        """Keep what the setup has left so far, for whoever plays the teardown."""
        states = {"claimant": self._claimant, "states": encoded(sealed), "key": key}
        self._post("/states", states)

    def claim_teardown(self, by: str, *, is_gone: bool) -> str:  # noqa: ARG002  (nobody knows)
        """Take the teardown upon this command; whoever owed it is listened for, 10 s."""
        told = self._post("/claim", {"claimant": self._claimant, "by": by})
        if json.loads(told)["claim"] == "taken":
            self._session.lives(Life(self._session, self._run, self._claimant))
        return told

    def finish(self, names: list[str]) -> None:
        """Tell that the teardown was played, with the methods that failed."""
        self._post("/finish", {"claimant": self._claimant, "failed": names})

    def means(self) -> str:
        """Read what the teardown is played with, as JSON."""
        return self._get("/means")

    def kept(self, *, states: bool) -> bytes:
        """Read the scenario's files, or what its setup left."""
        return self._session.ask("GET", self._path(f"/kept?states={str(states).lower()}"))

    def _get(self, what: str) -> str:
        return self._session.ask("GET", self._path(what)).decode()

    def _post(self, what: str, asked: dict[str, Any]) -> str:
        return self._session.ask("POST", self._path(what), asked).decode()

    def _path(self, what: str) -> str:
        return f"/run/{self._run}/owed{what}"


class Life:
    """Says again and again that a command lives, until it is ended."""

    def __init__(self, session: HttpSession, run: str, claimant: str) -> None:
        """Begin with it."""
        self.run = run
        self.claimant = claimant
        self._session = session
        self._over = threading.Event()
        threading.Thread(target=self._live, daemon=True).start()

    def end(self) -> None:
        """Say no more."""
        self._over.set()

    def _live(self) -> None:
        path, said = f"/run/{self.run}/owed/alive", {"claimant": self.claimant}
        while not self._over.is_set():
            # One that is not heard is followed by the next.
            with suppress(_native.Fault, _native.Refused):
                self._session.ask("POST", path, said)
            self._over.wait(BEAT_SECS)


def encoded(content: bytes) -> str:
    """Put bytes into JSON."""
    return base64.b64encode(content).decode()
