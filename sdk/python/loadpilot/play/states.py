"""What a scenario keeps on its users and its class, as JSON: written here, restored elsewhere.

Users that are prepared on one side and serve on another must be the same users there. Whatever
cannot be carried over is refused by its name, never left behind in silence.
"""

from __future__ import annotations

import copy
import json
import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..dsl import VUser

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .conversation import Conversation

DEPTH_MAX = 64
"""How deep lists and dicts may hold one another."""
CONTAINERS = (list, dict, set, bytearray, deque)
"""What may change without becoming another object."""


class NotPortable(Exception):
    """An attribute cannot be carried over; the message names it and its type."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An attribute as it once was."""

    value: Any
    text: str | None
    """As JSON, if it was that."""
    content: Any
    """A shallow copy, of what may change in place."""


def snapshot(attributes: Mapping[str, Any]) -> dict[str, Snapshot]:
    """Note what is there now, to tell later what has changed."""
    return {
        name: Snapshot(value, _text(value), copy.copy(value) if type(value) in CONTAINERS else None)
        for name, value in attributes.items()
    }


def portable(before: Mapping[str, Snapshot], now: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """List what is to be carried over: all that is JSON.

    What was there ``before``, is no JSON and has not changed is made anew elsewhere by the code
    that made it here. Raises :class:`NotPortable` for anything else; ``owner`` is its name there.
    """
    found = {}
    for name, value in now.items():
        flaw = json_flaw(value, f"{owner}.{name}")
        if flaw is None:
            found[name] = value
            continue
        was = before.get(name)
        if was is None or was.value is not value:
            raise NotPortable(flaw)
        if type(value) in CONTAINERS and was.content != value:
            raise NotPortable(flaw)
    return found


def portable_changes(
    before: Mapping[str, Snapshot], now: Mapping[str, Any], owner: str
) -> dict[str, Any]:
    """List what is to be carried over and was not there before, or not the same."""
    found = portable(before, now, owner)
    return {n: v for n, v in found.items() if n not in before or before[n].text != _text(v)}


def portable_part(
    before: Mapping[str, Snapshot], now: Mapping[str, Any], owner: str
) -> tuple[dict[str, Any], list[str]]:
    """List what of the changes is JSON, and say of each other one what it is.

    For a teardown that somebody else may have to play: better half of what it needs than nothing.
    """
    found, flaws = {}, []
    for name, value in now.items():
        was = before.get(name)
        flaw = json_flaw(value, f"{owner}.{name}")
        if flaw is None:
            if was is None or was.text != _text(value):
                found[name] = value
        elif was is None or was.value is not value:
            flaws.append(flaw)
    return found, flaws


def class_attributes(cls: type) -> dict[str, Any]:
    """List what a class itself holds, but for what Python put there."""
    return {name: one for name, one in vars(cls).items() if not name.startswith("__")}


def shared_classes(cls: type) -> list[type]:
    """List the classes of which users share the attributes."""
    return [one for one in cls.__mro__ if one not in {object, VUser}]


def shared_text(attributes: list[dict[str, Any]], over: list[str]) -> str:
    """Write what users share: of each class in :func:`shared_classes`, and what no user may hide."""
    return json.dumps({"classes": attributes, "over": over}, allow_nan=False)


def restore_shared(text: str, cls: type) -> list[str]:
    """Put in place what users share; returns the attributes that no user may hide."""
    told = json.loads(text)
    for one, attributes in zip(shared_classes(cls), told["classes"], strict=True):
        for name, value in attributes.items():
            setattr(one, name, value)
    over: list[str] = told["over"]
    return over


def user_text(
    before: Mapping[str, Snapshot], now: Mapping[str, Any], conversation: Conversation
) -> str:
    """Write one user, as it is after ``before``; raises :class:`NotPortable`."""
    gone = sorted(before.keys() - now.keys())
    state = {"self": portable(before, now, "self"), "gone": gone, "cookies": conversation.state()}
    return json.dumps(state, allow_nan=False)


def restore(text: str, instance: Any, conversation: Conversation) -> None:
    """Make a new user the one that was written."""
    state = json.loads(text)
    for name in state["gone"]:
        vars(instance).pop(name, None)
    vars(instance).update(state["self"])
    conversation.restore(state["cookies"])


def json_flaw(  # noqa: PLR0911  (one line per kind of value)
    value: Any, name: str, depth: int = 0
) -> str | None:
    """Say what of a value is not JSON; None when it would be read back as it is."""
    kind = type(value)
    if value is None or kind in {str, bool, int}:
        return None
    if kind is float:
        return None if math.isfinite(value) else f"{name} is {value}"
    if depth > DEPTH_MAX:
        return f"{name} holds itself, or lists and dicts more than {DEPTH_MAX} deep"
    if kind is list:
        flaws = (json_flaw(one, f"{name}[{place}]", depth + 1) for place, one in enumerate(value))
        return next(filter(None, flaws), None)
    if kind is dict:
        for key, one in value.items():
            if type(key) is not str:
                return f"{name} has the key {key!r}, which is no text"
            flaw = json_flaw(one, f"{name}[{key!r}]", depth + 1)
            if flaw is not None:
                return flaw
        return None
    return f"{name} is a {kind.__qualname__}"


def _text(value: Any) -> str | None:
    return json.dumps(value) if json_flaw(value, "") is None else None
