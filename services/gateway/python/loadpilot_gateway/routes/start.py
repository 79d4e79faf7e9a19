"""Requests for runs. The native module reads and checks the body, without the GIL."""

from __future__ import annotations

import json
import secrets
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from loadpilot import _native
from loadpilot.control.nats_settings import OTHER_CONNECTIONS

from ..gateway import body_slot
from ..limits import TARGET_CHARS_MAX, TEXT_CHARS_MAX
from ..problem import CONTENT_TOO_LARGE, UNPROCESSABLE, ApiError, Code, Wrong
from .dependencies import OF_RUN, RUN, Authenticated, Here, says_no
from .slices import GATES_MAX, read_gates

if TYPE_CHECKING:
    from ..gateway import Gateway, RequestDefaults

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


Text = Annotated[str, Field(max_length=TEXT_CHARS_MAX)]


class ThresholdWanted(BaseModel):
    """A threshold, as a scenario writes it."""

    model_config = {"extra": "forbid"}

    key: Text = Field(description="`p99_ms`, or `TASK:p99_ms` for one task.")
    limit: Text = Field(description="`300`, or with the side that passes: `<= 300`.")


class Adjusting(BaseModel):
    """A plan, or the run that has it, and what is changed; absent: as in the plan."""

    model_config = {"extra": "forbid"}

    plan: dict[str, Any] | None = Field(
        default=None, description="As `loadpilot run --dry-run` prints it."
    )
    run: Annotated[str, Field(pattern=RUN)] | None = None
    target: Annotated[str, Field(max_length=TARGET_CHARS_MAX)] | None = None
    rate: Text | None = Field(
        default=None, description="Peak rate, `50/s`, or its share of the plan's, `50%`."
    )
    duration: Text | None = Field(default=None, description="Length of the run, `2m30s`.")
    users: Text | None = Field(default=None, description="Of a closed loop: `20`, or `50%`.")
    warm_up: Text | None = None
    thresholds: list[ThresholdWanted] | None = Field(
        default=None, max_length=GATES_MAX, description="All thresholds."
    )
    agents: Text | None = Field(default=None, description="Number of agents.")
    min_agents: Text | None = Field(
        default=None, description="Number that suffices at the end of the wait."
    )
    wait: Text | None = Field(default=None, description="Maximum wait for the agents, `30s`.")
    seed: Text | None = None


class Adjusted(BaseModel):
    """A changed plan, ready for `POST /runs`, and its problems."""

    plan: str | None = Field(
        description="The plan as JSON text: readers that know only doubles would change it. "
        "Null where the body holds no plan."
    )
    agents: AgentsWanted | None
    seed: int | None = Field(description="Null for a random one.")
    problems: list[Wrong] = Field(description="A change with a problem is left out.")
    facts: dict[str, Any] | None = Field(description="Totals; null with any problem.")
    form: dict[str, Any] | None = Field(
        description="The plan's settings as people write them, thresholds, tasks and secrets, and "
        "what is stored beside it."
    )
    played_by_command: bool = Field(
        description="Whether the run had a setup or teardown, which only the command can play."
    )


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
    async with body_slot(here.checking):
        body = await posted(request)
        checked = await here.asking(lambda: _native.check_asked(body, here.defaults.as_tuple))
    return Response(checked, media_type="application/json")


@router.post("/plans/adjust", response_model=Adjusted, responses=OF_RUN)
async def adjust(here: Here, wanted: Adjusting, request: Request) -> Response:
    """Change target, load, duration or thresholds of a plan, without starting anything."""
    if (wanted.plan is None) == (wanted.run is None):
        wrong = [{"field": "run", "rule": "must be given, or a plan, not both", "value": ""}]
        raise ApiError(UNPROCESSABLE, Code.USAGE, "the request is invalid", wrong)
    body, is_played = await request.body(), False
    if wanted.run is not None:
        run = wanted.run
        text = await here.of_run(run, lambda session: session.plan(run))
        body = f'{{"plan":{text}}}'.encode()
        listed = await here.asking(here.logs.runs)
        is_played = any(one["run"] == run and one["teardown"] is not None for one in listed)
    changes = wanted.model_dump(exclude_none=True, exclude={"plan", "run", "thresholds"})
    answer = await here.asking(lambda: adjusted(body, changes, wanted.thresholds, here.defaults))
    answer["played_by_command"] = is_played
    return Response(json.dumps(answer, ensure_ascii=False), media_type="application/json")


