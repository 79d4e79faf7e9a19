"""Users, their permissions and accounts, as text that a nats-server includes.

Must never contain a seed: of a key, the server needs the public half only.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import roles

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .roles import Permissions

LINE = 100
SHIPPED = ("coordinator", "agent", "submitter", "gateway", "watcher")
"""Roles of `deploy/nats/roles.conf`."""
ROLES_HEAD = """\
# Permissions of each role, included by the server's configuration. The lists name the allowed
# subjects; the server refuses all others. Each role has its own inboxes, so that no role reads the
# answers to another. `LP_CTL` and `LP_DATA` are the log, `KV_LP` holds secrets, `OBJ_LP` bodies and
# files. Written by `./dev gen` from sdk/python/loadpilot/local/fleet_server/roles.py.
"""
USERS_HEAD = """\
# Written by `loadpilot admin nats-config`: include it in the configuration of the NATS server.
"""


@dataclass(frozen=True, slots=True)
class User:
    """A user of the server: a role, of one tenant or of the fleet."""

    owner: str
    """Tenant, or home tenant of the fleet."""
    role: str
    permissions: Permissions
    key: str | None
    """Public half of its key; None for a password."""
    password: str | None = None

    @property
    def name(self) -> str:
        """Name at the server, for a password."""
        return f"{self.owner}-{self.role}"

    @property
    def login(self) -> str:
        """Identification of the user, as settings of the server."""
        if self.key is not None:
            return f"nkey: {self.key}"
        return f'user: {self.name}, password: "{self.password}"'


@dataclass(frozen=True, slots=True)
class Account:
    """An account of a tenant that has one to itself."""

    tenant: str
    users: Sequence[User]
    max_stored: int
    """Bytes in its streams at most, of all copies."""


def roles_text() -> str:
    """Write the permissions of a fleet without tenants: deploy/nats/roles.conf."""
    blocks = [
        f"\n{_heading(role)}MAY_{role.upper()} {{\n{_permissions(roles.ALONE[role](), role)}}}\n"
        for role in SHIPPED
    ]
    return ROLES_HEAD + "".join(blocks)


def shared_text(users: Iterable[User]) -> str:
    """Write the users of one account, which all tenants share."""
    return f"{USERS_HEAD}authorization {{\n    users: [\n{_users(users, 8)}    ]\n}}\n"


def accounts_text(accounts: Iterable[Account]) -> str:
    """Write an account for each tenant, with its users and limits."""
    blocks = [
        f"    {one.tenant} {{\n"
        f"        jetstream: {{max_mem: 0, max_file: {one.max_stored}, max_streams: 4}}\n"
        f"        users: [\n{_users(one.users, 12)}        ]\n    }}\n"
        for one in accounts
    ]
    return f"{USERS_HEAD}accounts {{\n{''.join(blocks)}}}\n"


def _users(users: Iterable[User], indent: int) -> str:
    space = " " * indent
    return "".join(
        f"{space}# {one.role} of {one.owner}\n{space}{{\n{space}    {one.login}\n"
        f"{space}    permissions: {{\n"
        f"{_permissions(one.permissions, one.key or one.name, indent + 8)}{space}    }}\n"
        f"{space}}}\n"
        for one in users
    )


def _permissions(permissions: Permissions, inbox: str, indent: int = 4) -> str:
    space = " " * indent
    subscribe = (*permissions.subscribe, f"_INBOX.{inbox}.>")
    lists: Mapping[str, Sequence[str]] = {
        "publish": permissions.publish,
        "subscribe": subscribe,
    }
    text = "".join(
        f"{space}{kind}: [\n{_wrapped(subjects, indent + 4)}{space}]\n"
        for kind, subjects in lists.items()
    )
    if permissions.answers:
        text += f'{space}allow_responses: {{max: 4, expires: "1m"}}\n'
    return text


def _wrapped(subjects: Sequence[str], indent: int) -> str:
    lines: list[str] = []
    line = ""
    for one in dict.fromkeys(subjects):
        word = f'"{one}"'
        longer = f"{line}, {word}" if line else word
        if line and indent + len(longer) > LINE:
            lines.append(line)
            longer = word
        line = longer
    return "".join(f"{' ' * indent}{one}\n" for one in [*lines, line])


def _heading(role: str) -> str:
    """Write the purpose of a role, as a comment."""
    text = " ".join((roles.ALONE[role].__doc__ or "").split()).removeprefix("Build the ")
    lines = textwrap.wrap(f"{role.capitalize()}: the {text}", LINE - 2)
    return "".join(f"# {line}\n" for line in lines)
