"""A scenario as the side plays it that asks for the run: its class is loaded already.

It plays what happens once per run, and prepares users whose state then travels to the agents; or,
where another command has played the setup and is gone, goes on with what that left. Must never
change what the class is to anybody else than the users of this run.
"""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from . import states
from .execution_mode import Moved, moved
from .conversation import Conversation
from .greenlets import driven
from .scenario import Part, Way, give, guest_of, made, part_of, ways
from .sleep_patch import install
from .tracebacks import know

if TYPE_CHECKING:
    from pathlib import Path

    from .loop import Guest

NOBODY = 2**32 - 1
"""The number of whoever plays what happens once per run."""


class Left(NamedTuple):
    """What a setup has left."""

    shared: str
    """What users share, and what is on whoever plays what happens once, as JSON."""
    users: list[str] | None
    """Each user, if they were prepared."""


class AtHand:
    """One scenario and its users on this side."""

    def __init__(
        self,
        cls: type,
        once: list[str],
        root: Path,
        target: str,
        feeds: list[tuple[str, int]],
        left: Left | None = None,
    ) -> None:
        """Take a class, the names of what happens once, the folder of its files.

        ``feeds`` are those of the plan, each with the number of its rows; ``left`` is what the
        setup of another command has left: then users come prepared.
        """
        install()
        know(root)
        give(cls, feeds)
        self.cls = cls
        self.target = target
        self.start, self.stop = part_of(cls, "on_start"), part_of(cls, "on_stop")
        self.tasks: list[Part] = []
        self.once = [_once(cls, name) for name in once]
        self.over: list[str] = []
        self._classes = [states.note(states.own(one)) for one in states.classes(cls)]
        self._users: dict[int, tuple[Any, Conversation, dict[str, states.Noted]]] = {}
        self.left = left
        if left is not None:
            self.over = states.share(left.shared, cls)
            self.start = _nothing, Moved.STACK.name, None, False

    def guest(self) -> Guest | None:
        """Make an event loop for the calling thread, if any part needs one."""
        return guest_of((self.start, self.stop, *self.once))

    def user(self, number: int) -> tuple[Any, Conversation, Way, Way, Way]:
        """Make a user; see :meth:`loadpilot.play.scenario.Scenario.user`."""
        instance, conversation = made(self.cls, self.over), Conversation(self.target)
        if self.left is not None and number == NOBODY:
            vars(instance).update(json.loads(self.left.shared)["self"])
        elif self.left is not None and self.left.users is not None:
            states.restore(self.left.users[number], instance, conversation)
        self._users[number] = instance, conversation, states.note(vars(instance))
        return instance, conversation, *ways()

    def settle(self) -> None:
        """Give all users what a setup set on ``self``; raises Unshareable when that is no JSON."""
        if NOBODY not in self._users:
            return
        instance, conversation, before = self._users[NOBODY]
        for name, value in states.changed(before, vars(instance), "self").items():
            setattr(self.cls, name, value)
            self.over = sorted({*self.over, name})
        self._users[NOBODY] = instance, conversation, states.note(vars(instance))

    def shared(self) -> tuple[str, bool]:
        """Write what users share, and whether that is more than the file says.

        Raises Unshareable.
        """
        found = []
        for one, before in zip(states.classes(self.cls), self._classes, strict=True):
            found.append(states.changed(before, states.own(one), one.__name__))
        return states.shared_text(found, self.over), any(found)

    def leaves(self) -> tuple[str, list[str]]:
        """Write what a teardown may need, and say what of it cannot be written."""
        found, flaws = [], []
        for one, before in zip(states.classes(self.cls), self._classes, strict=True):
            attributes, wrong = states.carried(before, states.own(one), one.__name__)
            found.append(attributes)
            flaws += wrong
        own: dict[str, Any] = {}
        if NOBODY in self._users:
            own, wrong = states.carried({}, vars(self._users[NOBODY][0]), "self")
            flaws += wrong
        shared = json.loads(states.shared_text(found, self.over))
        return json.dumps({**shared, "self": own, "flaws": flaws}, allow_nan=False), flaws

    def users(self) -> list[str]:
        """Write all users by their numbers; raises Unshareable."""
        written = []
        for number in sorted(self._users.keys() - {NOBODY}):
            instance, conversation, before = self._users[number]
            written.append(states.user_text(before, vars(instance), conversation))
        return written

    def forget(self) -> None:
        """Let go of all users, on the thread that made them."""
        self._users.clear()


def _nothing(_: Any, __: Any) -> None:
    """Prepare a user that comes prepared."""


def _once(cls: type, name: str) -> Part:
    """Understand what happens once: any kind of method."""
    if not isinstance(inspect.getattr_static(cls, name), staticmethod | classmethod):
        return part_of(cls, name)
    function = getattr(cls, name)
    way = moved(cls, function)

    def play(_: Any, client: Any) -> Any:
        return function(client)

    if way is Moved.STACK and inspect.iscoroutinefunction(function):
        return driven(play), way.name, None, False
    return play, way.name, None, False
