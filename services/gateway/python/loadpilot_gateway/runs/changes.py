"""Differences between two answers about a run, so that a live page transfers little.

A caller that accepts MEDIA_TYPE names the ETag of the answer it has, and receives the difference.
Must never be needed for an answer: without the earlier one the caller receives the new one whole.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from threading import Lock
from typing import Any

from ..limits import ANSWERS_CHARS_MAX

MEDIA_TYPE = "application/vnd.loadpilot.changes+json"
"""A change is `[]` (the member is gone), `[value]` (the new value), or an object with a change for
each member of an object, or element of a list, that is different."""

Change = list[Any] | dict[str, Any]


class Answers:
    """Newest answers about runs that go on, by ETag; any thread may use it."""

    def __init__(self) -> None:
        """Begin without any."""
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._chars = 0
        self._lock = Lock()

    def find(self, etag: str) -> str | None:
        """Return the answer with this ETag, if it is still stored."""
        with self._lock:
            return self._texts.get(etag)

    def store(self, etag: str, text: str) -> None:
        """Store an answer, and drop the oldest beyond ANSWERS_CHARS_MAX."""
        with self._lock:
            self._chars += len(text) - len(self._texts.pop(etag, ""))
            self._texts[etag] = text
            while self._chars > ANSWERS_CHARS_MAX:
                _, oldest = self._texts.popitem(last=False)
                self._chars -= len(oldest)


def changes_text(old: str, new: str) -> str:
    """Return the change between two JSON texts, as JSON."""
    found = change(json.loads(old), json.loads(new))
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def change(old: Any, new: Any) -> Change:
    """Compare two values of JSON."""
    if isinstance(old, dict) and isinstance(new, dict):
        return _of_members(old, new)
    if isinstance(old, list) and isinstance(new, list) and len(old) <= len(new):
        return _of_elements(old, new)
    return [new]


def _of_members(old: dict[str, Any], new: dict[str, Any]) -> Change:
    found: dict[str, Any] = {name: [] for name in old if name not in new}
    for name, value in new.items():
        if name not in old:
            found[name] = [value]
        elif old[name] != value:
            found[name] = change(old[name], value)
    return found


def _of_elements(old: list[Any], new: list[Any]) -> Change:
    pairs = enumerate(zip(old, new, strict=False))
    found: dict[str, Any] = {str(at): change(a, b) for at, (a, b) in pairs if a != b}
    found |= {str(at): [new[at]] for at in range(len(old), len(new))}
    return [new] if 2 * len(found) > len(new) else found
