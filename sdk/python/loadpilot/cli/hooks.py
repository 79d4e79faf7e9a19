"""The hooks of a scenario that this command plays: setups and users before a run, teardowns after.

The engine of the agents plays them on a thread of its own. Their requests must never be counted,
and a hook after a run must never change the result of the run.
"""

from __future__ import annotations

import gc
import os
import secrets
import sys
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _native
from ..control.signals import NOW
from ..control.teardown_ledger import FAULTS, KEY_BYTES
from ..control.terminal import note, safe_lines, say
from ..inputs.feeds import AbsentRows
from ..local.stack import StackFault
from ..play.local_runner import LocalScenario
from ..play.states import NotPortable
from ..scenario_file.feed_usage import feeds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..compile.plan import Compiled
    from ..compile.scenario.hooks import Hook, SubmitterHooks
    from ..control.signals import Interruptions
    from ..control.teardown_ledger import Ledger
    from ..play.local_runner import SetupState
    from ..play.scenario import PlannedFeed

KEY_SECRET = "prepared"  # noqa: S105  (the handle of a secret, not the secret)
SEALED_BYTES_MAX = 64 * 1024 * 1024
"""Maximum size of the states of all users, in bytes: that of an object beside a plan."""
POLL_SECS = 0.05
"""Interval at which interruptions are noticed."""
TEARDOWN_SECS = 30.0
"""Timeout of one teardown."""
ON_STOP_SECS = 12.0
"""Timeout of `on_stop` of all users; that of the engine is 10 s."""
CANCEL_SECS = 12.0
"""Timeout of a hook to end once it is cancelled."""
CLOSE_SECS = 2.0
"""Timeout of the thread to end when it plays nothing."""

_stuck: list[str] = []
"""Names of hooks and scenarios that did not end."""


class HookFailed(Exception):
    """A hook before the run failed, for the reason in the message; the run is not requested."""


class RequestedRun(NamedTuple):
    """The run that is about to be requested."""

    id: str
    seed: int
    allow_target: tuple[str, ...] = ()
    """Targets that this machine may connect to beside those that are always open."""


@contextmanager
def play_hooks(
    compiled: Compiled,
    hooks: SubmitterHooks,
    run: RequestedRun,
    interruptions: Interruptions,
    ledger: Ledger,
) -> Iterator[Compiled]:
    """Play the hooks before a run, yield the plan with their results, play the hooks after it.

    Raises :class:`HookFailed`, and the errors of the log. The hooks after the run are played
    however the block ends; at the third interruption they stay owed instead.
    """
    try:
        player = HookPlayer(compiled, hooks, run, interruptions, ledger)
    except (ValueError, RuntimeError) as error:
        ledger.release()
        raise HookFailed(str(error)) from None
    try:
        ledger.begin(compiled, hooks, run.seed)
        try:
            yield player.before()
        except StackFault:
            ledger.is_recorded = False
            raise
        finally:
            if interruptions.count < NOW:
                player.after()
            else:
                ledger.postpone()
    finally:
        ledger.release()
        player.close()


def is_stuck() -> bool:
    """Whether a hook still runs and cannot be ended."""
    return bool(_stuck)


def drop_row_files(cls: type, planned: Sequence[dict[str, Any]]) -> None:
    """Make rows of files raise when a hook takes one: a teardown's bundle has no such file."""
    feeds = feeds_of(cls)
    for feed in planned:
        if "file" in feed:
            feeds[feed["name"]].rows = AbsentRows(feed["rows"])


