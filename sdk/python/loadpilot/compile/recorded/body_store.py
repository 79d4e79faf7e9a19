"""Where the bodies of a plan stand: in it, or beside it under their hash.

A plan is one message of the log, so that large bodies do not fit. Which ones stand beside it
depends on their content alone: equal scenarios have equal plans. Must never change a byte.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

INLINE_BYTES_MAX = 64 * 1024
"""Largest body that stands in a plan, in bytes."""
INLINE_TOTAL_BYTES_MAX = 256 * 1024
"""All bodies that stand in a plan, together, as JSON in bytes; the largest ones leave first."""


class BodyStore:
    """The bodies of one plan."""

    def __init__(self) -> None:
        """Start with none."""
        self.beside: dict[str, bytes] = {}
        """Those that are kept beside the plan, by their SHA-256 in hex."""
        self._inline: list[tuple[int, bytes, dict[str, Any]]] = []

    def add(self, step: dict[str, Any], content: bytes) -> None:
        """Give a step of the plan its body."""
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
        """Move bodies out of the plan until the rest of them fits; the last step of a plan."""
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
