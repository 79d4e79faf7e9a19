"""Stores the bodies of a plan: inside of it, or beside it under their hash.

A plan is one message of the log, so large bodies do not fit. The choice depends on the content of
the bodies only: equal scenarios have equal plans.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

INLINE_BYTES_MAX = 64 * 1024
"""Maximum size of a body inside of a plan, in bytes."""
INLINE_TOTAL_BYTES_MAX = 256 * 1024
"""Maximum size of all bodies inside of a plan, as JSON, in bytes; the largest are moved first."""


class BodyStore:
    """The bodies of one plan."""

    def __init__(self) -> None:
        """Start without bodies."""
        self.beside: dict[str, bytes] = {}
        """The bodies beside the plan, by SHA-256 in hex."""
        self._inline: list[tuple[int, bytes, dict[str, Any]]] = []

    def add(self, step: dict[str, Any], content: bytes) -> None:
        """Add the body of a step."""
        if len(content) > INLINE_BYTES_MAX:
            self._keep_beside(step, content)
            return
        try:
            step["body"] = {"text": content.decode()}
        except UnicodeDecodeError:
            step["body"] = {"base64": base64.b64encode(content).decode()}
        written = len(json.dumps(step["body"], ensure_ascii=False).encode())
        self._inline.append((written, content, step))

    def move_largest_beside(self) -> None:
        """Move the largest bodies beside the plan until the others fit; called once, at the end."""
        self._inline.sort(key=lambda one: one[:2])
        total = sum(written for written, _, _ in self._inline)
        while total > INLINE_TOTAL_BYTES_MAX:
            written, content, step = self._inline.pop()
            total -= written
            self._keep_beside(step, content)

    def _keep_beside(self, step: dict[str, Any], content: bytes) -> None:
        digest = hashlib.sha256(content).hexdigest()
        self.beside[digest] = content
        step["body"] = {"object": {"sha256": digest, "bytes": len(content)}}
