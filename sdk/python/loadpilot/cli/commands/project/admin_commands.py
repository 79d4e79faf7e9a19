"""The commands for the operator of a fleet: ``admin nats-config``."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

from typing import Annotated

from cyclopts import App

from ....control.exit_code import ExitCode  # noqa: TC001  (cyclopts evaluates annotations)
from ...flags.declaration import FLEET, OUTPUT, flag

admin_app = App(name="admin", help="Set up the server of a fleet: users and permissions.")
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
        str, flag(FLEET, "URL", "Address of the server for its users.", default="tls://nats:4222")
    ] = "tls://nats:4222",
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
        bool, flag(OUTPUT, "", "Replace all keys and passwords of a folder that is there.")
    ] = False,
) -> ExitCode:
    """Write users and permissions of a NATS server for a fleet and its tenants.

    Without --accounts, tenants share one log, and each user is confined to the
    subjects of its tenant. Keys are for their owners only; none is printed.
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
        )
    )
