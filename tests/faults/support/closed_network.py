"""A network that has the closed addresses itself, so that no connection leaves the machine.

The thread of the test moves into a network of its own, as in `network`, whose only device is
loopback. It has the addresses that agents must not reach, one listener counts the connections to
all of them, and a name server of the test resolves names. Needs root and Linux; must leave the
machine's own network as it is.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections import Counter
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tests.e2e.support.command import COMMAND, Loadpilot
from tests.e2e.support.fleet import Fleet
from tests.faults.support.name_server import NameServer
from tests.faults.support.network import moved_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pytest
    from tests.e2e.support.command import Running

METADATA = "169.254.169.254"
ALLOWED, OTHER = "10.9.9.9", "10.8.8.8"
"""Addresses of a private network."""
ADDRESSES = (
    f"{METADATA}/32",
    f"{ALLOWED}/32",
    f"{OTHER}/32",
    *("64:ff9b::a9fe:a9fe/128", "2002:a9fe:a9fe::/128", "::a9fe:a9fe/128"),
)
"""Addresses beside those of loopback; the IPv6 ones stand for METADATA: NAT64, 6to4, compatible."""
NAME_SERVER = "127.0.0.53"
FILES = {
    "resolv.conf": f"nameserver {NAME_SERVER}\noptions timeout:1 attempts:2\n",
    "nsswitch.conf": "hosts: files dns\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
}
PORT = 80
TOKENS = "/.well-known/loadpilot"


class Counting(ThreadingHTTPServer):
    """Counts connections by their local address, and requests by that address and the Host
    header."""

    address_family = socket.AF_INET6
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int) -> None:
        self.connections: Counter[str] = Counter()
        self.requests: Counter[tuple[str, str]] = Counter()
        self.location = "/"
        """Location of its redirects."""
        self.published: dict[str, str] = {}
        """Content of the file with ownership tokens, by the address that serves it."""
        self.looked_for: Counter[str] = Counter()
        """Number of requests for that file, by address."""
        self.counting = threading.Lock()
        """Each request has a thread, and `+=` on a count is not atomic."""
        self.loaded = threading.Event()
        """Set by each request for another path."""
        super().__init__(("::", port), Answer)

    def received(self, address: str) -> int:
        """Number of requests to an address."""
        return sum(count for (at, _), count in self.requests.items() if at == address)

    def forget(self) -> None:
        """Sets all counts to 0."""
        self.connections.clear()
        self.requests.clear()
        self.looked_for.clear()
        self.loaded.clear()

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, peer = super().get_request()
        self.connections[local_address(connection)] += 1
        return connection, peer


class Answer(BaseHTTPRequestHandler):
    """Answers 302 below /away, the token file (404 if unpublished) at its path, and else 200."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server, address = cast("Counting", self.server), local_address(self.connection)
        if self.path == TOKENS:
            with server.counting:
                server.looked_for[address] += 1
            body = server.published.get(address, "").encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        with server.counting:
            server.requests[address, self.headers["Host"]] += 1
        server.loaded.set()
        is_away = self.path.startswith("/away")
        self.send_response(302 if is_away else 200)
        if is_away:
            self.send_header("Location", server.location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


def local_address(connection: socket.socket) -> str:
    """The local address of a connection; an IPv4-mapped one as IPv4."""
    found = ip_address(connection.getsockname()[0])
    is_mapped = isinstance(found, IPv6Address) and found.ipv4_mapped is not None
    return str(found.ipv4_mapped if is_mapped else found)


class NamespaceFleet(Fleet):
    """A fleet whose processes run in the network namespace, and so use its name server."""

    def __init__(self, folder: Path, environ: pytest.MonkeyPatch, entry: tuple[str, ...]) -> None:
        self._entry = entry
        super().__init__(folder, environ)

    def _start(self, *argv: str) -> Running:
        return super()._start(*self._entry, *argv)


class ClosedNetwork:
    """The network: its listener, its name server, a fleet and the command."""

    def __init__(
        self, fleet: NamespaceFleet, loadpilot: Loadpilot, listener: Counting, names: NameServer
    ) -> None:
        self.fleet = fleet
        self.loadpilot = loadpilot
        self.listener = listener
        self.names = names


@contextmanager
def enter_closed_network(
    folder: Path,
    environ: pytest.MonkeyPatch,
    answer: Callable[[str, int], Sequence[str] | None],
) -> Iterator[ClosedNetwork]:
    """Moves this thread into the network, and brings it back."""
    name = f"loadpilot-{os.getpid()}-closed"
    entry = ("ip", "netns", "exec", name)
    etc = Path("/etc/netns", name)
    with ExitStack() as stack:
        _ip("netns", "add", name)
        stack.callback(_ip, "netns", "del", name)
        etc.mkdir(parents=True)
        stack.callback(shutil.rmtree, etc)
        for file, text in FILES.items():
            (etc / file).write_text(text, encoding="utf-8")
        stack.enter_context(moved_to(Path("/run/netns", name)))
        _ip("link", "set", "lo", "up")
        for address in ADDRESSES:
            kind = ("nodad",) if ":" in address else ()
            _ip("addr", "add", address, "dev", "lo", *kind)
        names = stack.enter_context(NameServer(NAME_SERVER, answer))
        listener = stack.enter_context(Counting(PORT))
        thread = threading.Thread(target=listener.serve_forever, daemon=True)
        thread.start()
        stack.callback(thread.join)
        stack.callback(listener.shutdown)
        fleet = stack.enter_context(NamespaceFleet(folder, environ, entry))
        command = Loadpilot(folder / "work", (*entry, str(COMMAND)))
        yield ClosedNetwork(fleet, command, listener, names)


def _ip(*words: str) -> None:
    argv = ("ip", *words)
    subprocess.run(argv, check=True, capture_output=True)
