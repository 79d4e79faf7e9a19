"""The caller, the agents, sign-in of browsers, and the probes of this process."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from http import HTTPStatus
from time import time
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel, Field

from loadpilot.control.protocols import LISTEN_SECS
from loadpilot.local.keys.key import Role

from ..limits import EXPORT_SECS
from ..problem import ApiError, Code
from ..runs.run_export import exposition
from ..server.identity import METRICS_READER
from .dependencies import Authenticated, Everyone, Here, says_no

ScrapeAccept = Annotated[str, Header(alias="Accept", description="Formats that are accepted.")]
router = APIRouter(tags=["people"])
probes = APIRouter(tags=["probes"])


class Me(BaseModel):
    """The caller and its permissions."""

    user: str
    tenant: str = Field(description="The tenant whose runs it sees; empty with `loadpilot ui`.")
    role: Role
    key: str | None = Field(description="Id of its key; null without one.")
    expires: int | None = Field(description="When the key ends, in s since 1970-01-01 UTC.")
    can_start: bool
    can_steer: bool
    can_halt: bool
    logs: list[str] = Field(description="Names of the logs.")
    agents: int | None = Field(description="Number of agents started here; null on a fleet.")
    version: str


class Agents(BaseModel):
    """The agents of the fleet or stack."""

    agents: list[dict[str, Any]] = Field(description="As `loadpilot agents --json` prints them.")


class ListedKey(BaseModel):
    """A key, without its hash. Times are in s since 1970-01-01 UTC."""

    id: str
    name: str
    role: Role
    state: str = Field(description="`valid`, `expired` or `revoked`.")
    created: int
    expires: int | None = Field(description="Null: never.")


class Keys(BaseModel):
    """The keys of a tenant."""

    keys: list[ListedKey]


class Token(BaseModel):
    """A token that opens a browser's session."""

    model_config = {"extra": "forbid"}

    token: Annotated[str, Field(max_length=512)]


@router.get("/me", responses=says_no())
async def me(here: Here, caller: Authenticated) -> Me:
    """Return the caller and its permissions."""
    logs = await here.asking(here.logs.every)
    return Me(
        user=caller.user,
        tenant=caller.tenant,
        role=caller.role,
        key=caller.key,
        expires=caller.expires,
        can_start=caller.role.includes(Role.RUNNER),
        can_steer=caller.role.includes(Role.RUNNER),
        can_halt=caller.role.includes(Role.ADMIN),
        logs=[log.name for log in logs],
        agents=here.local_agents,
        version=here.version,
    )


@router.get("/agents", responses=says_no())
async def agents(here: Here) -> Agents:
    """Listen for agents for a few seconds; concurrent requests share one answer."""
    return Agents(agents=json.loads(await here.agents(LISTEN_SECS)))


@router.post("/session", status_code=HTTPStatus.NO_CONTENT, responses=says_no())
async def session(request: Request, shown: Token) -> Response:
    """Open a browser's session: set a cookie for a token or a key."""
    authenticator = request.app.state.authenticator
    owner = authenticator.opened_by(shown.token)
    if owner is None:
        detail = "invalid token; the link's token opens one browser, once"
        challenge = {"WWW-Authenticate": "Bearer"}
        raise ApiError(HTTPStatus.UNAUTHORIZED, Code.UNAUTHORIZED, detail, headers=challenge)
    headers = {"Set-Cookie": authenticator.new_cookie(owner), "Cache-Control": "no-store"}
    return Response(status_code=HTTPStatus.NO_CONTENT, headers=headers)


@router.get("/keys", responses=says_no(HTTPStatus.NOT_FOUND))
async def keys(caller: Authenticated, request: Request) -> Keys:
    """List the keys of the caller's tenant, without their hashes."""
    file = request.app.state.authenticator.keys
    if file is None:
        detail = "this gateway has no file of keys (LOADPILOT_GATEWAY_KEYS_FILE)"
        raise ApiError(HTTPStatus.NOT_FOUND, Code.UNKNOWN_PATH, detail)
    now = time()
    own = [one for one in file.now() if one.tenant == caller.tenant]
    return Keys(
        keys=[
            ListedKey(
                id=one.id,
                name=one.name,
                role=one.role,
                state=one.state(now),
                created=one.created,
                expires=one.expires,
            )
            for one in own
        ]
    )


OF_ALL: dict[int | str, dict[str, Any]] = {
    code.value: says_no()[code.value]
    for code in (HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS)
}
"""Error answers of a route that needs no credentials and takes nothing."""


@probes.get("/healthz", response_class=PlainTextResponse, responses=OF_ALL)
async def healthz() -> str:
    """Answer 200 while this process lives."""
    return "ok\n"


@probes.get("/readyz", response_class=PlainTextResponse, responses=says_no())
async def readyz(tenants: Everyone) -> str:
    """Answer 200 when the log can be read, with several tenants that of each."""
    await tenants.check_logs()
    return "ready\n"


@probes.get("/metrics", response_class=Response, responses=says_no())
async def metrics(
    here: Here, tenants: Everyone, caller: Authenticated, accept: ScrapeAccept = ""
) -> Response:
    """Return the metrics of this process and of runs that are open or ended a short while ago.

    They are in OpenMetrics, Prometheus's text format or its protobuf, as the scrape accepts. The
    token of metrics reads those of all tenants, any other caller those of its own.
    """
    shown, requests, limited = [here], here.requests, 0
    if caller is METRICS_READER:
        shown, requests, limited = list(tenants), tenants.requests, tenants.limited
    logs = await asyncio.gather(*(one.figures(EXPORT_SECS) for one in shown))
    write = partial(exposition, accept, here.version, requests, limited, logs)
    kind, body = await here.asking(write)
    return Response(body, headers={"Content-Type": kind, "Cache-Control": "no-store"})
