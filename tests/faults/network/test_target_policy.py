"""A name that leads to a closed address: the agent opens no connection, and says so.

The address is one of the test's own network, so that nothing leaves it. The name is a number, which
resolvers take for an address and the command does not.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.support.command import SCENARIOS
from tests.e2e.support.dropped_arrivals import all_but_late
from tests.faults.support.network import Network, own_network, why_not

if TYPE_CHECKING:
    from collections.abc import Iterator
    from socket import socket

    from tests.e2e.support.command import Loadpilot

pytestmark = pytest.mark.skipif(why_not(("ip",)) is not None, reason=str(why_not(("ip",))))

WEIGHTED = SCENARIOS / "weighted.py"
SHORT = ("--rps", "20", "--duration", "1s")
ADDRESS = "169.254.8.1"


class Counting(ThreadingHTTPServer):
    """Counts connections."""

    daemon_threads = True
    accepted = 0

    def get_request(self) -> tuple[socket, Any]:
        self.accepted += 1
        return super().get_request()


class Answer(BaseHTTPRequestHandler):
    """200 to everything."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def listening(network: Network) -> Iterator[Counting]:
    """A server at the link-local address, in the network of the test."""
    network.run("ip", "addr", "add", f"{ADDRESS}/32", "dev", "lo")
    with Counting((ADDRESS, 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def test_a_name_that_leads_to_a_closed_address_is_not_connected_to(loadpilot: Loadpilot) -> None:
    """Broken if the agent checks the text of the plan instead of the address that it connects
    to."""
    with own_network() as network, listening(network) as server:
        target = f"http://{int(IPv4Address(ADDRESS))}:{server.server_address[1]}"
        closed = loadpilot.run(WEIGHTED, target, *SHORT)
        assert closed.judged != 0
        output = closed.stdout + closed.stderr
        assert f"not allowed: link-local address {ADDRESS}" in output, output
        assert server.accepted == 0
        opened = loadpilot.run(WEIGHTED, target, *SHORT, "--allow-target", "169.254.8.0/24")
        sent = all_but_late(opened.report, 20, 1)
        assert opened.report["calls"]["outcomes"] == {"ok": sent}, opened.stderr
        assert server.accepted > 0
