"""State of prepared users and their class: written as JSON on one side, restored on the other.

A restored user equals the prepared one. An attribute that cannot be transferred is an error that
names it, never dropped silently.
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
"""Maximum nesting of lists and dicts."""
CONTAINERS = (list, dict, set, bytearray, deque)
"""Types that change in place."""


class NotPortable(Exception):
    """An attribute cannot be transferred; the message names it and its type."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An attribute at an earlier time."""

    value: Any
    text: str | None
    """The value as JSON; None if it is not JSON."""
    content: Any
    """A shallow copy of a container, else None."""


def snapshot(attributes: Mapping[str, Any]) -> dict[str, Snapshot]:
    """Record attributes, to find later changes."""
    return {
        name: Snapshot(value, _text(value), copy.copy(value) if type(value) in CONTAINERS else None)
        for name, value in attributes.items()
    }


def portable(before: Mapping[str, Snapshot], now: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Return the attributes to transfer: all that are JSON.

    An unchanged attribute of ``before`` that is not JSON is left out: the same code creates it on
    the other side. Raises :class:`NotPortable` for any other; ``owner`` prefixes its name.
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
    """Return the attributes to transfer that are new or changed; raises :class:`NotPortable`."""
    found = portable(before, now, owner)
    return {n: v for n, v in found.items() if n not in before or before[n].text != _text(v)}


def portable_part(
    before: Mapping[str, Snapshot], now: Mapping[str, Any], owner: str
) -> tuple[dict[str, Any], list[str]]:
    """Return the changed attributes that are JSON, and a message for each of the others.

    For a teardown that another command may have to run: an incomplete state is better than none.
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
    """Return the attributes of a class itself, without those of Python."""
    return {name: value for name, value in vars(cls).items() if not name.startswith("__")}


def shared_classes(cls: type) -> list[type]:
    """Return the classes whose attributes the users share."""
    return [one for one in cls.__mro__ if one not in {object, VUser}]


def shared_text(attributes: list[dict[str, Any]], shared_names: list[str]) -> str:
    """Write the shared state as JSON.

    ``attributes`` are those of each class in :func:`shared_classes`. ``shared_names`` are class
    attributes that take precedence over those of a user.
    """
    return json.dumps({"classes": attributes, "over": shared_names}, allow_nan=False)


def restore_shared(text: str, cls: type) -> list[str]:
    """Set the class attributes of :func:`shared_text`; returns its ``shared_names``."""
    state = json.loads(text)
    for one, attributes in zip(shared_classes(cls), state["classes"], strict=True):
        for name, value in attributes.items():
            setattr(one, name, value)
    shared_names: list[str] = state["over"]
    return shared_names


def user_text(
    before: Mapping[str, Snapshot], now: Mapping[str, Any], conversation: Conversation
) -> str:
    """Write the state of a user, changed since ``before``; raises :class:`NotPortable`."""
    gone = sorted(before.keys() - now.keys())
    state = {"self": portable(before, now, "self"), "gone": gone, "cookies": conversation.state()}
    return json.dumps(state, allow_nan=False)


def restore(text: str, instance: Any, conversation: Conversation) -> None:
    """Give a new user the state of :func:`user_text`."""
    state = json.loads(text)
    for name in state["gone"]:
        vars(instance).pop(name, None)
    vars(instance).update(state["self"])
    conversation.restore(state["cookies"])


def json_flaw(  # noqa: PLR0911  (one line per kind of value)
    value: Any, name: str, depth: int = 0
) -> str | None:
    """Describe the part of a value that is not JSON; None if it survives a round trip."""
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
                return f"{name} has the key {key!r}, which is not text"
            flaw = json_flaw(one, f"{name}[{key!r}]", depth + 1)
            if flaw is not None:
                return flaw
        return None
    return f"{name} is a {kind.__qualname__}"


def _text(value: Any) -> str | None:
    return json.dumps(value) if json_flaw(value, "") is None else None
