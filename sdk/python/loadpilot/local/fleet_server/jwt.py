"""JWTs of NATS: an operator signs those of accounts, and an account those of its users.

The format is version 2 of github.com/nats-io/jwt. Must never contain a seed.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from ... import _native

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .roles import Permissions

Kind = Literal["operator", "account", "user"]
HEADER = {"typ": "JWT", "alg": "ed25519-nkey"}
VERSION = 2
PARTS = 3
UNLIMITED = -1
LIMITS = ("subs", "data", "payload", "imports", "exports", "conn", "leaf", "streams", "consumer")
OWN_INBOXES = "_INBOX.{{subject()}}.>"
"""Inboxes of the user that logs in, as the server fills in."""
TENANT_OF_USER = "{{tag(tenant)}}"
"""Tenant in the JWT of the user that logs in, as the server fills in."""
RESPONSES_MAX, RESPONSES_NS = 4, 60_000_000_000


@dataclass(frozen=True, slots=True)
class Key:
    """A key pair."""

    kind: Kind
    seed: str
    public: str

    @classmethod
    def new(cls, kind: Kind) -> Self:
        """Make one."""
        return cls(kind, *_native.new_nats_key(kind))

    @classmethod
    def of(cls, seed: str) -> Self:
        """Read a seed; raises ValueError, which does not quote it."""
        return cls(*_kind_first(seed))

    def __repr__(self) -> str:
        """Show the public half only."""
        return f"Key({self.public})"


def _kind_first(seed: str) -> tuple[Kind, str, str]:
    kind, public = _native.nats_key(seed)
    return kind, seed, public


@dataclass(frozen=True, slots=True)
class Scope:
    """A signing key of an account, and the permissions of all users that it signs."""

    role: str
    key: str
    """Public half."""
    permissions: Permissions


def operator(key: Key, name: str, now: int) -> str:
    """Sign the JWT of an operator."""
    return signed(key, key.public, name, now, {"type": "operator"})


def account(
    signer: Key,
    public: str,
    name: str,
    now: int,
    *,
    scopes: Iterable[Scope] = (),
    max_stored: int = 0,
    streams: int = UNLIMITED,
) -> str:
    """Sign the JWT of an account; without bytes to store it has no JetStream."""
    limits: dict[str, Any] = dict.fromkeys(LIMITS, UNLIMITED)
    limits |= {"wildcards": True, "disallow_bearer": True}
    limits |= {"disk_storage": max_stored, "streams": streams if max_stored else 0}
    claims = {"type": "account", "limits": limits}
    keys = [_scope(one) for one in scopes]
    return signed(signer, public, name, now, claims | ({"signing_keys": keys} if keys else {}))


def _scope(scope: Scope) -> dict[str, Any]:
    allowed = scope.permissions
    template: dict[str, Any] = {
        "pub": {"allow": list(dict.fromkeys(allowed.publish))},
        "sub": {"allow": [*dict.fromkeys(allowed.subscribe), OWN_INBOXES]},
        **dict.fromkeys(("subs", "data", "payload"), UNLIMITED),
    }
    if allowed.answers:
        template["resp"] = {"max": RESPONSES_MAX, "ttl": RESPONSES_NS}
    return {"kind": "user_scope", "key": scope.key, "role": scope.role, "template": template}


def user(
    signer: Key,
    account_key: str,
    public: str,
    name: str,
    now: int,
    *,
    tags: Mapping[str, str],
    expires: int | None,
) -> str:
    """Sign the JWT of a user with a scoped key, whose template holds the permissions."""
    claims = {
        "type": "user",
        "issuer_account": account_key,
        "pub": {},
        "sub": {},
        "tags": [f"{name}:{value}" for name, value in tags.items()],
    }
    return signed(signer, public, name, now, claims, expires)


def signed(
    signer: Key,
    subject: str,
    name: str,
    now: int,
    nats: Mapping[str, Any],
    expires: int | None = None,
) -> str:
    """Sign claims about a key; times are in seconds since 1970."""
    claims: dict[str, Any] = {"iat": now, "iss": signer.public, "name": name, "sub": subject}
    claims["nats"] = {**nats, "version": VERSION}
    if expires is not None:
        claims["exp"] = expires
    digest = hashlib.sha256(json.dumps(claims).encode()).digest()
    claims["jti"] = base64.b32encode(digest).rstrip(b"=").decode()
    text = ".".join(_base64(json.dumps(one).encode()) for one in (HEADER, claims))
    return f"{text}.{_base64(_native.sign_with_nats_key(signer.seed, text.encode()))}"


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def claims_of(jwt: str) -> dict[str, Any]:
    """Read the claims of a JWT, whose signature is the server's to check; raises ValueError."""
    parts = jwt.split(".")
    if len(parts) != PARTS:
        raise ValueError("not a JWT")
    found = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    if not isinstance(found, dict) or not isinstance(found.get("nats"), dict):
        raise ValueError("not a JWT of NATS")  # noqa: TRY004
    return found


def is_signed_by(signer: Key, jwt: str) -> bool:
    """Whether a key signed a JWT: a signature of Ed25519 is the same each time."""
    text, _, signature = jwt.rpartition(".")
    return signature == _base64(_native.sign_with_nats_key(signer.seed, text.encode()))


def credentials(jwt: str, key: Key) -> str:
    """Write a credentials file: the JWT of a user and its seed."""
    return (
        f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{key.seed}\n------END USER NKEY SEED------\n"
    )
