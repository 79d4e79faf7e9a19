"""What a run has done on this side: setup and users before it is asked for, the rest after it.

All of it is played by the engine of the agents, on a thread of its own. Must never count a request,
and must never let what comes after a run hide what became of the run.
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
from ..control.terminal import safe_lines, say
from ..local.stack import StackFault
from ..play.local_runner import LocalScenario
from ..play.states import NotPortable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..compile.plan import Compiled
    from ..compile.scenario.hooks import Hook, SubmitterHooks
    from ..control.signals import Interruptions
    from ..control.teardown_ledger import Ledger
    from ..play.local_runner import SetupState

KEY_SECRET = "prepared"  # noqa: S105  (the handle of a secret, not the secret)
SEALED_BYTES_MAX = 64 * 1024 * 1024
"""Largest states of all users together, in bytes: the largest object beside a plan."""
POLL_SECS = 0.05
"""How soon an interruption is noticed."""
TEARDOWN_SECS = 30.0
"""How long one teardown may take."""
RETIRE_SECS = 12.0
"""How long the users may take to clean up; the engine gives them 10 s."""
LEAVE_SECS = 12.0
"""How long something that was called off may take to end."""
CLOSE_SECS = 2.0
"""How long the thread may take to end when it plays nothing any more."""

_stuck: list[str] = []
"""What did not end."""


class Failed(Exception):
    """What comes before a run failed, and the run is not asked for; the message says why."""


class Asked(NamedTuple):
    """The run that is about to be asked for."""

    id: str
    seed: int
    allow_target: tuple[str, ...] = ()
    """What this machine may connect to beside what is always open."""


@contextmanager
def played(
    compiled: Compiled,
    aside: SubmitterHooks,
    run: Asked,
    interruptions: Interruptions,
    ledger: Ledger,
) -> Iterator[Compiled]:
    """Play what comes before a run, give the plan with what that left, play what comes after.

    Raises :class:`Failed`, and what the log raises. What comes after happens however the block
    ends, unless the user does not want to wait for anything: then it is owed.
    """
    try:
        company = Company(compiled, aside, run, interruptions, ledger)
    except (ValueError, RuntimeError) as error:
        ledger.release()
        raise Failed(str(error)) from None
    try:
        ledger.begin(compiled, aside, run.seed)
        try:
            yield company.before()
        except StackFault:
            ledger.is_recorded = False
            raise
        finally:
            if interruptions.count < NOW:
                company.after()
            else:
                ledger.put_off()
    finally:
        ledger.release()
        company.close()


def is_stuck() -> bool:
    """Whether something of a scenario still runs and cannot be ended."""
    return bool(_stuck)


class Company:
    """Everybody who plays on this side for one run."""

    def __init__(
        self,
        compiled: Compiled,
        aside: SubmitterHooks,
        run: Asked,
        interruptions: Interruptions,
        ledger: Ledger,
        left: SetupState | None = None,
    ) -> None:
        """Get ready; nothing is played yet.

        ``left`` is what the setup of another command has left, if this one only plays what comes
        after.
        """
        self.compiled = compiled
        self.ledger = ledger
        self.is_heir = left is not None
        self.aside = aside
        self.interruptions = interruptions
        self._heard = 0
        """So many interruptions were answered already: one more ends what is played."""
        plan = compiled.plan
        self.is_shared = "script" in plan
        """Whether anybody on the agents could see what is left here: compiled tasks see nothing."""
        self.users = plan["script"]["users"] if aside.start is not None else 0
        feeds = [(feed["name"], feed["rows"]) for feed in plan.get("script", {}).get("feeds", ())]
        self.scenario = LocalScenario(
            aside.cls, aside.once, aside.root, plan["target"], feeds, left
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
        """Play the setups, prepare the users; raises :class:`Failed`."""
        for place, hook in enumerate(self.aside.setups):
            self._go_on()
            say(f"setup      {safe_lines(hook.name)}()")
            told = self._play(hook.name, partial(self.player.once, place))
            if told:
                raise Failed(f"setup {hook.name}() failed: {told}")
            if self.is_shared:
                self._shared(hook, self.scenario.share_setup)
            self._keep(None)
        users: list[str] | None = None
        start = self.aside.start
        if start is not None:
            self._go_on()
            say(f"preparing  {self.users} users on this side")
            told = self._play("on_start", self.player.prepare)
            if told:
                raise Failed(told)
            users = self._shared(start, self.scenario.users)
            self._keep(users)
        last = start or (self.aside.setups[-1] if self.aside.setups else None)
        if last is None or not self.is_shared:
            return self.compiled
        shared, is_more = self._shared(last, self.scenario.shared)
        return self._sealed(shared, users) if is_more or users is not None else self.compiled

    def after(self) -> list[str]:
        """Let the users clean up, play the teardowns; what fails is told, and returned.

        Nothing is played when the log says that it is on somebody else.
        """
        self._heard = self.interruptions.count
        if not self.ledger.take():
            return []
        failed = self._retire() + self._tear_down()
        self.ledger.finish(failed)
        return failed

    def _retire(self) -> list[str]:
        """Let the users clean up."""
        if self.aside.start is None:
            return []
        told = ""
        if self.is_heir:
            told = self._play("on_stop", self.player.prepare)
        told = told or self._play("on_stop", self.player.retire, RETIRE_SECS)
        if told:
            say(f"error: {safe_lines(told)}")
        return ["on_stop"] if told else []

    def _tear_down(self) -> list[str]:
        """Play the teardowns."""
        failed = []
        first = len(self.aside.setups)
        for place, hook in enumerate(self.aside.teardowns, first):
            say(f"teardown   {safe_lines(hook.name)}()")
            told = self._play(hook.name, partial(self.player.once, place), TEARDOWN_SECS)
            if told:
                say(f"error: teardown {hook.name}() failed: {safe_lines(told)}")
                failed.append(hook.name)
        return failed

    def _keep(self, users: list[str] | None) -> None:
        """Keep what there is by now, for a command that may have to play what comes after."""
        shared, flaws = self.scenario.teardown_state()
        for flaw in flaws:
            what = "would be missing from a teardown by another command, should this one be killed"
            say(f"note: {safe_lines(flaw)}, which is no JSON: it {what}")
        try:
            self.ledger.keep(shared, users)
        except FAULTS as fault:
            raise Failed(f"what the setup left cannot be kept: {fault}") from None

    def close(self) -> None:
        """End the thread of the scenario."""
        has_ended = False
        try:
            has_ended = self.player.close(CLOSE_SECS)
        finally:
            if not has_ended:
                _stuck.append(self.aside.cls.__name__)

    def _go_on(self) -> None:
        """Raise :class:`Failed` when the user has asked to end meanwhile."""
        if self._is_interrupted():
            raise Failed("it was interrupted")

    def _is_interrupted(self) -> bool:
        return self.interruptions.count > self._heard

    def _play(
        self, name: str, begin: Callable[[], None], patience_secs: float | None = None
    ) -> str:
        """Play one part to its end; returns what failed, or nothing.

        A further interruption ends it, and so does its time.
        """
        if _stuck:
            return f"{_stuck[0]} is still busy and cannot be ended"
        # What a part leaves in cycles belongs to its thread, which collects it in the end.
        gc.disable()
        begin()
        told = self._told(name, patience_secs)
        if not _stuck:
            gc.enable()
        return told

    def _told(self, name: str, patience_secs: float | None) -> str:
        """Wait for the end of what is played, and call it off when it is time to."""
        began = monotonic()
        called_off: float | None = None
        is_late = False
        while True:
            told = self.player.told(POLL_SECS)
            now = monotonic()
            if told is not None:
                if called_off is not None:
                    self._heard = self.interruptions.count
                return f"it took longer than {patience_secs:.0f} s" if is_late else told
            if called_off is None:
                is_late = patience_secs is not None and now > began + patience_secs
                if is_late or self._is_interrupted():
                    self.player.call_off()
                    called_off = now
            elif now > called_off + LEAVE_SECS:
                _stuck.append(f"{name}()")
                return "it waits for something that is not the client, and could not be ended"

    def _shared(self, hook: Hook, take: Callable[[], Any]) -> Any:
        """Take what a part left; raises :class:`Failed` when that is no JSON."""
        try:
            return take()
        except NotPortable as flaw:
            what = f"{hook.place}: {hook.name}() cannot be used here: {flaw}"
            rule = "what it leaves on self and the class travels to the agents and must be JSON: "
            rule += "text, numbers, true, false, None, lists, and dicts with text keys"
            advice = ""
            if hook.name == "on_start":
                advice = '; with @scenario(prepare="agents") each agent calls on_start itself'
            raise Failed(f"{what}; {rule}{advice}") from None

    def _sealed(self, shared: str, users: list[str] | None) -> Compiled:
        """Put what was prepared beside the plan, sealed."""
        key = secrets.token_hex(KEY_BYTES)
        sealed = _native.seal_states(key, shared, users)
        if len(sealed) > SEALED_BYTES_MAX:
            what = f"the states of all users come to {len(sealed):,} bytes, 64 MiB are the most"
            raise Failed(f"{what}: keep less on self, or run fewer users")
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
    """End this process at once: a thread of the scenario's still runs Python."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
