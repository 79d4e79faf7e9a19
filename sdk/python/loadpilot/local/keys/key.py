"""One key of a gateway: its text, which is shown once, and its stored form.

Must never hold the secret part of a key beyond the call that makes it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

KEY = re.compile(r"lpk_([0-9a-f]{12})_[0-9a-f]{64}")
"""Text of a key: prefix, public id, and a secret of 256 random bits in hexadecimal digits."""
KEY_PREFIX = "lpk_"
ID_BYTES, SECRET_BYTES = 6, 32
NAME = re.compile(r"[\w.@+-][\w .@+-]{0,62}[\w.@+-]|[\w.@+-]")
NAME_RULE = "must be 1 to 64 letters, digits, spaces or . @ + - _, without a space at either end"
TENANT = re.compile(r"[a-z0-9_-]{1,128}")
TENANT_RULE = "must be 1 to 128 characters out of a-z 0-9 _ -"


class Role(StrEnum):
    """What a caller may do. Each role includes those before it."""

    VIEWER = "viewer"
    """Reads runs, and asks questions that store nothing."""
    RUNNER = "runner"
    """Also starts, steers and annotates runs."""
    ADMIN = "admin"
    """Also throws the kill switch, and lists the keys of its tenant."""

    def includes(self, other: Role) -> bool:
        """Whether this role may do all that another may."""
        order = list(Role)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True)
class Key:
    """A key as it is stored: everything but its secret. Times are in seconds since 1970 (UTC)."""

    id: str
    name: str
    tenant: str
    role: Role
    created: int
    expires: int | None
    """When it ends; None: never."""
    revoked: int | None
    """When it was revoked; None: it was not."""
    sha256: str
    """SHA-256 of the whole text, in hexadecimal digits."""

    def state(self, now: float) -> str:
        """Return `valid`, `expired` or `revoked`."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and self.expires <= now else "valid"

    def is_shown_by(self, text: str) -> bool:
        """Whether a text is this key, compared in constant time."""
        return hmac.compare_digest(hashed(text), self.sha256)


def new_key(name: str, tenant: str, role: Role, now: int, expires: int | None) -> tuple[Key, str]:
    """Make a key; returns its stored form, and its text."""
    id_ = secrets.token_hex(ID_BYTES)
    text = f"{KEY_PREFIX}{id_}_{secrets.token_hex(SECRET_BYTES)}"
    return Key(id_, name, tenant, role, now, expires, None, hashed(text)), text


def hashed(text: str) -> str:
    """Return the SHA-256 of a key's text; 256 random bits need no slow hash."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def written(time_s: int) -> str:
    """Write a time as RFC 3339 in UTC."""
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parsed(text: str) -> int:
    """Read a time as `written` writes it; raises ValueError."""
    return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp())
