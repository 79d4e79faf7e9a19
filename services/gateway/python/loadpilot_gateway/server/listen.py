"""The listening socket, which limits the number of connections of one address.

Must never count connections of the proxy, which are of many callers.
"""

from __future__ import annotations

import logging
import socket
import weakref
from collections import Counter
from ipaddress import IPv6Address, ip_address
from time import monotonic
from typing import TYPE_CHECKING

from ..limits import ADDRESS_CONNECTIONS_DEFAULT, REPEAT_LOG_SECS
from .peer_address import unmapped

if TYPE_CHECKING:
    from .auth import Proxy

LOG = logging.getLogger("loadpilot_gateway")
SITE_BITS = 64
"""Length of an IPv6 prefix that belongs to one owner."""


class Listener(socket.socket):
    """A listening socket that counts connections before TLS, so that handshakes count."""

    most = ADDRESS_CONNECTIONS_DEFAULT
    proxy: Proxy | None = None

    def __init__(self, family: int = -1, kind: int = -1, proto: int = -1) -> None:
        """Take the arguments of `socket.socket`."""
        super().__init__(family, kind, proto)
        self._counts: Counter[str] = Counter()
        self._said_at = -REPEAT_LOG_SECS

    def accept(self) -> tuple[socket.socket, object]:
        """Accept a connection; raises ConnectionAbortedError when its address is at the limit."""
        connection, peer = super().accept()
        address = str(peer[0])
        if self.proxy is not None and self.proxy.is_at(address):
            return connection, peer
        site = site_of(address)
        if self._counts[site] >= self.most:
            connection.close()
            self._say(site)
            raise ConnectionAbortedError(site)
        self._counts[site] += 1
        counted = CountedConnection(
            connection.family, connection.type, connection.proto, fileno=connection.detach()
        )
        counted.release = weakref.finalize(counted, self._leave, site)
        return counted, peer

    def _leave(self, site: str) -> None:
        self._counts[site] -= 1
        if not self._counts[site]:
            del self._counts[site]

    def _say(self, site: str) -> None:
        now = monotonic()
        if now - self._said_at >= REPEAT_LOG_SECS:
            self._said_at = now
            LOG.warning("%s holds %d connections: further ones are refused", site, self.most)


class CountedConnection(socket.socket):
    """A connection that counts until it is closed."""

    release: weakref.finalize[..., CountedConnection]

    def close(self) -> None:
        """Close it, and count it no longer."""
        super().close()
        self.release()


def site_of(address: str) -> str:
    """Find the unit that is limited: an IPv4 address, or the /64 network of an IPv6 one."""
    parsed = unmapped(ip_address(address.partition("%")[0]))
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    network = int(parsed) >> SITE_BITS << SITE_BITS
    return f"{IPv6Address(network)}/{SITE_BITS}"


def bound(
    host: str, port: int, most: int = ADDRESS_CONNECTIONS_DEFAULT, proxy: Proxy | None = None
) -> Listener:
    """Bind a port, with at most `most` connections of one address; raises OSError."""
    family, kind, proto, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = Listener(family, kind, proto)
    listener.most, listener.proxy = most, proxy
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(socket.SOMAXCONN)
    except OSError:
        listener.close()
        raise
    return listener
