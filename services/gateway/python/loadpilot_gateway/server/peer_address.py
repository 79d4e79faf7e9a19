"""The address of a peer, as the kernel names it.

Must never resolve a name.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address


def unmapped(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address of a peer that a socket of IPv6 names as `::ffff:a.b.c.d`."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address if mapped is None else mapped