def adjusted(
    body: bytes,
    changes: dict[str, Any],
    thresholds: list[ThresholdWanted] | None,
    defaults: RequestDefaults,
) -> dict[str, Any]:
    """Change a plan. Its thresholds are read as those of a scenario."""
    problems: list[dict[str, Any]] = []
    if thresholds is not None:
        plain: dict[str, Any] = json.loads(_native.adjust_asked(body, "{}", defaults.as_tuple))
        tasks = (plain["form"] or {}).get("tasks", [])
        pairs = [(one.key, one.limit) for one in thresholds]
        changes["thresholds"], problems = read_gates(pairs, tasks, "thresholds[{at}]")
    changes_json = json.dumps(changes, ensure_ascii=False)
    answer: dict[str, Any] = json.loads(_native.adjust_asked(body, changes_json, defaults.as_tuple))
    if problems:
        answer["facts"] = None
    answer["problems"] = [*problems, *answer["problems"]]
    return answer


@router.post(
    "/runs",
    status_code=HTTPStatus.ACCEPTED,
    response_model=Started,
    responses={
        **TAKES,
        **says_no(HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND),
        HTTPStatus.OK.value: {
            "model": Started,
            "description": "The key's run, which was requested before.",
        },
    },
    openapi_extra=BODY,
)
async def start(
    here: Here,
    caller: Authenticated,
    request: Request,
    bodies_of: Annotated[
        str | None,
        Query(pattern=RUN, description="A run that has the bodies which the request leaves out."),
    ] = None,
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
    async with body_slot(here.starting):
        body = await posted(request)
        await here.asking(lambda: check_connections(body, here))
        seed = secrets.randbits(SEED_BITS)
        bodies: dict[str, bytes] = {}
        if bodies_of is not None:
            bodies = await here.of_run(bodies_of, lambda session: session.bodies(bodies_of))
        answer = await here.submit(
            lambda session: _native.ask(
                session, body, here.defaults.as_tuple, seed, key, caller.scope, bodies
            )
        )
    here.logs.first.forget()
    started = json.loads(answer)
    status = HTTPStatus.ACCEPTED if started["is_new"] else HTTPStatus.OK
    return Response(json.dumps({"run": started["run"]}), status, media_type="application/json")


def check_connections(body: bytes, here: Gateway) -> None:
    """Refuse more agents than the account of NATS has connections for; raises ApiError."""
    if here.connections is None:
        return
    try:
        want = json.loads(body)["agents"]["want"]
    except (ValueError, KeyError, TypeError, RecursionError):
        # Absent, or invalid or too deep, which the native module says.
        want = here.defaults.agents
    if not isinstance(want, int) or want + OTHER_CONNECTIONS <= here.connections:
        return
    rule = (
        f"needs {want + OTHER_CONNECTIONS} connections to NATS with a coordinator and this "
        f"gateway, and the account allows {here.connections} (LOADPILOT_GATEWAY_NATS_CONNECTIONS)"
    )
    wrong = [{"field": "agents.want", "rule": rule, "value": str(want)}]
    raise ApiError(UNPROCESSABLE, Code.USAGE, "the request is invalid", wrong)


async def posted(request: Request) -> bytes:
    """Read a body of `application/json`; raises ApiError."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        detail = "Content-Type must be application/json"
        raise ApiError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, Code.NOT_JSON, detail)
    return await request.body()
