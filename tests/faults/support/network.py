"""Networks of a test's own, whose cables can be disconnected.

The thread of the test, and with it every process that it starts, moves into a network namespace of
its own, which shares nothing with the machine. The nats-server runs in a second one. Two cables
(veth pairs) connect them: one for all other processes and one for the agents whose connection is
disturbed. Needs root and Linux; must leave the machine's own network as it is.

    test's network                                    log's network
      oracle, coordinators, command  -- 10.77.1.1/24 -- 10.77.1.2   nats-server
      agents at the disturbed cable  -- 10.77.2.1/24 -- 10.77.2.2

Or each of several servers runs in a network of its own, on a switch that all of them share:

    test's network, 10.77.3.254  -- switch -- 10.77.3.1, 10.77.3.2, 10.77.3.3
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.faults.support.breakable_fleet import BreakableFleet

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

CLONE_NEWNET = 0x40000000
CABLE = "disturbed"
HERE, THERE = "10.77.{}.1", "10.77.{}.2"
LINKS = {"shared": 1, CABLE: 2}
NEEDED = ("ip", "nft", "tc")
SWITCH, SERVER_ADDRESS = "switch", "10.77.3.{}"
LIBC = ctypes.CDLL(None, use_errno=True)


def why_not(needed: tuple[str, ...] = NEEDED) -> str | None:
    """What this machine lacks for such networks; None if nothing."""
    if os.geteuid() != 0:
        return "needs root, to make networks: run as root"
    lacking = [tool for tool in needed if shutil.which(tool) is None]
    if not lacking:
        return None
    return f"needs {', '.join(lacking)}: apt-get install nftables iproute2"


class Network:
    """The two networks, and the faults of the cable that tests disturb."""

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, *argv: str, there: bool = False) -> None:
        """Runs a command in the test's network, or in the log's."""
        inside = self.inside if there else ()
        subprocess.run([*inside, *argv], check=True, capture_output=True)

    @property
    def inside(self) -> tuple[str, ...]:
        """Command prefix that starts a process in the log's network."""
        return ("ip", "netns", "exec", self.name)

    def make(self) -> None:
        self.run("ip", "link", "set", "lo", "up")
        self.run("ip", "netns", "add", self.name)
        self.run("ip", "link", "set", "lo", "up", there=True)
        for cable, number in LINKS.items():
            end = f"{cable}-b"
            made = ("type", "veth", "peer", "name", end, "netns", self.name)
            self.run("ip", "link", "add", "name", cable, *made)
            ends = ((cable, HERE, False), (end, THERE, True))
            for device, address, there in ends:
                place = f"{address.format(number)}/24"
                self.run("ip", "addr", "add", place, "dev", device, there=there)
                self.run("ip", "link", "set", device, "up", there=there)

    def forget(self) -> None:
        """Removes the log's network, which would outlive the test."""
        argv = ("ip", "netns", "del", self.name)
        subprocess.run(argv, check=False, capture_output=True)

    @contextmanager
    def drops(self, *hooks: str) -> Iterator[None]:
        """Drops every packet: with `output` those from the agents, with `input` those to them."""
        self.run("nft", "add", "table", "inet", "cut")
        for hook in hooks:
            chain = f"{{ type filter hook {hook} priority 0; }}"
            self.run("nft", "add", "chain", "inet", "cut", hook, chain)
            device = "oifname" if hook == "output" else "iifname"
            self.run("nft", "add", "rule", "inet", "cut", hook, device, CABLE, "drop")
        try:
            yield
        finally:
            self.run("nft", "delete", "table", "inet", "cut")

    @contextmanager
    def unplugged(self) -> Iterator[None]:
        """Disconnects the cable."""
        self.run("ip", "link", "set", CABLE, "down")
        try:
            yield
        finally:
            self.run("ip", "link", "set", CABLE, "up")

    def slow(self, rate: str) -> None:
        """Limits the rate of the cable from now on, in both directions."""
        shaped = ("root", "tbf", "rate", rate, "burst", "8kb", "latency", "1s")
        self.run("tc", "qdisc", "add", "dev", CABLE, *shaped)
        self.run("tc", "qdisc", "add", "dev", f"{CABLE}-b", *shaped, there=True)


