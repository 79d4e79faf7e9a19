"""Authenticates callers: by a bearer token, by the cookie of a browser, or by a proxy's header.

Tokens are compared in constant time, and only their hashes are kept. Must never log one.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from time import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from ipaddress import IPv4Network, IPv6Network

SESSION_SECS = 12 * 3600
"""Lifetime of a browser's cookie."""
USER_CHARS_MAX = 128


def digest(text: str) -> bytes:
    """Hash a token, so that comparing two takes the same time wherever they differ."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


SECRET_HEADER = "x-loadpilot-proxy-secret"  # noqa: S105  (the name of a header)
"""Header with the secret of the proxy."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy in front, which ends TLS and names the caller."""

    header: str
    """Header with the caller's name, in lower case."""
    networks: tuple[IPv4Network | IPv6Network, ...]
    """Addresses of the proxy; other peers are rejected."""
    names: frozenset[str] = frozenset()
    """Public names, in lower case; empty where Host is not checked."""
    secret: bytes | None = None
    """Hash of the secret; None where the address suffices."""

    def is_at(self, peer: str) -> bool:
        """Whether a peer has an address of the proxy."""
        try:
            address = ip_address(peer)
        except ValueError:
            return False
        return any(address in network for network in self.networks)

    def is_it(self, peer: str, headers: Mapping[str, str]) -> bool:
        """Whether a request comes from the proxy, by address and, if there is one, secret."""
        if not self.is_at(peer):
            return False
        shown = digest(headers.get(SECRET_HEADER, ""))
        return self.secret is None or hmac.compare_digest(shown, self.secret)


@dataclass(slots=True)
class Authenticator:
    """The credentials that callers must show; none when token, once and proxy are None."""

    token: bytes | None = None
    """Hash of the bearer token."""
    once: bytes | None = None
    """Hash of a token that opens one browser's session, and is then used up."""
    metrics: bytes | None = None
    """Hash of a bearer token that reads metrics only; it authenticates for nothing else."""
    proxy: Proxy | None = None
    user: str = "a caller of the gateway"
    """Name of callers that show a token and no name."""
    port: int = 0
    is_tls: bool = False
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    _asks: bool = field(init=False)

    def __post_init__(self) -> None:
        self._asks = not (self.token is None and self.once is None and self.proxy is None)
        if self.token is not None:
            # Gateways behind one address accept each other's cookies.
            self._key = hmac.digest(self.token, b"loadpilot browser sessions", "sha256")

    @property
    def cookie(self) -> str:
        """The name of the cookie, with the port: all ports of a host share cookies."""
        return f"__Host-loadpilot-{self.port}" if self.is_tls else f"loadpilot-{self.port}"

    def caller(self, headers: Mapping[str, str], peer: str) -> str | None:
        """Find the name of the caller; None when it is not authenticated."""
        if self.proxy is not None and not self.proxy.is_it(peer, headers):
            return None
        if not self._asks:
            return self.user
        if self._shows_token(headers) or self._shows_cookie(headers):
            return self._named(headers) or self.user
        if self.token is None and self.proxy is not None:
            return self._named(headers)
        return None

    def reads_metrics(self, headers: Mapping[str, str], peer: str) -> bool:
        """Whether a request shows the token of metrics."""
        if self.proxy is not None and not self.proxy.is_it(peer, headers):
            return False
        return self.metrics is not None and hmac.compare_digest(_bearer(headers), self.metrics)

    def opened_by(self, token: str) -> bool:
        """Whether a token opens a browser's session; uses up the one-time token."""
        shown = digest(token)
        if self.token is not None and hmac.compare_digest(shown, self.token):
            return True
        if self.once is not None and hmac.compare_digest(shown, self.once):
            self.once = None
            return True
        return False

    def new_cookie(self) -> str:
        """Make the value of Set-Cookie for a browser's session."""
        until = str(int(time()) + SESSION_SECS)
        value = f"{until}.{self._sign(until)}"
        secure = "; Secure" if self.is_tls else ""
        rest = f"Path=/; HttpOnly; SameSite=Strict; Max-Age={SESSION_SECS}{secure}"
        return f"{self.cookie}={value}; {rest}"

    def _named(self, headers: Mapping[str, str]) -> str | None:
        if self.proxy is None:
            return None
        name = "".join(one for one in headers.get(self.proxy.header, "") if one.isprintable())
        return name[:USER_CHARS_MAX].strip() or None

    def _shows_token(self, headers: Mapping[str, str]) -> bool:
        return self.token is not None and hmac.compare_digest(_bearer(headers), self.token)

    def _shows_cookie(self, headers: Mapping[str, str]) -> bool:
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        until, _, signed = (morsel.value if morsel is not None else "").partition(".")
        if not hmac.compare_digest(self._sign(until).encode(), signed.encode()):
            return False
        return until.isascii() and until.isdigit() and int(until) > time()

    def _sign(self, until: str) -> str:
        return hmac.digest(self._key, until.encode("utf-8", "replace"), "sha256").hex()


def _bearer(headers: Mapping[str, str]) -> bytes:
    """Hash the bearer token of a request; empty where there is none."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return digest(token.strip()) if kind.lower() == "bearer" else b""
