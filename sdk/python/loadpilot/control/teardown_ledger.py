"""The teardown that a command owes once it has begun the setup of a run, as recorded in the log.

The log decides which command plays a teardown; this module claims it and prints the result. Secrets
and the key of a state must never enter an event.
"""

from __future__ import annotations

import json
import secrets
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from .. import _native
from .identity import author
from .terminal import safe_lines, say
from .trust import record_submission

if TYPE_CHECKING:
    from ..compile.plan import Compiled
    from ..compile.scenario.hooks import SubmitterHooks
    from ..local.teardown_locks import TeardownLock
    from .http_teardown_ledger import HttpLedger

KEY_BYTES = 32
OVER_SECS = 5.0
"""Timeout of the wait for the end of a run that this command no longer follows."""
POLL_SECS = 0.2
FAULTS = (_native.Fault, _native.Refused)


class Ledger:
    """The teardown record of one run, as seen by one command."""

    def __init__(
        self,
        store: _native.Ledger | HttpLedger,
        run: str,
        claimant: str,
        lock: TeardownLock | None = None,
        *,
        is_begun: bool = False,
        is_gone: bool = False,
    ) -> None:
        """Use the record in ``store``.

        ``is_begun``: another command has begun the setup; ``is_gone``: that command is known to be
        gone.
        """
        self.run = run
        self._store = store
        self._claimant = claimant
        self._lock = lock
        self._is_gone = is_gone
        self.is_begun = is_begun
        """Whether a teardown is owed."""
        self.is_recorded = True
        """Whether the log can record the teardown."""

    def begin(self, compiled: Compiled, hooks: SubmitterHooks, seed: int) -> None:
        """Claim the setup, and with it the teardown, for this command; raises Fault, Refused."""
        packed = compiled.bundle
        assert packed is not None  # noqa: S101  (a scenario with hooks is compiled with its bundle)
        claim = {
            "claimant": self._claimant,
            "by": author(),
            "plan": compiled.plan,
            "seed": seed,
            "bundle": {"sha256": packed.sha256, "bytes": len(packed.content)},
            "file": packed.file,
            "teardowns": [hook.name for hook in hooks.teardowns],
            "users": hooks.start is not None,
        }
        text = json.dumps(claim, ensure_ascii=False, allow_nan=False)
        record_submission(packed.sha256, compiled.plan_json())
        self._store.claim_setup(text, packed.content, compiled.secrets)
        self.is_begun = True

    def store_states(self, shared: str, users: list[str] | None) -> None:
        """Store the state of the setup so far, sealed; raises Fault, Refused."""
        key = secrets.token_hex(KEY_BYTES)
        self._store.keep(_native.seal_states(key, shared, users), key)

    def claim(self) -> bool:
        """Claim the teardown for this command; prints why when it may not be played here."""
        if not self.is_begun:
            return True
        if not self.is_recorded:
            say("the teardown is played, but the log cannot record it: the next command repeats it")
            return True
        deadline = monotonic() + OVER_SECS
        try:
            claim = self._claim()
            while claim["claim"] == "not_over" and monotonic() < deadline:
                sleep(POLL_SECS)
                claim = self._claim()
        except FAULTS as fault:
            self.is_recorded = False
            what = "the log cannot record the teardown, which the next command repeats"
            say(f"error: {what}: {safe_lines(str(fault))}")
            return True
        match claim["claim"]:
            case "taken":
                return True
            case "not_over":
                what = f"the teardown of run {self.run} stays owed: the run is not over yet"
                say(f"{what}; {self.advice}")
            case "held":
                say(f"the teardown of run {self.run} is left to the command that plays it")
            case _:
                say(f"the teardown of run {self.run} was played already")
        return False

    def finish(self, failed: list[str]) -> None:
        """Record in the log that the teardown was played."""
        if not self.is_begun:
            return
        if self.is_recorded:
            try:
                self._store.finish(failed)
            except FAULTS as fault:
                what = "the log cannot record that the teardown was played; it is repeated"
                say(f"error: {what}: {safe_lines(str(fault))}")
            else:
                self._drop()
                return
        self.release()

    def postpone(self) -> None:
        """Leave the teardown owed, and print how to play it."""
        if self.is_begun:
            say(f"the teardown of run {self.run} is owed: {self.advice}")
        self.release()

    def release(self) -> None:
        """Let other commands play the teardown."""
        if self._lock is not None:
            if self.is_begun:
                self._lock.release()
            else:
                self._drop()

    @property
    def advice(self) -> str:
        """The command that plays the teardown."""
        return f"`loadpilot resume {self.run}` plays it"

    def owed(self) -> dict[str, Any]:
        """Read the record; raises Fault."""
        found: dict[str, Any] = json.loads(self._store.owed())
        return found

    def means(self) -> dict[str, Any]:
        """Read the secrets and the key that a teardown needs; raises Fault."""
        found: dict[str, Any] = json.loads(self._store.means())
        return found

    def read_object(self, *, states: bool) -> bytes:
        """Read the scenario's files, or the state of its setup; raises Fault, Refused."""
        return self._store.read_archive(states=states)

    def _claim(self) -> dict[str, Any]:
        claim: dict[str, Any] = json.loads(
            self._store.claim_teardown(author(), is_gone=self._is_gone)
        )
        return claim

    def _drop(self) -> None:
        if self._lock is not None:
            try:
                self._lock.remove()
            except OSError as error:
                say(f"warning: an unneeded file stays behind: {error}")
