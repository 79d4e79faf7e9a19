"""Keys and JWTs of an operator, an account and a user, as `nsc` makes them, signed by openssl.

operator = Operator.new()
access = operator.access({"conn": 10})
file.write_text(operator.creds(expires_s=4))
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.e2e.support.certificates import OPENSSL

DER = bytes.fromhex("302e020100300506032b657004220420")
"""PKCS #8 prefix of the 32 bytes of an Ed25519 key."""
SEED, PREFIXES = 18 << 3, {"operator": 14 << 3, "account": 0, "user": 20 << 3}
UNLIMITED = -1
LIMITS = ("subs", "data", "payload", "imports", "exports", "conn", "leaf")
STORAGE = ("mem_storage", "disk_storage", "streams", "consumer")


@dataclass(frozen=True, slots=True)
class Key:
    """A key pair of one kind."""

    kind: str
    secret: bytes

    @classmethod
    def new(cls, kind: str) -> Self:
        """Make a new key pair."""
        return cls(kind, os.urandom(32))

    @classmethod
    def of(cls, kind: str, seed: str) -> Self:
        """Make a key pair from a seed."""
        padded = seed + "=" * (-len(seed) % 8)
        return cls(kind, base64.b32decode(padded)[2:34])

    @property
    def public(self) -> str:
        """The public key, in the form of servers."""
        raw = self._openssl("pkey", "-inform", "DER", "-pubout", "-outform", "DER")[-32:]
        return _encoded(bytes([PREFIXES[self.kind]]) + raw)

    @property
    def seed(self) -> str:
        """The seed, in the form of credentials files."""
        prefix = PREFIXES[self.kind]
        return _encoded(bytes([SEED | prefix >> 5, (prefix & 31) << 3]) + self.secret)

    def sign(self, text: bytes) -> bytes:
        """Sign a text."""
        with tempfile.TemporaryDirectory() as folder:
            file, key = Path(folder) / "text", Path(folder) / "key.der"
            file.write_bytes(text)
            key.write_bytes(DER + self.secret)
            words = ("pkeyutl", "-sign", "-rawin", "-keyform", "DER", "-inkey", key, "-in", file)
            return _run(*map(str, words))

    def _openssl(self, *words: str) -> bytes:
        return _run(*words, given=DER + self.secret)


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator with one account, `team`, and one user in it."""

    key: Key
    system: Key
    team: Key
    user: Key

    @classmethod
    def new(cls) -> Self:
        """Make all keys."""
        return cls(*map(Key.new, ("operator", "account", "account", "user")))

    def access(self, **limits: int) -> str:
        """Write the lines of a server's configuration, with these limits of the account."""
        own = _jwt(self.key, self.key.public, {"type": "operator", "version": 2})
        team, system = self.team.public, self.system.public
        return (
            f"operator: {own}\nsystem_account: {system}\nresolver: MEMORY\nresolver_preload: {{\n"
            f"{team}: {self._account(self.team, UNLIMITED, limits)}\n"
            f"{system}: {self._account(self.system, 0, {})}\n}}"
        )

    def creds(self, expires_s: float | None = None) -> str:
        """Write a credentials file of the user that is valid for a number of seconds."""
        nats = {"type": "user", "version": 2, "pub": {}, "sub": {}}
        nats |= {"subs": UNLIMITED, "data": UNLIMITED, "payload": UNLIMITED}
        ends = None if expires_s is None else int(time.time() + expires_s)
        jwt = _jwt(self.team, self.user.public, nats, ends)
        return (
            f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{self.user.seed}\n------END USER NKEY SEED------\n"
        )

    def _account(self, key: Key, storage: int, limits: dict[str, int]) -> str:
        all_limits: dict[str, Any] = dict.fromkeys(LIMITS, UNLIMITED) | {"wildcards": True}
        all_limits |= dict.fromkeys(STORAGE, storage) | limits
        return _jwt(self.key, key.public, {"type": "account", "version": 2, "limits": all_limits})


def _jwt(signer: Key, subject: str, nats: dict[str, Any], ends: int | None = None) -> str:
    claims = {"jti": subject, "iat": 1_700_000_000, "name": "test", "nats": nats}
    claims |= {"iss": signer.public, "sub": subject}
    claims |= {} if ends is None else {"exp": ends}
    parts = ({"typ": "JWT", "alg": "ed25519-nkey"}, claims)
    text = ".".join(_url64(json.dumps(one).encode()) for one in parts)
    return f"{text}.{_url64(signer.sign(text.encode()))}"


def signed_again(jwt: str, signer: Key, old: str, new: str) -> str:
    """Replace a text in the claims of a JWT, and sign the claims with another key."""
    head, claims, _ = jwt.split(".")
    plain = base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)).decode()
    text = f"{head}.{_url64(plain.replace(old, new).encode())}"
    return f"{text}.{_url64(signer.sign(text.encode()))}"


def _url64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _encoded(content: bytes) -> str:
    """Encode a key with the checksum of nkeys, CRC-16 of XMODEM."""
    crc = 0
    for byte in content:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return base64.b32encode(content + crc.to_bytes(2, "little")).rstrip(b"=").decode()


def _run(*words: str, given: bytes = b"") -> bytes:
    return subprocess.run([OPENSSL, *words], input=given, check=True, capture_output=True).stdout
