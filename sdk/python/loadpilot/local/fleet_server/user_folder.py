"""Users and accounts that a server's files are written for, and the folder of one user.

Must never write a seed or a password where others than its owner can read it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import private_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

CONNECT = "connect.json"
MAX_STORED = 10 << 30
"""Bytes in the streams of an account at most, unless the tenants file says otherwise."""


@dataclass(frozen=True, slots=True)
class Request:
    """The users, accounts and files that are to be written."""

    out: Path
    tenants: Sequence[str]
    url: str
    home: str = "fleet"
    """Tenant of coordinators and agents that serve all of them."""
    cacert: Path | None = None
    has_accounts: bool = False
    """Whether each tenant has an account, a coordinator and agents to itself."""
    has_passwords: bool = False
    has_jwts: bool = False
    """Whether an operator signs accounts, and signing keys of these their users."""
    is_rotation: bool = False
    max_stored: Mapping[str, int] | None = None
    """Bytes in the streams of an account, by tenant."""
    lifetime_s: int | None = None
    """Seconds until the JWTs of users expire; None: never."""

    def stored_max(self, tenant: str) -> int:
        """Bytes in the streams of an account at most."""
        return (self.max_stored or {}).get(tenant, MAX_STORED)


@dataclass(frozen=True, slots=True)
class Login:
    """How a user logs in: a file of its folder, and its setting in `connect.json`."""

    file: str
    text: str
    setting: str
    token: str | None = None
    """The value of the setting; None for the path of the file."""


def add_user(folder: Path, request: Request, owner: str, role: str, login: Login) -> None:
    """Write the folder of a user below the folder that becomes `request.out`; raises OSError."""
    own = folder / owner / role
    own.parent.mkdir(mode=0o700, exist_ok=True)
    own.mkdir(mode=0o700)
    # Programs read the files under the final name of the folder.
    final = (request.out / owner / role).absolute()
    private_file.create(own / login.file, login.text)
    connect: dict[str, object] = {
        "url": request.url,
        login.setting: login.token or str(final / login.file),
    }
    if request.cacert is not None:
        connect["cacert"] = str(request.cacert.absolute())
    private_file.create(own / CONNECT, json.dumps(connect) + "\n")
