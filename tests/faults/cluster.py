"""Three nats-servers that keep one log, of which any may die, freeze or be cut off.

Must never end a process that it did not start.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import nats
from tests.e2e.fleet import free_port, nats_server
from tests.faults.ground import Ground

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from tests.e2e.command import Running

NODES = ("n1", "n2", "n3")
STREAMS = ("LP_CTL", "LP_DATA")
READY_S = 60.0


class Cluster(Ground):
    """A fleet whose log lives three times."""

    def __init__(self, folder: Path, environ: pytest.MonkeyPatch) -> None:
        super().__init__(folder, environ)
        self.ports = {node: free_port() for node in NODES}
        routes = {node: free_port() for node in NODES}
        listed = ", ".join(f'"nats-route://127.0.0.1:{port}"' for port in routes.values())
        for node in NODES:
            store = self.folder / f"store-{node}"
            lines = [
                f"server_name: {node}",
                f'listen: "127.0.0.1:{self.ports[node]}"',
                f'authorization {{ token: "{self.token}" }}',
                f'jetstream {{ store_dir: "{store}", sync_interval: always }}',
                f'cluster {{ name: log, listen: "127.0.0.1:{routes[node]}", routes: [{listed}] }}',
            ]
            self._config(node).write_text("\n".join(lines), encoding="utf-8")
        self.nodes: dict[str, Running] = {}
        self.url = ",".join(f"nats://127.0.0.1:{port}" for port in self.ports.values())

    def _config(self, node: str) -> Path:
        return self.folder / f"{node}.conf"

    def start_server(self) -> None:
        """Starts all nodes, and waits until they have one that leads them."""
        for node in NODES:
            self.start_node(node)
        for node in NODES:
            self.nodes[node].until("Server is ready")
        asyncio.run(self._ask(_answers))

    def start_node(self, node: str) -> None:
        self.nodes[node] = self._start(nats_server(), "--config", str(self._config(node)))

    def kill_node(self, node: str) -> None:
        self.nodes[node].kill()
        self.nodes[node].end()

    def spread(self) -> None:
        """Keeps the log on all three nodes, as an operator would; returns when all are current."""
        asyncio.run(self._ask(_spread))

    def leader(self, stream: str) -> str:
        """Who leads a stream now."""
        found: str = asyncio.run(self._ask(lambda js: _leader(js, stream)))
        return found

    def messages(self, run: str) -> list[Any]:
        """What the log holds of a run, by whichever node leads."""
        from tests.faults.stored import of_run, of_server  # noqa: PLC0415

        return of_run(of_server(self.url.split(","), self.token), run)

    async def _ask(self, question: Any) -> Any:
        connection = await nats.connect(self.url.split(","), token=self.token)
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


async def _leader(jetstream: Any, stream: str) -> str:
    while True:
        try:
            cluster = (await jetstream.stream_info(stream)).cluster
        except Exception:  # noqa: BLE001  (an election is under way)
            cluster = None
        if cluster is not None and cluster.leader:
            return str(cluster.leader)
        await asyncio.sleep(0.1)
