"""A fleet as operators start it: a nats-server of the test, with coordinators and agents as
processes.

    with Fleet(tmp_path) as fleet:
        fleet.coordinator()
        fleet.agent("a-1")
        finished = fleet.run(loadpilot, SCENE, oracle.url, "--external-agents", "1")

Must never end a process that it did not start.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
from contextlib import ExitStack
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.e2e.support.command import COMMAND, Finished, Loadpilot, Running
from tests.oracle.oracle import built_binary

if TYPE_CHECKING:
    from types import TracebackType

    import pytest

NEAR = "127.0.0.0/8,::1"
"""Addresses to which the agents of a test may connect: their targets are on loopback."""
JETSTREAM = 'jetstream {{ store_dir: "{store}", sync_interval: always, max_file: 64G }}'
"""JetStream in a server's configuration. Without `max_file`, a server with several accounts can
reserve storage for all of them only if the disk has enough space."""
PLAIN_AGENT = built_binary().with_name("loadpilot-agent")
"""Path of the agent without Python."""
FIRST_PORT, PORTS, WORKERS = 21_000, 500, 22
"""The first port of tests, the number of ports of each worker of pytest-xdist, and the number of
workers. They end below 32768, from which Linux takes the ports of clients and of `bind` to 0."""
_drawn = count(secrets.randbelow(PORTS))


def free_port() -> int:
    """A port of loopback at which nothing listens, and that no other worker and no client gets."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % WORKERS
    for number in islice(_drawn, PORTS):
        port = FIRST_PORT + worker * PORTS + number % PORTS
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
    raise AssertionError("no port is free")


async def wait_until_handled(connection: Any) -> None:
    """Wait until the server has handled all commands that a connection of nats-py has sent so far.

    `flush` writes its PING before the commands in the connection's buffer, so the answer to the
    first one may come before the server has read them. By the time it comes, they have been sent.
    """
    await connection.flush()
    await connection.flush()


def nats_server() -> str:
    named = os.environ.get("LOADPILOT_NATS_SERVER")
    return named or str(Path(sys.executable).with_name("nats-server"))


class Fleet:
    """A server with a token on loopback, and the processes started beside it."""

    def __init__(
        self, folder: Path, environ: pytest.MonkeyPatch, *, jetstream: bool = True
    ) -> None:
        self.folder = folder / "fleet"
        self.folder.mkdir()
        self.token = secrets.token_hex(16)
        environ.setenv("NATS_TOKEN", self.token)
        environ.setenv("AGENT_ALLOW_TARGET", NEAR)
        self.port = free_port()
        self.url = f"nats://127.0.0.1:{self.port}"
        self.inside: tuple[str, ...] = ()
        """Command prefix that starts the server in another network."""
        self.pids: list[int] = []
        """Ids of the started processes."""
        self._members = ExitStack()
        store = self.folder / "store"
        lines = [
            f'listen: "127.0.0.1:{self.port}"',
            f'authorization {{ token: "{self.token}" }}',
            JETSTREAM.format(store=store) if jetstream else "",
        ]
        (self.folder / "nats.conf").write_text("\n".join(lines), encoding="utf-8")

    def __enter__(self) -> Self:
        try:
            self.start_server()
        except BaseException:  # processes that have started must not outlive the test
            self._members.close()
            raise
        return self

    def start_server(self) -> None:
        """Starts the server, for the first time or again, and waits until it answers."""
        self.server = self._start(
            *self.inside, nats_server(), "--config", str(self.folder / "nats.conf")
        )
        self.server.until("Server is ready")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._members.close()

    def _start(self, *argv: str) -> Running:
        member = Running(argv, self.folder, self.folder / "none.json")
        self.pids.append(member.pid)
        return self._members.enter_context(member)

    def coordinator(self, *flags: str, program: Path | None = None) -> Running:
        """Starts a coordinator, and waits until it decides. `program` is one of another build."""
        entry = [str(program)] if program else [str(COMMAND), "coordinator"]
        started = self._start(*entry, "--nats-url", self.url, *flags)
        started.until("deciding from now on")
        return started

    def agent(
        self, name: str, *flags: str, program: Path | None = None, url: str | None = None
    ) -> Running:
        """Starts an agent, and waits until it has found a coordinator.

        `program` replaces the command, such as `PLAIN_AGENT`; `url` is another address of the
        server."""
        entry = [str(program)] if program else [str(COMMAND), "agent"]
        named = ("--nats-url", url or self.url, "--id", name, "--cores", "1")
        started = self._start(*entry, *named, *flags)
        started.until("coordinator found=true")
        return started

    def member(self, *words: str) -> Running:
        """Starts an agent by a whole command line, and waits until it has found a coordinator."""
        started = self._start(str(COMMAND), *words)
        started.until("coordinator found=true")
        return started

    def start(
        self, loadpilot: Loadpilot, scenario: Path | str, target: str, *flags: str
    ) -> Running:
        """Starts a run on the fleet, with `-v`."""
        return loadpilot.start(scenario, target, "-v", "--nats-url", self.url, *flags)

    def run(self, loadpilot: Loadpilot, scenario: Path | str, target: str, *flags: str) -> Finished:
        """Runs a scenario on the fleet to its end."""
        with self.start(loadpilot, scenario, target, *flags) as running:
            return running.end()
