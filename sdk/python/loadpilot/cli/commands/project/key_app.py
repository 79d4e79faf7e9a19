"""The command ``loadpilot keys`` and its flags: keys of the callers of a gateway."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from ....control.exit_code import ExitCode  # noqa: TC001  (cyclopts evaluates annotations)
from ....control.nats_settings import TENANT_DEFAULT
from ...flags.declaration import OUTPUT, flag
from ...flags.shared_flags import Json  # noqa: TC001  (as above)

LIFETIME = "90d"
"""Lifetime of a key where none is named."""
FIRST = "admin"
"""Name of the first key where none is named."""

KeyFile = Annotated[
    str | None, flag(OUTPUT, "FILE", "File of the gateway's keys (LOADPILOT_GATEWAY_KEYS_FILE).")
]
KeyTenant = Annotated[
    str, flag(OUTPUT, "NAME", "Tenant whose runs the key opens.", default=TENANT_DEFAULT)
]
Expires = Annotated[
    str, flag(OUTPUT, "DURATION", "Lifetime of the key, such as 90d; never.", default=LIFETIME)
]

keys_app = App(
    name="keys",
    help="""Create, list and revoke the keys of a gateway's callers, in one file.

The file holds hashes only. A gateway with LOADPILOT_GATEWAY_KEYS_FILE reads it
again when it changes: a new or revoked key acts at once.""",
)


@keys_app.command
def init(
    *,
    file: KeyFile = None,
    name: Annotated[str, flag(OUTPUT, "NAME", "Name of the key.", default=FIRST)] = FIRST,
    tenant: KeyTenant = TENANT_DEFAULT,
    expires: Expires = LIFETIME,
) -> ExitCode:
    """Create the file with a first key, of role admin, and print that key once."""
    from .key_commands import init as execute

    return execute(file, name, tenant, expires)


@keys_app.command
def create(
    *,
    file: KeyFile = None,
    name: Annotated[
        str | None, flag(OUTPUT, "NAME", "Name of the key, the author of its requests.")
    ] = None,
    tenant: KeyTenant = TENANT_DEFAULT,
    role: Annotated[
        str, flag(OUTPUT, "WHAT", "viewer, runner or admin.", default="viewer")
    ] = "viewer",
    expires: Expires = LIFETIME,
) -> ExitCode:
    """Add a key, and print it once.

    viewer: reads runs. runner: also starts, steers and annotates. admin: also the kill switch.
    """
    from .key_commands import create as execute

    return execute(file, name, tenant, role, expires)


@keys_app.command(name="list")
def list_(*, file: KeyFile = None, json: Json = False) -> ExitCode:
    """List the keys: id, name, tenant, role, state and end; no secret."""
    from .key_commands import list_keys as execute

    return execute(file, as_json=json)


@keys_app.command
def revoke(
    key: Annotated[str, Parameter(name="KEY", help="Id or name of the key.")],
    /,
    *,
    file: KeyFile = None,
) -> ExitCode:
    """Revoke a key: the gateway refuses it and ends its browser sessions and live views."""
    from .key_commands import revoke as execute

    return execute(key, file)
