"""A nats-server with users of two tenants, as `loadpilot admin nats-config` writes them."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

import nats
from tests.e2e.cloud.operator_keys import Key, signed_again
from tests.e2e.support.command import COMMAND, Running
from tests.e2e.support.fleet import JETSTREAM, free_port, nats_server, wait_until_handled

from loadpilot.local.fleet_server.user_files import write
from loadpilot.local.fleet_server.user_folder import Request

if TYPE_CHECKING:
    from pathlib import Path

ANSWER_S = 5.0
STORED = 3 << 30
"""Storage of each account in bytes: a server enables no JetStream for an account that does not
fit."""
SERVER = """
listen: "127.0.0.1:{port}"
include "{users}"
{jetstream}
"""


class TenantServer:
    """The server, with users of the tenants `a` and `b`, and the processes that tests start beside
    it."""

    def __init__(
        self,
        folder: Path,
        *,
        passwords: bool,
        accounts: bool = False,
        jwts: bool = False,
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
                has_jwts=jwts,
                max_stored=dict.fromkeys(("a", "b"), STORED),
            )
        )
        self.config = self.users / ("operator.conf" if jwts else "users.conf")
        if wider[0]:
            self._widen(*wider)
        conf = self.users / "server.conf"
        jetstream = JETSTREAM.format(store=folder / "store")
        lines = SERVER.format(port=port, users=self.config.name, jetstream=jetstream)
        conf.write_text(lines, encoding="utf-8")
        self._conf = conf
        self._open = ExitStack()

    def __enter__(self) -> Self:
        argv = (nats_server(), "--config", str(self._conf))
        self._server = self._start("Server is ready", *argv)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _widen(self, old: str, new: str) -> None:
        """Replace a permission in the configuration, or in the accounts that it holds as JWTs."""
        text = self.config.read_text(encoding="utf-8")
        if self.config.name == "users.conf":
            assert old in text
            text = text.replace(old, new)
        else:
            seed = (self.users / "signing" / "operator.nk").read_text(encoding="utf-8")
            signer = Key.of("operator", seed.strip())
            old, new = (one.replace(".a.", ".{{tag(tenant)}}.") for one in (old, new))
            for jwt in re.findall(r"A\w+: (ey\S+)", text):
                fresh = signed_again(jwt, signer, old, new)
                text = text.replace(jwt, fresh)
        self.config.write_text(text, encoding="utf-8")

    def reload(self) -> None:
        """Have the running server read its configuration again, and wait until it has."""
        self._server.signal(signal.SIGHUP)
        self._server.until("Reloaded server configuration")

    def member(self, until: str, owner: str, role: str, *flags: str) -> Running:
        """Start a coordinator or an agent with the connection file of its role."""
        connect = self.users / owner / role / "connect.json"
        return self._start(until, str(COMMAND), role, "--connect", str(connect), *flags)

    def agent(self, name: str, creds: Path) -> Running:
        """Start an agent of the home tenant with a credentials file."""
        flags = ("--nats-url", self.url, "--creds", str(creds), "--tenant", "fleet", "--id", name)
        return self._start("coordinator found=true", str(COMMAND), "agent", *flags)

    def _start(self, until: str, *argv: str) -> Running:
        started = Running(list(argv), self.folder, self.folder / "no")
        self._open.enter_context(started).until(until)
        return started

    def creds(self, owner: str, role: str) -> str:
        """Path of the credentials file of a user."""
        found = json.loads((self.users / owner / role / "connect.json").read_text("utf-8"))
        return str(found["creds"])

    async def connect(self, owner: str, role: str, refusals: list[str]) -> Any:
        """Connect as a user of the folder; the server's refusals are appended to the list."""

        async def note(error: Exception) -> None:
            refusals.append(str(error).lower())

        settings: dict[str, Any] = {"error_cb": note, "allow_reconnect": False}
        folder = self.users / owner / role
        if (folder / "nats-token").exists():
            user, password = (folder / "nats-token").read_text("utf-8").strip().split(":")
            settings |= {"user": user, "password": password}
        else:
            jwt, seed = re.findall(r"^(ey\S+|SU\S+)$", self._text(owner, role), re.MULTILINE)
            key = Key.of("user", seed)
            user = key.public
            settings["user_jwt_cb"] = lambda: bytearray(jwt.encode())
            settings["signature_cb"] = lambda nonce: base64.b64encode(key.sign(nonce.encode()))
        return await nats.connect(self.url, inbox_prefix=f"_INBOX.{user}".encode(), **settings)

    def _text(self, owner: str, role: str) -> str:
        return (self.users / owner / role / "user.creds").read_text("utf-8")


async def is_refused(connection: Any, refusals: list[str], kind: str, subject: str) -> bool:
    """Try one subject, and return whether the server refuses it."""
    refusals.clear()
    if kind == "subscribe":
        await connection.subscribe(subject)
        words = f'permissions violation for subscription to "{subject.lower()}"'
    else:
        await connection.publish(subject, os.urandom(4))
        words = f'permissions violation for publish to "{subject.lower()}"'
    # The server answers after all of its refusals.
    await wait_until_handled(connection)
    return any(words in one for one in refusals)
