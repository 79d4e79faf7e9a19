"""Requests that the oracle received, in a form that is equal for two clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.oracle.oracle import Request

Seen = tuple[str, str, int, str, tuple[tuple[str, str], ...]]
"""Method, path, length and hash of the body, headers."""
FNV_OFFSET, FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3


def fnv1a(content: bytes) -> str:
    """The hash of a body, in the form of the oracle's log."""
    value = FNV_OFFSET
    for byte in content:
        value = ((value ^ byte) * FNV_PRIME) % 2**64
    return f"{value:016x}"


def seen(
    requests: Sequence[Request], names: set[str], defaults: Mapping[str, str] | None = None
) -> list[Seen]:
    """The requests with some of their headers, without headers of default values.

    Each client makes a boundary of its own, so of a multipart body only its kind is compared.
    """
    found: list[Seen] = []
    for one in requests:
        headers = {name: value for name, value in one.headers or () if name in names}
        for name, value in (defaults or {}).items():
            if headers.get(name) == value:
                del headers[name]
        is_multipart = headers.get("content-type", "").startswith("multipart/form-data")
        if is_multipart:
            headers["content-type"] = "multipart/form-data"
        body = (0, "multipart") if is_multipart else (one.body_len, one.body_fnv1a)
        found.append((one.method, one.path, *body, tuple(sorted(headers.items()))))
    return found
