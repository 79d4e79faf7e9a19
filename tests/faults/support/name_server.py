"""A name server of a test, whose answers change while a run goes on (RFC 1035).

Answers queries for A and AAAA by a function of the test; everything else has no answer. Must never
ask another name server.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

A, AAAA, CNAME = 1, 28, 5
IN = 1
ANSWER_FLAGS = 0x8580
"""Flags of an authoritative answer, with recursion desired and available."""
NAME_ERROR = 3
TTL_S = 0
QUESTION_NAME = b"\xc0\x0c"
"""Compression pointer to the name in the question."""


class NameServer:
    """Answers at port 53 of an address of loopback, in the network of the thread that makes it."""

    def __init__(self, address: str, answer: Callable[[str, int], Sequence[str] | None]) -> None:
        """`answer` gets a name and the number of earlier queries for it of this type; it returns
        addresses of any family, names for an alias, or None for an unknown name."""
        self.answer = answer
        self.queries: Counter[tuple[str, int]] = Counter()
        """Number of queries by name and type."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, 53))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.sendto(b"", self._socket.getsockname())
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            query, peer = self._socket.recvfrom(4096)
            if not query:
                return
            self._socket.sendto(self._answered(query), peer)

    def _answered(self, query: bytes) -> bytes:
        name, end = _name(query, 12)
        kind = struct.unpack_from("!H", query, end)[0]
        earlier = self.queries[name, kind]
        self.queries[name, kind] += 1
        found = self.answer(name, earlier)
        code = NAME_ERROR if found is None else 0
        records = list(_records(found or (), kind))
        head = query[:2] + struct.pack("!5H", ANSWER_FLAGS | code, 1, len(records), 0, 0)
        return head + query[12 : end + 4] + b"".join(records)


def _name(query: bytes, at: int) -> tuple[str, int]:
    """The name at a place, in lower case, and where it ends."""
    parts = []
    while length := query[at]:
        parts.append(query[at + 1 : at + 1 + length].decode("ascii").lower())
        at += 1 + length
    return ".".join(parts), at + 1


def _records(found: Sequence[str], kind: int) -> Iterator[bytes]:
    """Records of the queried type; those after an alias have its name."""
    owner = QUESTION_NAME
    for one in found:
        try:
            address = ip_address(one)
        except ValueError:
            alias = _labels(one)
            yield _record(owner, CNAME, alias)
            owner = alias
            continue
        if isinstance(address, {A: IPv4Address, AAAA: IPv6Address}.get(kind, ())):
            yield _record(owner, kind, address.packed)


def _record(owner: bytes, kind: int, content: bytes) -> bytes:
    return owner + struct.pack("!HHIH", kind, IN, TTL_S, len(content)) + content


def _labels(name: str) -> bytes:
    parts = [one.encode("ascii") for one in name.split(".")]
    return b"".join(bytes([len(one)]) + one for one in parts) + b"\0"
