"""A nats-server with users of two tenants, as `loadpilot admin nats-config` writes them."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

import nats
from tests.e2e.support.command import COMMAND, Running
from tests.e2e.support.fleet import free_port, nats_server

from loadpilot.local.fleet_server.user_files import Request, write

if TYPE_CHECKING:
    from pathlib import Path

ANSWER_S = 5.0
SERVER = """
listen: "127.0.0.1:{port}"
include "users.conf"
jetstream {{ store_dir: "{store}", sync_interval: always }}
"""


class TenantServer:
    """The server, with users of the tenants `a` and `b`, and what is started beside it."""

    def __init__(
        self,
        folder: Path,
        *,
        passwords: bool,
        accounts: bool = False,
        wider: tuple[str, str] = ("", ""),
    ) -> None:
        self.folder = folder
        self.users = folder / "users"
        self.url = f"nats://127.0.0.1:{(port := free_port())}"
        write(
            Request(
                self.users,
                ["a", "b"],
                self.url,
                has_passwords=passwords,
                has_accounts=accounts,
            )
        )
        users = self.users / "users.conf"
        text = users.read_text(encoding="utf-8")
        assert wider[0] in text
        users.write_text(text.replace(*wider) if wider[0] else text, encoding="utf-8")
        conf = self.users / "server.conf"
        conf.write_text(SERVER.format(port=port, store=folder / "store"), encoding="utf-8")
        self._conf = conf
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._start("Server is ready", nats_server(), "--config", str(self._conf))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def member(self, until: str, owner: str, role: str, *flags: str) -> Running:
        """Start a coordinator or an agent with its own file."""
        connect = self.users / owner / role / "connect.json"
        return self._start(until, str(COMMAND), role, "--connect", str(connect), *flags)

    def _start(self, until: str, *argv: str) -> Running:
        started = Running(list(argv), self.folder, self.folder / "no")
        self._open.enter_context(started).until(until)
        return started

    def creds(self, owner: str, role: str) -> str:
        """Path of the key with which a command logs in."""
        found = json.loads((self.users / owner / role / "connect.json").read_text("utf-8"))
        return str(found["creds"])

    async def connect(self, owner: str, role: str, refusals: list[str]) -> Any:
        """Connect as a user with a password; the server's refusals go to the list."""
        token = (self.users / owner / role / "nats-token").read_text("utf-8").strip()
        user, password = token.split(":")

        async def note(error: Exception) -> None:
            refusals.append(str(error).lower())

        return await nats.connect(
            self.url,
            user=user,
            password=password,
            inbox_prefix=f"_INBOX.{user}".encode(),
            error_cb=note,
            allow_reconnect=False,
        )


async def is_refused(connection: Any, refusals: list[str], kind: str, subject: str) -> bool:
    """Try one subject, and return whether the server refuses it."""
    refusals.clear()
    if kind == "subscribe":
        await connection.subscribe(subject)
        words = f'permissions violation for subscription to "{subject.lower()}"'
    else:
        await connection.publish(subject, os.urandom(4))
        words = f'permissions violation for publish to "{subject.lower()}"'
    # The answer to it comes after every refusal.
    await asyncio.wait_for(connection.flush(), ANSWER_S)
    return any(words in one for one in refusals)