class HookPlayer:
    """Plays the hooks of one run."""

    def __init__(
        self,
        compiled: Compiled,
        hooks: SubmitterHooks,
        run: RequestedRun,
        interruptions: Interruptions,
        ledger: Ledger,
        left: SetupState | None = None,
    ) -> None:
        """Load the scenario; nothing is played yet.

        ``left`` is the state that the setup of another command stored, if this command only plays
        the hooks after the run.
        """
        self.compiled = compiled
        self.ledger = ledger
        self.is_successor = left is not None
        self.hooks = hooks
        self.interruptions = interruptions
        self._answered = 0
        """Number of answered interruptions: one more cancels the current hook."""
        plan = compiled.plan
        self.is_shared = "script" in plan
        """Whether agents get the state of the hooks: compiled tasks cannot see it."""
        self.users = plan["script"]["users"] if hooks.start is not None else 0
        planned = plan.get("script", {}).get("feeds", ())
        feeds: list[PlannedFeed] = [(feed["name"], feed["rows"], None) for feed in planned]
        if self.is_successor:
            drop_row_files(hooks.cls, planned)
        self.scenario = LocalScenario(
            hooks.cls, hooks.once, hooks.root, plan["target"], feeds, left
        )
        self.player = _native.Player(
            compiled.plan_json(),
            run.id,
            compiled.secrets,
            self.scenario,
            self.users,
            run.seed,
            list(run.allow_target),
        )

    def before(self) -> Compiled:
        """Play the setups, prepare the users; raises :class:`HookFailed`."""
        for place, hook in enumerate(self.hooks.setups):
            self._check_interruption()
            note(f"setup      {safe_lines(hook.name)}()")
            error = self._play(hook.name, partial(self.player.once, place))
            if error:
                raise HookFailed(f"setup {hook.name}() failed: {error}")
            if self.is_shared:
                self._shared(hook, self.scenario.share_setup)
            self._store(None)
        users: list[str] | None = None
        start = self.hooks.start
        if start is not None:
            self._check_interruption()
            note(f"preparing  {self.users} users on this side")
            error = self._play("on_start", self.player.prepare)
            if error:
                raise HookFailed(error)
            users = self._shared(start, self.scenario.users)
            self._store(users)
        last = start or (self.hooks.setups[-1] if self.hooks.setups else None)
        if last is None or not self.is_shared:
            return self.compiled
        shared, has_state = self._shared(last, self.scenario.shared)
        if not has_state and users is None:
            return self.compiled
        return self._sealed(shared, users)

    def after(self) -> list[str]:
        """Play `on_stop` of the users and the teardowns; returns the names of those that failed.

        Nothing is played when another command has claimed the teardown.
        """
        self._answered = self.interruptions.count
        if not self.ledger.claim():
            return []
        failed = self._stop_users() + self._tear_down()
        self.ledger.finish(failed)
        return failed

    def _stop_users(self) -> list[str]:
        """Play `on_stop` of the users."""
        if self.hooks.start is None:
            return []
        error = ""
        if self.is_successor:
            error = self._play("on_stop", self.player.prepare)
        error = error or self._play("on_stop", self.player.retire, ON_STOP_SECS)
        if error:
            say(f"error: {safe_lines(error)}")
        return ["on_stop"] if error else []

    def _tear_down(self) -> list[str]:
        """Play the teardowns."""
        failed = []
        first = len(self.hooks.setups)
        for place, hook in enumerate(self.hooks.teardowns, first):
            note(f"teardown   {safe_lines(hook.name)}()")
            error = self._play(hook.name, partial(self.player.once, place), TEARDOWN_SECS)
            if error:
                say(f"error: teardown {hook.name}() failed: {safe_lines(error)}")
                failed.append(hook.name)
        return failed

    def _store(self, users: list[str] | None) -> None:
        """Store the current state, for another command that may have to play the teardown."""
        shared, flaws = self.scenario.teardown_state()
        for flaw in flaws:
            what = "a teardown by another command would miss it, should this one be killed"
            note(f"note: {safe_lines(flaw)}, which is not JSON: {what}")
        try:
            self.ledger.store_states(shared, users)
        except FAULTS as fault:
            raise HookFailed(f"the state of the setup cannot be stored: {fault}") from None

    def close(self) -> None:
        """End the thread of the scenario."""
        has_ended = False
        try:
            has_ended = self.player.close(CLOSE_SECS)
        finally:
            if not has_ended:
                _stuck.append(self.hooks.cls.__name__)

    def _check_interruption(self) -> None:
        """Raise :class:`HookFailed` after an interruption."""
        if self._is_interrupted():
            raise HookFailed("it was interrupted")

    def _is_interrupted(self) -> bool:
        return self.interruptions.count > self._answered

    def _play(self, name: str, begin: Callable[[], None], timeout_secs: float | None = None) -> str:
        """Play one hook to its end; returns its error, empty if it passed.

        A further interruption or the timeout cancels it.
        """
        if _stuck:
            return f"{_stuck[0]} is still busy and cannot be ended"
        # Cycles that a hook leaves belong to its thread, which collects them in the end.
        gc.disable()
        begin()
        error = self._wait(name, timeout_secs)
        if not _stuck:
            gc.enable()
        return error

    def _wait(self, name: str, timeout_secs: float | None) -> str:
        """Wait for the end of a hook; cancel it at its timeout or at an interruption."""
        began = monotonic()
        cancelled_at: float | None = None
        is_late = False
        while True:
            error = self.player.wait(POLL_SECS)
            now = monotonic()
            if error is not None:
                if cancelled_at is not None:
                    self._answered = self.interruptions.count
                return f"it took longer than {timeout_secs:.0f} s" if is_late else error
            if cancelled_at is None:
                is_late = timeout_secs is not None and now > began + timeout_secs
                if is_late or self._is_interrupted():
                    self.player.call_off()
                    cancelled_at = now
            elif now > cancelled_at + CANCEL_SECS:
                _stuck.append(f"{name}()")
                return "it waits for something other than the client and could not be ended"

    def _shared(self, hook: Hook, take: Callable[[], Any]) -> Any:
        """Take the state of a hook; raises :class:`HookFailed` when it is not JSON."""
        try:
            return take()
        except NotPortable as flaw:
            what = f"{hook.place}: {hook.name}() cannot be used here: {flaw}"
            rule = "its state on self and the class travels to the agents and must be JSON: "
            rule += "text, numbers, true, false, None, lists, and dicts with text keys"
            advice = ""
            if hook.name == "on_start":
                advice = '; with @scenario(prepare="agents") each agent calls on_start itself'
            raise HookFailed(f"{what}; {rule}{advice}") from None

    def _sealed(self, shared: str, users: list[str] | None) -> Compiled:
        """Put the prepared state beside the plan, sealed."""
        key = secrets.token_hex(KEY_BYTES)
        sealed = _native.seal_states(key, shared, users)
        if len(sealed) > SEALED_BYTES_MAX:
            what = f"the states of all users must be at most 64 MiB (got {len(sealed):,} bytes)"
            raise HookFailed(f"{what}; keep less on self, or run fewer users")
        digest = sha256(sealed).hexdigest()
        states = {"sha256": digest, "bytes": len(sealed)}
        prepared = {"states": states, "key_secret": KEY_SECRET, "users": users is not None}
        plan = self.compiled.plan
        script = {**plan["script"], "prepared": prepared}
        return replace(
            self.compiled,
            plan={**plan, "script": script},
            secrets={**self.compiled.secrets, KEY_SECRET: key},
            bodies={**self.compiled.bodies, digest: sealed},
        )


def leave(code: int) -> None:
    """End this process at once: a thread of the scenario still runs Python."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
