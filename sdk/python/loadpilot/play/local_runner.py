"""Execution of a scenario's hooks on the submitter, with a class that is loaded already.

It runs setups and teardowns, and prepares users whose state then travels to the agents. If the
command that ran the setup is gone, another one continues from the state that the setup has left.
"""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from . import states
from .conversation import Conversation
from .execution_mode import ExecutionMode, execution_mode
from .greenlets import as_plain_function
from .scenario import Part, Switch, bind_feeds, guest_loop_of, new_instance, part_of, stack_switches
from .sleep_patch import install
from .tracebacks import add_root

if TYPE_CHECKING:
    from pathlib import Path

    from .loop import GuestLoop
    from .scenario import PlannedFeed

HOOK_USER = 2**32 - 1
"""Number of the user on which setups and teardowns run."""


class SetupState(NamedTuple):
    """The state that a setup has left."""

    shared: str
    """The attributes that users share and those of the hook user, as JSON."""
    users: list[str] | None
    """The state of each user, as JSON, if they were prepared."""


class LocalScenario:
    """A scenario and its users on the submitter."""

    def __init__(
        self,
        cls: type,
        once: list[str],
        root: Path,
        target: str,
        feeds: list[PlannedFeed],
        left: SetupState | None = None,
    ) -> None:
        """Take a class, the names of its setups and teardowns, and the folder of its files.

        ``feeds`` are those of the plan. ``left`` is the state
        that the setup of another command has left; then ``on_start`` is not run again.
        """
        install()
        add_root(root)
        bind_feeds(cls, feeds)
        self.cls = cls
        self.target = target
        self.start, self.stop = part_of(cls, "on_start"), part_of(cls, "on_stop")
        self.tasks: list[Part] = []
        self.once = [_once(cls, name) for name in once]
        self.shared_names: list[str] = []
        self._classes = [
            states.snapshot(states.class_attributes(one)) for one in states.shared_classes(cls)
        ]
        self._users: dict[int, tuple[Any, Conversation, dict[str, states.Snapshot]]] = {}
        self.left = left
        if left is not None:
            self.shared_names = states.restore_shared(left.shared, cls)
            self.start = _do_nothing, ExecutionMode.STACK.name, None, False

    def guest(self) -> GuestLoop | None:
        """Create an event loop for the calling thread, if any part needs one."""
        return guest_loop_of((self.start, self.stop, *self.once))

    def user(self, number: int) -> tuple[Any, Conversation, Switch, Switch, Switch]:
        """Create a user; see :meth:`loadpilot.play.scenario.Scenario.user`."""
        instance = new_instance(self.cls, self.shared_names)
        conversation = Conversation(self.target)
        if self.left is not None and number == HOOK_USER:
            vars(instance).update(json.loads(self.left.shared)["self"])
        elif self.left is not None and self.left.users is not None:
            states.restore(self.left.users[number], instance, conversation)
        self._users[number] = instance, conversation, states.snapshot(vars(instance))
        return instance, conversation, *stack_switches()

    def share_setup(self) -> None:
        """Move attributes that a setup set on ``self`` to the class; NotPortable unless JSON."""
        if HOOK_USER not in self._users:
            return
        instance, conversation, before = self._users[HOOK_USER]
        for name, value in states.portable_changes(before, vars(instance), "self").items():
            setattr(self.cls, name, value)
            self.shared_names = sorted({*self.shared_names, name})
        self._users[HOOK_USER] = instance, conversation, states.snapshot(vars(instance))

    def shared(self) -> tuple[str, bool]:
        """Return the shared state as JSON, and whether it differs from that of the file.

        Raises NotPortable.
        """
        found = []
        for one, before in zip(states.shared_classes(self.cls), self._classes, strict=True):
            found.append(
                states.portable_changes(before, states.class_attributes(one), one.__name__)
            )
        return states.shared_text(found, self.shared_names), any(found)

    def teardown_state(self) -> tuple[str, list[str]]:
        """Return the state for a teardown as JSON, and the attributes that are not JSON."""
        found, flaws = [], []
        for one, before in zip(states.shared_classes(self.cls), self._classes, strict=True):
            attributes, wrong = states.portable_part(
                before, states.class_attributes(one), one.__name__
            )
            found.append(attributes)
            flaws += wrong
        own: dict[str, Any] = {}
        if HOOK_USER in self._users:
            own, wrong = states.portable_part({}, vars(self._users[HOOK_USER][0]), "self")
            flaws += wrong
        shared = json.loads(states.shared_text(found, self.shared_names))
        return json.dumps({**shared, "self": own, "flaws": flaws}, allow_nan=False), flaws

    def users(self) -> list[str]:
        """Return the state of all users, ordered by number; raises NotPortable."""
        written = []
        for number in sorted(self._users.keys() - {HOOK_USER}):
            instance, conversation, before = self._users[number]
            written.append(states.user_text(before, vars(instance), conversation))
        return written

    def forget(self) -> None:
        """Drop all users; called on the thread that created them."""
        self._users.clear()


def _do_nothing(_: Any, __: Any) -> None:
    """Stand in for ``on_start`` of a prepared user."""


def _once(cls: type, name: str) -> Part:
    """Build the part of a setup or teardown, which may be any kind of method."""
    if not isinstance(inspect.getattr_static(cls, name), staticmethod | classmethod):
        return part_of(cls, name)
    function = getattr(cls, name)
    mode = execution_mode(cls, function)

    def play(_: Any, client: Any) -> Any:
        return function(client)

    if mode is ExecutionMode.STACK and inspect.iscoroutinefunction(function):
        return as_plain_function(play), mode.name, None, False
    return play, mode.name, None, False
