"""A server in operator mode: its configuration, and the keys that sign accounts and users.

`operator.conf` holds public JWTs only. `signing` holds seeds, which no server needs: that of the
operator signs accounts, and one for each role of an account signs users of that role.

Must never show a seed, nor write one where a server reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import private_file
from . import roles
from .jwt import TENANT_OF_USER, UNLIMITED, Key, Scope, claims_of, credentials, operator
from .jwt import account as account_jwt
from .jwt import user as user_jwt
from .user_folder import Login, add_user

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from .roles import Permissions
    from .user_folder import Request

CONFIG = "operator.conf"
SIGNING = "signing"
CREDS = "user.creds"
SYSTEM = "SYS"
"""Name of the account of the server's own events; no tenant can have it."""
STREAMS_MAX = 4
HEAD = """\
# Written by `loadpilot admin nats-config --jwt`: include it in the configuration of the server.
# It holds no secret. `loadpilot admin nats-revoke` replaces it; reload the server then.
"""


def fill(folder: Path, request: Request, now: int) -> None:
    """Write configuration, keys that sign, and users; raises OSError."""
    signer, system = Key.new("operator"), Key.new("account")
    signing = folder / SIGNING
    signing.mkdir(mode=0o700)
    _keep(signing / "operator.nk", signer)
    _keep(signing / "system.nk", system)
    accounts = [account_jwt(signer, system.public, SYSTEM, now)]
    if request.has_accounts:
        for tenant in request.tenants:
            stored = request.stored_max(tenant)
            made = _Maker(folder, request, now, tenant, _by_role(roles.ALONE, tenant))
            accounts.append(made.account(signer, stored, STREAMS_MAX))
            made.users(tenant, roles.ALONE, {})
    else:
        wanted = _by_role(roles.FLEET, roles.EVERY) | _by_role(roles.TENANT, TENANT_OF_USER)
        made = _Maker(folder, request, now, request.home, wanted)
        accounts.append(made.account(signer, UNLIMITED, UNLIMITED))
        made.users(request.home, roles.FLEET, {})
        for tenant in request.tenants:
            made.users(tenant, roles.TENANT, {"tenant": tenant})
    by = operator(signer, "loadpilot", now)
    private_file.create(folder / CONFIG, _config(by, system.public, accounts))


def _by_role(
    wanted: Mapping[str, Callable[[str], Permissions]], tenant: str
) -> dict[str, Permissions]:
    return {role: permissions(tenant) for role, permissions in wanted.items()}


class _Maker:
    """Makes one account and its users, with a signing key for each role."""

    def __init__(
        self,
        folder: Path,
        request: Request,
        now: int,
        name: str,
        wanted: Mapping[str, Permissions],
    ) -> None:
        self._folder, self._request, self._now, self._name = folder, request, now, name
        self._wanted = wanted
        self._key = Key.new("account")
        self._signers = {role: Key.new("account") for role in wanted}
        place = folder / SIGNING / name
        place.mkdir(mode=0o700)
        _keep(place / "account.nk", self._key)
        for role, key in self._signers.items():
            _keep(place / f"{role}.nk", key)

    def account(self, signer: Key, stored: int, streams: int) -> str:
        """Sign the account."""
        scopes = [
            Scope(role, self._signers[role].public, may) for role, may in self._wanted.items()
        ]
        name, now = self._name, self._now
        return account_jwt(
            signer, self._key.public, name, now, scopes=scopes, max_stored=stored, streams=streams
        )

    def users(self, owner: str, wanted: Mapping[str, object], tags: Mapping[str, str]) -> None:
        """Write a folder for a user of each role."""
        lifetime = self._request.lifetime_s
        expires = None if lifetime is None else self._now + lifetime
        for role in wanted:
            key = Key.new("user")
            jwt = user_jwt(
                self._signers[role],
                self._key.public,
                key.public,
                f"{owner}-{role}",
                self._now,
                tags=tags,
                expires=expires,
            )
            login = Login(CREDS, credentials(jwt, key), "creds")
            add_user(self._folder, self._request, owner, role, login)


def _keep(file: Path, key: Key) -> None:
    private_file.create(file, f"{key.seed}\n")


def _config(by: str, system: str, accounts: list[str]) -> str:
    lines = []
    for jwt in accounts:
        claims = claims_of(jwt)
        lines.append(f"    # {claims['name']}\n    {claims['sub']}: {jwt}\n")
    return (
        f"{HEAD}operator: {by}\nsystem_account: {system}\nresolver: MEMORY\n"
        f"resolver_preload: {{\n{''.join(lines)}}}\n"
    )
