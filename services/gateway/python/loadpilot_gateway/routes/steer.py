"""Steering: each action is a request in the log, and the answer is the decision on it."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from loadpilot.control.exit_code import ExitCode
from loadpilot.control.protocols import ANSWER_TIMEOUT_SECS
from loadpilot.control.run_list import stack_is_gone
from loadpilot.control.steering_result import describe as in_words
from loadpilot.control.steering_result import rate_urps, stop_halted
from loadpilot.problem import Refused

from ..gateway import Gateway
from ..limits import TEXT_CHARS_MAX
from ..problem import UNPROCESSABLE, ApiError, Code
from ..runs.sessions import Lane
from .dependencies import Caller, Here, Run, says_no

router = APIRouter(tags=["steer"])
ACTED = says_no(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)


class Decided(BaseModel):
    """A decision."""

    run: str
    words: str = Field(description="The decision in the words of the command line.")
    answer: dict[str, Any] = Field(description="The decision as fields.")


class RateWanted(BaseModel):
    """The rate to change to."""

    model_config = {"extra": "forbid"}

    rate: str = Field(max_length=TEXT_CHARS_MAX, examples=["500/s", "3000/m", "0.5"])


@router.post("/runs/{run}/rate", response_model=Decided, responses=ACTED)
async def rate(here: Here, caller: Caller, run: Run, wanted: RateWanted) -> Decided:
    """Change the rate of a run, effective some seconds later."""
    try:
        urps = rate_urps("rate", wanted.rate)
    except Refused as refused:
        wrong = [{"field": "rate", "rule": str(refused), "value": wanted.rate}]
        raise ApiError(UNPROCESSABLE, Code.USAGE, str(refused).removeprefix(": "), wrong) from None
    return await steer(here, run, "rate", caller, urps)


@router.post("/runs/{run}/halt", response_model=Decided, responses=ACTED)
async def halt(here: Here, caller: Caller, run: Run) -> Decided:
    """Throw the kill switch: agents cancel what is in flight, without a coordinator, too."""
    await require_stack(here, run)
    await here.act(run, lambda session: session.halt(run), Lane.KEPT)
    answer = await here.act(run, lambda session: stop_halted(session, run, caller))
    return decided(run, "stop", answer)


@router.post("/runs/{run}/{wish}", response_model=Decided, responses=ACTED)
async def wish(
    here: Here,
    caller: Caller,
    run: Run,
    wish: Annotated[Literal["stop", "pause", "resume"], Path()],
) -> Decided:
    """Stop, pause or resume a run."""
    return await steer(here, run, wish, caller)


async def require_stack(here: Gateway, run: str) -> None:
    """Raise StackFault for a killed run: a later resume would obey the stored request."""
    if await here.asking(lambda: here.logs.of(run).is_killed(run)):
        raise stack_is_gone(run)


async def steer(
    here: Gateway, run: str, action: str, caller: str, urps: int | None = None
) -> Decided:
    """Store the request, and wait for the decision."""
    await require_stack(here, run)
    text = await here.act(
        run, lambda session: session.steer(run, action, caller, ANSWER_TIMEOUT_SECS, urps)
    )
    return decided(run, action, json.loads(text))


def decided(run: str, action: str, answer: dict[str, Any]) -> Decided:
    """Build the answer for a decision; raises ApiError where nothing changed."""
    words, code = in_words(answer, action)
    if code is ExitCode.PASSED:
        return Decided(run=run, words=words, answer=answer)
    if code is ExitCode.USAGE:
        raise ApiError(HTTPStatus.CONFLICT, Code.USAGE, words)
    raise ApiError(HTTPStatus.SERVICE_UNAVAILABLE, Code.INFRASTRUCTURE, words)
