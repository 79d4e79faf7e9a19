"""The address of a peer, as the kernel names it.

Must never resolve a name.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address


def unmapped(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address of a peer that a socket of IPv6 names as `::ffff:a.b.c.d`."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address
