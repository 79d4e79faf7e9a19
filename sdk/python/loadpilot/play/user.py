"""One virtual user: an instance of the scenario's class, moved on from wish to wish.

What it raises is told in words; nothing that it raises may reach the engine's thread.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from greenlet import GreenletExit

from .._native import Request
from .client import AwaitedClient, Conversation, PlainClient
from .inside import Ended, Playing, Stopped, move_on
from .told import told, told_at_length

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from .inside import Wish
    from .scenario import Part, Scenario

WISHES = (Request, float, list)
START = -1


class User:
    """One user of a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        """Make the instance; whatever its making raises is raised."""
        self._parts = scenario.parts
        self._self = scenario.cls()
        self._conversation = Conversation(scenario.target)
        self._playing = Playing(self._play)
        self._plain = PlainClient(self._conversation, self._playing)
        self._awaited = AwaitedClient(self._conversation)
        self._coroutine: Coroutine[Any, Any, None] | None = None
        self._part: int = START

    def begin(self, number: int) -> Wish | Ended:
        """Begin a part; returns its first wish, or how it ended."""
        part = self._parts[number]
        self._part = number
        self._conversation.last = None
        # What prepares a user goes where a browser would.
        self._conversation.follows = number < 0
        if not part.is_awaiting:
            wish: Wish | Ended = self._playing.switch(part)
            return wish
        try:
            self._coroutine = part.function(self._self, self._awaited)
        except Exception as error:  # noqa: BLE001  (user code: any error is the user's)
            return None, self._told(error)
        return self._go(part, None)

    def go_on(self, kind: int, heard: Any) -> Wish | Ended:
        """Go on with what was wished for; returns the next wish, or how the part ended."""
        if self._coroutine is None:
            wish: Wish | Ended = self._playing.switch(kind, heard)
            return wish
        return self._go(self._parts[self._part], (kind, heard))

    def _go(self, part: Part, heard: Any) -> Wish | Ended:
        """Move a coroutine on."""
        assert self._coroutine is not None, "only while a coroutine runs"  # noqa: S101
        try:
            return move_on(self._coroutine, heard, WISHES)
        except StopIteration:
            raised = None
        except Stopped:
            raised = None
        except BaseException as error:  # noqa: BLE001  (user code: any error is the user's)
            raised = self._told(error)
        self._coroutine = None
        if self._awaited.forgotten:
            count = len(self._awaited.forgotten)
            self._awaited.forgotten.clear()
            raised = raised or f"{count} requests were made and never awaited, so never sent"
        return self._judged(part, raised)

    def _play(self, part: Part) -> Ended:
        """Do one part on its own stack."""
        raised = None
        try:
            result = part.function(self._self, self._plain)
            if inspect.iscoroutine(result):
                self._drive(result)
        except Stopped:
            pass
        except BaseException as error:
            if not _is_the_users(error):
                raise
            raised = self._told(error)
        return self._judged(part, raised)

    def _drive(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine that makes its requests without awaiting them."""
        heard = None
        while True:
            try:
                wish = move_on(coroutine, heard, WISHES)
            except StopIteration:
                return
            heard = self._playing.asked(wish)

    def _judged(self, part: Part, raised: str | None) -> Ended:
        """Let the part's check look at the last answer, if there is one of each."""
        last = self._conversation.last
        if part.check is None or last is None or raised is not None:
            return None, raised
        try:
            if part.check_takes_response:
                part.check(self._self, last)
            else:
                part.check(self._self, last.status_code, _json(last))
        except BaseException as error:
            if not _is_the_users(error):
                raise
            return (told(error),), None
        return (None,), None

    def _told(self, error: BaseException) -> str:
        return told_at_length(error) if self._part == START else told(error)


def _json(response: Any) -> Any:
    """The JSON of an answer; None when it is none."""
    try:
        return response.json()
    except ValueError:
        return None


def _is_the_users(error: BaseException) -> bool:
    """Whether an error is to be told; the end of a greenlet is not."""
    return not isinstance(error, GreenletExit)
