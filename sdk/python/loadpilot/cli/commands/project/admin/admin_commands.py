"""The commands for the operator of a fleet: its server's users, and proofs of ownership."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from .....control.exit_code import ExitCode  # noqa: TC001  (cyclopts evaluates annotations)
from .....control.nats_settings import URL_DEFAULT
from ....flags.declaration import FLEET, OUTPUT, flag

Signing = Annotated[
    str | None, flag(OUTPUT, "DIR", "Folder that `nats-config --jwt` wrote, with keys that sign.")
]
Expires = Annotated[
    str, flag(OUTPUT, "DURATION", "Lifetime of the JWT, such as 90d; never.", default="never")
]

admin_app = App(name="admin", help="Set up a fleet: users of its server, and proofs of ownership.")
"""`loadpilot admin`."""


@admin_app.command
def nats_config(  # noqa: PLR0913  (flags)
    *,
    out: Annotated[
        str | None, flag(OUTPUT, "DIR", "New folder for users.conf and the users' files.")
    ] = None,
    tenants: Annotated[
        str | None,
        flag(FLEET, "NAME,...|FILE", "Tenants, or the file tenants.toml of a fleet."),
    ] = None,
    nats_url: Annotated[
        str | None,
        flag(FLEET, "URL", "Address of the server for its users.", default=URL_DEFAULT),
    ] = None,
    nats_cacert: Annotated[
        str | None, flag(FLEET, "FILE", "Certificates that the users trust, PEM.")
    ] = None,
    home: Annotated[
        str, flag(FLEET, "NAME", "Tenant of coordinators and agents.", default="fleet")
    ] = "fleet",
    accounts: Annotated[
        bool, flag(FLEET, "", "An account, a coordinator and agents for each tenant.")
    ] = False,
    passwords: Annotated[
        bool, flag(FLEET, "", "Passwords in place of keys: the server then stores secrets.")
    ] = False,
    rotate: Annotated[
        bool, flag(OUTPUT, "", "Replace all keys and passwords of a folder; the address stays.")
    ] = False,
    jwt: Annotated[
        bool, flag(FLEET, "", "Operator mode: users are issued from signing keys, as JWTs.")
    ] = False,
    expires: Expires = "never",
) -> ExitCode:
    """Write users and permissions of a NATS server for a fleet and its tenants.

    Without --accounts, tenants share one log, and each user is confined to the
    subjects of its tenant. Keys are for their owners only; none is printed.
    With --jwt, an operator signs accounts, and each account has a signing key for
    each role: `nats-user` issues users from it, without a change of the server.
    """
    from .nats_config import NatsConfigFlags
    from .nats_config import nats_config as execute

    return execute(
        NatsConfigFlags(
            out=out,
            tenants=tenants,
            nats_url=nats_url,
            nats_cacert=nats_cacert,
            home=home,
            accounts=accounts,
            passwords=passwords,
            rotate=rotate,
            jwt=jwt,
            expires=expires,
        )
    )


@admin_app.command
def nats_user(
    *,
    keys: Signing = None,
    role: Annotated[
        str | None,
        flag(FLEET, "WHAT", "coordinator, agent, operator, submitter, gateway or watcher."),
    ] = None,
    tenant: Annotated[
        str | None,
        flag(FLEET, "NAME", "Tenant of the user; for the roles of a fleet, its home tenant."),
    ] = None,
    name: Annotated[
        str | None, flag(FLEET, "NAME", "Name in the server's log.", default="TENANT-ROLE")
    ] = None,
    expires: Expires = "never",
    out: Annotated[str | None, flag(OUTPUT, "FILE", "New credentials file.")] = None,
    renew: Annotated[
        str | None,
        flag(OUTPUT, "FILE", "Give the user of a credentials file a new JWT, in place."),
    ] = None,
) -> ExitCode:
    """Issue a user of a NATS server in operator mode, or renew its JWT.

    The server learns nothing: it trusts the signing key of the role. Programs read
    a renewed file at their next connection, which the server's end of the old JWT causes.
    """
    from .nats_user import NatsUserFlags
    from .nats_user import nats_user as execute

    return execute(NatsUserFlags(keys, role, tenant, name, expires, out, renew))


@admin_app.command
def nats_revoke(
    *,
    keys: Signing = None,
    creds: Annotated[str | None, flag(FLEET, "FILE", "Credentials file of the user.")] = None,
    user: Annotated[
        str | None, flag(FLEET, "KEY", "Public key of the user, instead of its file.")
    ] = None,
) -> ExitCode:
    """Revoke a user of a NATS server in operator mode.

    Writes the accounts anew into operator.conf; a server that reloads it ends the
    user's connections and refuses every JWT that was issued for it so far.
    """
    from .nats_user import nats_revoke as execute

    return execute(keys, creds, user)


@admin_app.command
def ownership_token(
    tenant: Annotated[str, Parameter(name="TENANT", help="Tenant of the fleet.")],
    host: Annotated[str, Parameter(name="HOST", help="Name, address or URL of the target.")],
    /,
    *,
    key_file: Annotated[
        str | None, flag(FLEET, "FILE", "The ownership_key_file of tenants.toml.")
    ] = None,
) -> ExitCode:
    """Print the line by which a host shows that a tenant may load it.

    A shared fleet requires it above the tenant's unproven_rate. The same key,
    tenant and host give the same line; it is no secret.
    """
    from .ownership_token import ownership_token as execute

    return execute(tenant, host, key_file)
