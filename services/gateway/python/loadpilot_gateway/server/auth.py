"""Authenticates callers: by a key or token, by the cookie of a browser, or by a proxy's header.

Tokens are compared in constant time, and only their hashes are kept. Must never log one.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from ipaddress import ip_address
from time import time
from typing import TYPE_CHECKING

from loadpilot.local.keys.key import KEY, KEY_PREFIX, Key

from .identity import Identity
from .peer_address import unmapped

if TYPE_CHECKING:
    from collections.abc import Mapping
    from ipaddress import IPv4Network, IPv6Network

    from .proxy_rules import ProxyRule
    from .watched_file import WatchedFile

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
        # A network may be of either form.
        forms = {address, unmapped(address)}
        return any(one in network for one in forms for network in self.networks)

    def is_it(self, peer: str, headers: Mapping[str, str]) -> bool:
        """Whether a request comes from the proxy, by address and, if there is one, secret."""
        if not self.is_at(peer):
            return False
        shown = digest(headers.get(SECRET_HEADER, ""))
        return self.secret is None or hmac.compare_digest(shown, self.secret)


class NoRule(Exception):
    """No rule admits a caller that the proxy names."""


@dataclass(slots=True)
class Authenticator:
    """The credentials that callers must show; none when all of them are None."""

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
    tenant: str = ""
    """The tenant of callers without a key or a rule."""
    keys: WatchedFile[tuple[Key, ...]] | None = None
    rules: WatchedFile[tuple[ProxyRule, ...]] | None = None
    """Tenants and roles of callers that the proxy names; None: all are admins of the tenant."""
    group_header: str | None = None
    """Header with the groups of such a caller, in lower case."""
    session_secret: bytes | None = None
    """Signs the cookies of browsers that showed a key; None: made for this process."""
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    _asks: bool = field(init=False)

    def __post_init__(self) -> None:
        shown = (self.token, self.once, self.proxy, self.keys)
        self._asks = any(one is not None for one in shown)
        if self.session_secret is not None:
            self._key = self.session_secret
        if self.token is not None:
            # Gateways behind one address accept each other's cookies.
            self._key = hmac.digest(self.token, b"loadpilot browser sessions", "sha256")

    @property
    def is_secure(self) -> bool:
        """Whether callers come over TLS: to this gateway, or to the proxy."""
        return self.is_tls or self.proxy is not None

    @property
    def cookie(self) -> str:
        """The name of the cookie, with the port: all ports of a host share cookies."""
        return f"__Host-loadpilot-{self.port}" if self.is_secure else f"loadpilot-{self.port}"

    def caller(self, headers: Mapping[str, str], peer: str) -> Identity | None:
        """Find the caller; None when it is not authenticated. Raises NoRule."""
        if self.proxy is not None and not self.proxy.is_it(peer, headers):
            return None
        if not self._asks:
            return Identity(self.user, self.tenant)
        if self.keys is not None:
            found = self._by_key(headers)
            # A caller with an invalid key does not count as one that the proxy names.
            if found is not None or _bearer_text(headers).startswith(KEY_PREFIX):
                return found
        elif self._shows_token(headers) or self._cookie_owner(headers) == "":
            return Identity(self._named(headers) or self.user, self.tenant)
        return self._by_proxy(headers)

    def is_current(self, identity: Identity) -> bool:
        """Whether a caller's key is still valid, or a rule still gives it its tenant; a caller
        without either is always current.
        """  # noqa: D205
        if identity.key is not None:
            return self._valid(identity.key) is not None
        if identity.groups is None:
            return True
        found = self._rule_of(identity.user, identity.groups)
        return found is not None and found.tenant == identity.tenant

    def _by_key(self, headers: Mapping[str, str]) -> Identity | None:
        found = self._shown_key(_bearer_text(headers))
        if found is None:
            found = self._valid(self._cookie_owner(headers) or "")
        if found is None:
            return None
        return Identity(found.name, found.tenant, found.role, found.id, found.expires)

    def _shown_key(self, text: str) -> Key | None:
        """Find the valid key with this text."""
        written = KEY.fullmatch(text)
        found = self._valid(written[1]) if written else None
        return found if found is not None and found.is_shown_by(text) else None

    def _valid(self, key: str) -> Key | None:
        """Find a valid key by its id."""
        keys = self.keys.now() if self.keys is not None else ()
        now = time()
        return next((one for one in keys if one.id == key and one.state(now) == "valid"), None)

    def _by_proxy(self, headers: Mapping[str, str]) -> Identity | None:
        """Find a caller that the proxy names; raises NoRule."""
        if self.rules is not None:
            return self._by_rule(headers)
        if self.proxy is None or self.token is not None or self.keys is not None:
            return None
        name = self._named(headers)
        return Identity(name, self.tenant) if name else None

    def _by_rule(self, headers: Mapping[str, str]) -> Identity | None:
        """Find tenant and role of a caller that the proxy names; raises NoRule."""
        name = self._named(headers)
        if name is None or self.rules is None:
            return None
        groups = headers.get(self.group_header or "", "")
        named = frozenset(one.strip() for one in groups.replace(";", ",").split(",")) - {""}
        found = self._rule_of(name, named)
        if found is None:
            raise NoRule(name)
        return Identity(name, found.tenant, found.role, groups=named)

    def _rule_of(self, user: str, groups: frozenset[str]) -> ProxyRule | None:
        """Find the first rule that fits a user in these groups."""
        rules = self.rules.now() if self.rules is not None else ()
        return next((one for one in rules if one.fits(user, groups)), None)

    def reads_metrics(self, headers: Mapping[str, str], peer: str) -> bool:
        """Whether a request shows the token of metrics."""
        if self.proxy is not None and not self.proxy.is_it(peer, headers):
            return False
        return self.metrics is not None and hmac.compare_digest(_bearer(headers), self.metrics)

    def opened_by(self, token: str) -> str | None:
        """Find the owner of the session that a token or key opens: the id of the key, or "".

        None for an invalid token or key. Uses up the one-time token.
        """
        if self.keys is not None:
            found = self._shown_key(token)
            return found.id if found is not None else None
        shown = digest(token)
        if self.token is not None and hmac.compare_digest(shown, self.token):
            return ""
        if self.once is not None and hmac.compare_digest(shown, self.once):
            self.once = None
            return ""
        return None

    def new_cookie(self, owner: str = "") -> str:
        """Make the value of Set-Cookie for a browser's session; the id of a key owns it, or ""."""
        until = str(int(time()) + SESSION_SECS)
        bound = f"{until}.{owner}" if owner else until
        value = f"{bound}.{self._sign(bound)}"
        secure = "; Secure" if self.is_secure else ""
        rest = f"Path=/; HttpOnly; SameSite=Strict; Max-Age={SESSION_SECS}{secure}"
        return f"{self.cookie}={value}; {rest}"

    def _named(self, headers: Mapping[str, str]) -> str | None:
        if self.proxy is None:
            return None
        name = "".join(one for one in headers.get(self.proxy.header, "") if one.isprintable())
        return name[:USER_CHARS_MAX].strip() or None

    def _shows_token(self, headers: Mapping[str, str]) -> bool:
        return self.token is not None and hmac.compare_digest(_bearer(headers), self.token)

    def _cookie_owner(self, headers: Mapping[str, str]) -> str | None:
        """Find the owner of a cookie's session: the id of a key, or ""; None without a session."""
        bound, _, signed = _cookie_value(headers.get("cookie", ""), self.cookie).rpartition(".")
        if not hmac.compare_digest(self._sign(bound).encode(), signed.encode()):
            return None
        until, _, owner = bound.partition(".")
        is_current = until.isascii() and until.isdigit() and int(until) > time()
        return owner if is_current else None

    def _sign(self, until: str) -> str:
        return hmac.digest(self._key, until.encode("utf-8", "replace"), "sha256").hex()


def _cookie_value(text: str, name: str) -> str:
    """Find the value of a cookie; empty where there is none.

    Other cookies come from other ports of the host, and may have any form.
    """
    pairs = (one.strip().partition("=") for one in text.split(";"))
    return next((value for key, _, value in pairs if key == name), "")


def _bearer_text(headers: Mapping[str, str]) -> str:
    """Return the bearer token of a request; empty where there is none."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _bearer(headers: Mapping[str, str]) -> bytes:
    """Hash the bearer token of a request; empty where there is none."""
    token = _bearer_text(headers)
    return digest(token) if token else b""
