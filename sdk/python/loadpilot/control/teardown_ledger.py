"""What a command owes at the end of a run whose setup it has begun, as the log keeps it.

The log decides who plays a teardown; here is what is told of it. Must never let a secret, or the
key of a state, into an event.
"""

from __future__ import annotations

import json
import secrets
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from .. import _native
from .identity import author
from .terminal import safe_lines, say
from .trust import write_down

if TYPE_CHECKING:
    from ..compile.plan import Compiled
    from ..compile.scenario.hooks import SubmitterHooks
    from ..local.teardown_locks import Mark
    from .http_teardown_ledger import HttpLedger

KEY_BYTES = 32
OVER_SECS = 5.0
"""How long the end of a run is waited for that this command follows no further."""
POLL_SECS = 0.2
FAULTS = (_native.Fault, _native.Refused)


class Ledger:
    """The debt of one run, as one command sees it."""

    def __init__(
        self,
        books: _native.Ledger | HttpLedger,
        run: str,
        claimant: str,
        mark: Mark | None = None,
        *,
        is_begun: bool = False,
        is_gone: bool = False,
    ) -> None:
        """Take where it is kept.

        ``is_begun`` says that another command has begun it, ``is_gone`` that this one is known to
        be gone.
        """
        self.run = run
        self._books = books
        self._claimant = claimant
        self._mark = mark
        self._is_gone = is_gone
        self.is_begun = is_begun
        """Whether something is owed."""
        self.is_recorded = True
        """Whether what is played now can be told to the log."""

    def begin(self, compiled: Compiled, aside: SubmitterHooks, seed: int) -> None:
        """Take the setup, and with it the teardown, upon this command; raises Fault, Refused."""
        packed = compiled.bundle
        assert packed is not None  # noqa: S101  (compiled with what is played aside)
        claim = {
            "claimant": self._claimant,
            "by": author(),
            "plan": compiled.plan,
            "seed": seed,
            "bundle": {"sha256": packed.sha256, "bytes": len(packed.content)},
            "file": packed.file,
            "teardowns": [hook.name for hook in aside.teardowns],
            "users": aside.start is not None,
        }
        text = json.dumps(claim, ensure_ascii=False, allow_nan=False)
        write_down(packed.sha256, compiled.plan_json())
        self._books.claim_setup(text, packed.content, compiled.secrets)
        self.is_begun = True

    def keep(self, shared: str, users: list[str] | None) -> None:
        """Keep what the setup has left so far; raises Fault, Refused."""
        key = secrets.token_hex(KEY_BYTES)
        self._books.keep(_native.seal_states(key, shared, users), key)

    def take(self) -> bool:
        """Take the teardown upon this command; says why not, when it may not be played here."""
        if not self.is_begun:
            return True
        if not self.is_recorded:
            say("the teardown is played, but the log cannot be told: the next command repeats it")
            return True
        deadline = monotonic() + OVER_SECS
        try:
            claim = self._claim()
            while claim["claim"] == "not_over" and monotonic() < deadline:
                sleep(POLL_SECS)
                claim = self._claim()
        except FAULTS as fault:
            self.is_recorded = False
            what = "the log cannot be told of the teardown, which the next command repeats"
            say(f"error: {what}: {safe_lines(str(fault))}")
            return True
        match claim["claim"]:
            case "taken":
                return True
            case "not_over":
                what = f"the teardown of run {self.run} stays owed, since that is not over yet"
                say(f"{what}: {self.advice}")
            case "held":
                say(f"the teardown of run {self.run} is left to the command that it is on")
            case _:
                say(f"the teardown of run {self.run} was played already")
        return False

    def finish(self, failed: list[str]) -> None:
        """Tell the log that the teardown was played."""
        if not self.is_begun:
            return
        if self.is_recorded:
            try:
                self._books.finish(failed)
            except FAULTS as fault:
                what = "the log cannot be told that the teardown was played; it is repeated"
                say(f"error: {what}: {safe_lines(str(fault))}")
            else:
                self._drop()
                return
        self.release()

    def put_off(self) -> None:
        """Say that a teardown is left for others."""
        if self.is_begun:
            say(f"the teardown of run {self.run} is owed: {self.advice}")
        self.release()

    def release(self) -> None:
        """Let others look after it."""
        if self._mark is not None:
            if self.is_begun:
                self._mark.release()
            else:
                self._drop()

    @property
    def advice(self) -> str:
        """What to do about it."""
        return f"`loadpilot resume {self.run}` plays it"

    def owed(self) -> dict[str, Any]:
        """Read what is owed; raises Fault."""
        found: dict[str, Any] = json.loads(self._books.owed())
        return found

    def means(self) -> dict[str, Any]:
        """Read what a teardown is played with; raises Fault."""
        found: dict[str, Any] = json.loads(self._books.means())
        return found

    def kept(self, *, states: bool) -> bytes:
        """Read the scenario's files, or what its setup left; raises Fault, Refused."""
        return self._books.kept(states=states)

    def _claim(self) -> dict[str, Any]:
        claim: dict[str, Any] = json.loads(
            self._books.claim_teardown(author(), is_gone=self._is_gone)
        )
        return claim

    def _drop(self) -> None:
        if self._mark is not None:
            try:
                self._mark.remove()
            except OSError as error:
                say(f"warning: a file that nobody needs stays behind: {error}")
