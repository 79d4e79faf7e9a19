"""A nats-server as a NATS service runs it, with accounts, credentials and TLS that the test
chooses.

Must never end a process that it did not start.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from tests.e2e.support.fleet import Fleet, nats_server

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from tests.e2e.support.certificates import Identity
    from tests.e2e.support.command import Running

TLS = """tls {{ cert_file: "{cert}", key_file: "{key}", ca_file: "{authority}", verify: true }}"""
USER = "fleet"


class HostedFleet(Fleet):
    """A fleet on a server whose access the test configures; the token is not used."""

    def __init__(
        self,
        folder: Path,
        environ: pytest.MonkeyPatch,
        access: str,
        *,
        identity: Identity | None = None,
        store: str = "max_file: 64G",
    ) -> None:
        super().__init__(folder, environ)
        environ.delenv("NATS_TOKEN")
        self.environ = environ
        self._identity, self._store = identity, store
        if identity is not None:
            self.url = self.url.replace("nats://", "tls://")
        self.write(access)

    def write(self, access: str) -> None:
        """Write the server's configuration, with these lines for accounts and users."""
        one = self._identity
        tls = ""
        if one is not None:
            tls = TLS.format(cert=one.cert, key=one.key, authority=one.authority)
        folder = self.folder / "store"
        lines = [
            f'listen: "127.0.0.1:{self.port}"',
            f'jetstream {{ store_dir: "{folder}", sync_interval: always, {self._store} }}',
            tls,
            access,
        ]
        (self.folder / "nats.conf").write_text("\n".join(lines), encoding="utf-8")

    def reload(self, access: str) -> None:
        """Reload the running server with another access, and wait until it has read that."""
        self.write(access)
        self.server.signal(signal.SIGHUP)
        self.server.until("Reloaded server configuration")

    def set(self, **variables: object) -> None:
        """Set variables of all processes that start from now on."""
        for name, value in variables.items():
            self.environ.setenv(name, str(value))

    def beside(self, name: str, lines: str, *logged: str) -> Running:
        """Start another server, such as a leaf node. Wait until it answers and has logged each of
        the given texts, in any order."""
        file = self.folder / f"{name}.conf"
        file.write_text(lines, encoding="utf-8")
        started = self._start(nats_server(), "--config", str(file))
        missing = {"Server is ready", *logged}
        while missing:
            line = started.until("")
            missing = {text for text in missing if text not in line}
        return started


def account(users: str, limits: str = "", jetstream: str = "enabled") -> str:
    """Write one account, its users and limits, in the syntax of a server's configuration."""
    return (
        f"accounts {{ FLEET: {{ jetstream: {jetstream}, users: [{users}], limits: {{ {limits} }} "
        "}, SYS: { users: [{ user: system, password: made-up }] } }\nsystem_account: SYS\n"
    )


def user(password: str) -> str:
    """Write the one user with this password."""
    return f'{{ user: {USER}, password: "{password}" }}'
