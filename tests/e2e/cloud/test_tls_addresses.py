"""A connection with TLS, and an attacker on its path that tries to get the login."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Self

import pytest
from tests.e2e.cloud.cloud_server import HostedFleet, account, user
from tests.e2e.support.certificates import identity
from tests.oracle.oracle import built_binary

if TYPE_CHECKING:
    from pathlib import Path

COORDINATOR = built_binary().with_name("loadpilot-coordinator")
ATTEMPTS = 6
"""Number of reconnects to wait for; the client library would try each known server in turn."""
PATIENCE_S = 60.0


class Attacker:
    """Relays connections to a server, and adds its own address to the first message of the server,
    which is not encrypted. Later it refuses all connections, and listens at that address."""

    def __init__(self, port: int) -> None:
        self._server = port
        self._relay = socket.create_server(("127.0.0.1", 0))
        self._own = socket.create_server(("127.0.0.1", 0))
        self._relayed: list[socket.socket] = []
        self._refuses = threading.Event()
        self._attempted = threading.Condition()
        self.attempts = 0
        self.logins: list[bytes] = []
        self.port: int = self._relay.getsockname()[1]
        self._address = f"127.0.0.1:{self._own.getsockname()[1]}"
        for serve in (self._serve_relay, self._serve_own):
            threading.Thread(target=serve, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._relay.close()
        self._own.close()

    def cut(self) -> None:
        """Close all connections, and refuse new ones."""
        self._refuses.set()
        for one in self._relayed:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def wait_for_attempts(self, count: int) -> bool:
        """Wait until this number of connections was refused, or one came to the attacker's
        address."""
        with self._attempted:
            return self._attempted.wait_for(
                lambda: self.attempts >= count or self.logins, PATIENCE_S
            )

    def _serve_relay(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._relay.accept()
                if self._refuses.is_set():
                    client.close()
                    with self._attempted:
                        self.attempts += 1
                        self._attempted.notify_all()
                    continue
                server = socket.create_connection(("127.0.0.1", self._server))
                self._relayed += [client, server]
                first = server.recv(1 << 16)
                facts = json.loads(first.removeprefix(b"INFO "))
                facts["connect_urls"] = [self._address]
                client.sendall(b"INFO " + json.dumps(facts).encode() + b"\r\n")
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=relay, args=pair, daemon=True).start()

    def _serve_own(self) -> None:
        info = {"server_id": "E", "version": "2.14.0", "max_payload": 1 << 20, "headers": True}
        with suppress(OSError):
            while True:
                client, _ = self._own.accept()
                client.sendall(b"INFO " + json.dumps(info).encode() + b"\r\n")
                login = client.recv(1 << 16)
                with self._attempted:
                    self.logins.append(login)
                    self._attempted.notify_all()


def relay(origin: socket.socket, end: socket.socket) -> None:
    """Forward data until one of both connections ends."""
    with suppress(OSError):
        while data := origin.recv(1 << 16):
            end.sendall(data)


@pytest.mark.slow
def test_no_server_that_is_named_without_tls_gets_the_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a program connects to addresses from a message that anyone on the path can write,
    and sends its token there without encryption. 5 s."""
    own = identity(tmp_path / "tls", "IP:127.0.0.1")
    token = tmp_path / "token"
    token.write_text("fleet:made-up\n", encoding="utf-8")
    token.chmod(0o600)
    with ExitStack() as stack:
        fleet = HostedFleet(tmp_path, monkeypatch, account(user("made-up")), identity=own)
        stack.enter_context(fleet)
        attacker = stack.enter_context(Attacker(fleet.port))
        fleet.url = f"tls://127.0.0.1:{attacker.port}"
        fleet.set(NATS_CACERT=own.authority, NATS_CERT=own.cert, NATS_KEY=own.key)
        fleet.set(NATS_TOKEN_FILE=token)
        fleet.coordinator(program=COORDINATOR)
        attacker.cut()
        assert attacker.wait_for_attempts(ATTEMPTS)
        assert attacker.logins == []
