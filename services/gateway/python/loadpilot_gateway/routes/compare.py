"""Comparison of runs: each beside the first, judged by the engine as `loadpilot compare` does."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from loadpilot import _native

from .._generated.comparison import Comparison
from ..limits import COMPARED_MAX
from .dependencies import RUN, Here, IfNoneMatch, etag_of, matches, says_no, tagged_response

if TYPE_CHECKING:
    from fastapi.responses import Response

router = APIRouter(tags=["runs"])
THRESHOLD_PCT = 10.0
"""Change for the worse that is a regression, as of `loadpilot compare`."""

Named = Annotated[str, Field(pattern=RUN)]


class Compared(BaseModel):
    """Runs beside their baseline."""

    baseline: str
    """The first run."""
    comparisons: list[Comparison]
    """Of each other run, in the order of the request."""


@router.get("/compare", response_model=Compared, responses=says_no(HTTPStatus.NOT_FOUND))
async def compare(
    here: Here,
    run: Annotated[list[Named], Query(min_length=2, max_length=COMPARED_MAX)],
    threshold_pct: Annotated[
        float, Query(ge=0, le=1e6, description="Change for the worse that is a regression.")
    ] = THRESHOLD_PCT,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Compare runs with the first: what changed by more than chance and the threshold."""
    parts = [await here.of_reading(one, lambda reading: reading.parts()) for one in run]
    etag = etag_of("".join([here.version, *parts, str(threshold_pct)]))
    if matches(etag, if_none_match):
        return tagged_response(etag, None)
    first, *others = parts

    def judged() -> list[str]:
        return [_native.compare(one, f"[{first}]", threshold_pct) for one in others]

    comparisons = ",".join(await here.asking(judged))
    return tagged_response(
        etag, f'{{"baseline":{json.dumps(run[0])},"comparisons":[{comparisons}]}}'
    )
