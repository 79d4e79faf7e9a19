"""Requests for runs. The native module reads and checks the body, without the GIL."""

from __future__ import annotations

import json
import secrets
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from loadpilot import _native

from ..limits import TEXT_CHARS_MAX
from ..problem import CONTENT_TOO_LARGE, ApiError, Code, Wrong
from .dependencies import Caller, Here, says_no

router = APIRouter(tags=["start"])
SEED_BITS = 53
"""Size of a seed: JSON readers that know only doubles read it exactly."""


class AgentsWanted(BaseModel):
    """Number of agents."""

    model_config = {"extra": "forbid"}

    want: int = Field(ge=1, le=4096)
    min: int | None = Field(
        default=None, ge=1, description="Number that suffices at the end of the wait."
    )
    wait_us: int | None = Field(default=None, ge=0)


class RunWanted(BaseModel):
    """A request for a run."""

    model_config = {"extra": "forbid"}

    plan: dict[str, Any] = Field(description="As `loadpilot run --dry-run` prints it.")
    agents: AgentsWanted | None = None
    seed: int | None = Field(default=None, ge=0, le=(1 << SEED_BITS) - 1)
    lead_us: int | None = Field(default=None, ge=0)
    needs: list[str] = []
    no_early_abort: bool = Field(
        default=False, description="Do not abort a run whose calls all fail to connect."
    )
    secrets: dict[str, str] = Field(default={}, description="The value of each secret handle.")
    bodies: dict[str, str] = Field(default={}, description="Base64, by the SHA-256 in the plan.")


class Started(BaseModel):
    """A requested run."""

    run: str


class Checked(BaseModel):
    """The result of checking a plan."""

    problems: list[Wrong]
    facts: dict[str, Any] | None = Field(description="Null for an invalid plan.")


BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/RunWanted"}}},
    }
}
TAKES = says_no(
    HTTPStatus.REQUEST_TIMEOUT,
    CONTENT_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
)


@router.post("/plans/check", response_model=Checked, responses=TAKES, openapi_extra=BODY)
async def check(here: Here, request: Request) -> Response:
    """Check a plan, or a request for a run, without starting anything."""
    async with here.reading:
        body = await posted(request)
        checked = await here.asking(lambda: _native.check_asked(body, here.defaults.as_tuple))
    return Response(checked, media_type="application/json")


@router.post(
    "/runs",
    status_code=HTTPStatus.ACCEPTED,
    response_model=Started,
    responses={
        **TAKES,
        **says_no(HTTPStatus.CONFLICT),
        HTTPStatus.OK.value: {
            "model": Started,
            "description": "The key's run, which was requested before.",
        },
    },
    openapi_extra=BODY,
)
async def start(
    here: Here,
    caller: Caller,
    request: Request,
    key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            pattern=r"^[!-~]+$",
            max_length=TEXT_CHARS_MAX,
            description="The same key and request give the same run, however often sent.",
        ),
    ] = None,
) -> Response:
    """Ask for a run. It has no owner: it goes on when the caller is gone."""
    async with here.reading:
        body = await posted(request)
        seed = secrets.randbits(SEED_BITS)
        answer = await here.submit(
            lambda session: _native.ask(session, body, here.defaults.as_tuple, seed, key, caller)
        )
    here.logs.first.forget()
    started = json.loads(answer)
    status = HTTPStatus.ACCEPTED if started["is_new"] else HTTPStatus.OK
    return Response(json.dumps({"run": started["run"]}), status, media_type="application/json")


async def posted(request: Request) -> bytes:
    """Read a body of `application/json`; raises ApiError."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        detail = "Content-Type must be application/json"
        raise ApiError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, Code.NOT_JSON, detail)
    return await request.body()