@contextmanager
def moved_to(namespace: Path) -> Iterator[None]:
    """Moves this thread into a named network, and back."""
    with (
        open("/proc/thread-self/ns/net", encoding="utf-8") as home,  # noqa: PTH123  (a descriptor)
        namespace.open(encoding="utf-8") as there,
    ):
        _must(LIBC.setns(there.fileno(), CLONE_NEWNET))
        try:
            yield
        finally:
            _must(LIBC.setns(home.fileno(), CLONE_NEWNET))


@contextmanager
def own_network() -> Iterator[Network]:
    """Moves this thread into a new network, and back."""
    with open("/proc/thread-self/ns/net", encoding="utf-8") as home:  # noqa: PTH123  (a descriptor)
        _must(LIBC.unshare(CLONE_NEWNET))
        network = Network(f"loadpilot-{os.getpid()}")
        try:
            network.make()
            yield network
        finally:
            network.forget()
            _must(LIBC.setns(home.fileno(), CLONE_NEWNET))


class ServerNetworks:
    """Networks of one server each, on one switch with the test's network."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.address = {name: SERVER_ADDRESS.format(number) for number, name in enumerate(names, 1)}
        self._network = {name: f"loadpilot-{os.getpid()}-{name}" for name in names}

    def inside(self, name: str) -> tuple[str, ...]:
        """Command prefix that starts a process in the network of a server."""
        return ("ip", "netns", "exec", self._network[name])

    def make(self) -> None:
        _ip("link", "set", "lo", "up")
        _ip("link", "add", "name", SWITCH, "type", "bridge")
        _ip("addr", "add", f"{SERVER_ADDRESS.format(254)}/24", "dev", SWITCH)
        _ip("link", "set", SWITCH, "up")
        for name, network in self._network.items():
            _ip("netns", "add", network)
            _ip("link", "add", name, "type", "veth", "peer", "name", "port", "netns", network)
            _ip("link", "set", name, "master", SWITCH, "up")
            place = ("addr", "add", f"{self.address[name]}/24", "dev", "port")
            for words in (("link", "set", "lo", "up"), place, ("link", "set", "port", "up")):
                _ip("-n", network, *words)

    def forget(self) -> None:
        for network in self._network.values():
            argv = ("ip", "netns", "del", network)
            subprocess.run(argv, check=False, capture_output=True)

    @contextmanager
    def isolated(self, name: str) -> Iterator[None]:
        """Separates one server from the others. The test reaches all of them."""
        others = [address for other, address in self.address.items() if other != name]
        for address in others:
            _ip("-n", self._network[name], "route", "add", "blackhole", f"{address}/32")
        try:
            yield
        finally:
            for address in others:
                _ip("-n", self._network[name], "route", "del", "blackhole", f"{address}/32")


@contextmanager
def own_server_networks(names: tuple[str, ...]) -> Iterator[ServerNetworks]:
    """Moves this thread into a new network with one more network for each server, and back."""
    with open("/proc/thread-self/ns/net", encoding="utf-8") as home:  # noqa: PTH123  (a descriptor)
        _must(LIBC.unshare(CLONE_NEWNET))
        server_networks = ServerNetworks(names)
        try:
            server_networks.make()
            yield server_networks
        finally:
            server_networks.forget()
            _must(LIBC.setns(home.fileno(), CLONE_NEWNET))


class RemoteLogFleet(BreakableFleet):
    """A fleet whose nats-server is in another network, at the other end of two cables."""

    def __init__(self, folder: Path, environ: pytest.MonkeyPatch, network: Network) -> None:
        super().__init__(folder, environ)
        environ.setenv("NATS_INSECURE", "1")  # the cables are on this machine
        config = self.folder / "nats.conf"
        text = config.read_text(encoding="utf-8").replace("127.0.0.1:", "0.0.0.0:")
        config.write_text(text, encoding="utf-8")
        self.inside = network.inside
        shared, disturbed = (THERE.format(number) for number in LINKS.values())
        self.url = f"nats://{shared}:{self.port}"
        self.far_url = f"nats://{disturbed}:{self.port}"


def _must(answer: int) -> None:
    if answer != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _ip(*words: str) -> None:
    argv = ("ip", *words)
    subprocess.run(argv, check=True, capture_output=True)
