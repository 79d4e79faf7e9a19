"""Three nats-servers that replicate one log. Tests kill, freeze or disconnect any of them.

Must never end a process that it did not start.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import nats
from tests.e2e.support.fleet import JETSTREAM, free_port, nats_server
from tests.faults.support.breakable_fleet import BreakableFleet

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from tests.e2e.support.command import Running
    from tests.faults.support.network import ServerNetworks

NODES = ("n1", "n2", "n3")
STREAMS = ("LP_CTL", "LP_DATA")
READY_S = 60.0


class Cluster(BreakableFleet):
    """A fleet whose log has three replicas."""

    def __init__(
        self,
        folder: Path,
        environ: pytest.MonkeyPatch,
        server_networks: ServerNetworks | None = None,
    ) -> None:
        super().__init__(folder, environ)
        environ.setenv("NATS_INSECURE", "1")  # the networks are on this machine
        self._server_networks = server_networks
        hosts = server_networks.address if server_networks else dict.fromkeys(NODES, "127.0.0.1")
        clients = {node: f"{host}:{free_port()}" for node, host in hosts.items()}
        routes = {node: f"{host}:{free_port()}" for node, host in hosts.items()}
        listed = ", ".join(f'"nats-route://{route}"' for route in routes.values())
        for node in NODES:
            store = self.folder / f"store-{node}"
            lines = [
                f"server_name: {node}",
                f'listen: "{clients[node]}"',
                f'authorization {{ token: "{self.token}" }}',
                JETSTREAM.format(store=store),
                f'cluster {{ name: log, listen: "{routes[node]}", routes: [{listed}] }}',
            ]
            self._config(node).write_text("\n".join(lines), encoding="utf-8")
        self.nodes: dict[str, Running] = {}
        self.urls = {node: f"nats://{client}" for node, client in clients.items()}
        self.url = ",".join(self.urls.values())

    def _config(self, node: str) -> Path:
        return self.folder / f"{node}.conf"

    def start_server(self) -> None:
        """Starts all nodes, and waits until they have elected a leader."""
        for node in NODES:
            self.start_node(node)
        for node in NODES:
            self.nodes[node].until("Server is ready")
        asyncio.run(self._ask(_answers))

    def start_node(self, node: str) -> None:
        inside = self._server_networks.inside(node) if self._server_networks else ()
        argv = (*inside, nats_server(), "--config", str(self._config(node)))
        self.nodes[node] = self._start(*argv)

    def kill_node(self, node: str) -> None:
        self.nodes[node].kill()
        self.nodes[node].end()

    def spread(self) -> None:
        """Gives the streams three replicas, as an operator would; returns when all are current."""
        asyncio.run(self._ask(_spread))

    def leader(self, stream: str, *, but: str | None = None) -> str:
        """The node that leads a stream now, as another node than `but` reports it."""
        others = [url for node, url in self.urls.items() if node != but]
        found: str = asyncio.run(self._ask(lambda js: _leader(js, stream), others))
        return found

    def give_lead(self, stream: str, node: str) -> None:
        """Makes a node the leader of a stream."""
        asyncio.run(self._ask(lambda js: _led_by(js, stream, node)))

    def messages(self, run: str) -> list[Any]:
        """The messages of a run, read from the node that leads."""
        from tests.faults.support.stored_log import of_run, of_server  # noqa: PLC0415

        return of_run(of_server(list(self.urls.values()), self.token), run)

    async def _ask(self, question: Any, urls: list[str] | None = None) -> Any:
        servers = urls or list(self.urls.values())
        connection = await nats.connect(servers, token=self.token)
        try:
            return await asyncio.wait_for(question(connection.jetstream()), READY_S)
        finally:
            await connection.close()


async def _answers(jetstream: Any) -> None:
    while True:
        try:
            await jetstream.account_info()
        except Exception:  # noqa: BLE001  (no leader yet, in any of its words)
            await asyncio.sleep(0.1)
        else:
            return


async def _spread(jetstream: Any) -> None:
    for stream in STREAMS:
        config = (await jetstream.stream_info(stream)).config
        config.num_replicas = len(NODES)
        await jetstream.update_stream(config)
    for stream in STREAMS:
        while True:
            cluster = (await jetstream.stream_info(stream)).cluster
            others = cluster.replicas or []
            if cluster.leader and len(others) == 2 and all(one.current for one in others):
                break
            await asyncio.sleep(0.1)


async def _led_by(jetstream: Any, stream: str, node: str) -> None:
    wish = json.dumps({"placement": {"preferred": node}}).encode()
    while await _leader(jetstream, stream) != node:
        await jetstream._nc.request(f"$JS.API.STREAM.LEADER.STEPDOWN.{stream}", wish)
        await asyncio.sleep(0.1)


async def _leader(jetstream: Any, stream: str) -> str:
    while True:
        try:
            cluster = (await jetstream.stream_info(stream)).cluster
        except Exception:  # noqa: BLE001  (an election is under way)
            cluster = None
        if cluster is not None and cluster.leader:
            return str(cluster.leader)
        await asyncio.sleep(0.1)
