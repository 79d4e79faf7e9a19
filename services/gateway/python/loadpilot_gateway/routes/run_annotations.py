"""Notes about a run that is over, and its mark as a baseline."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field, model_validator

from .._generated.annotations import Annotations
from ..limits import NOTE_CHARS_MAX
from .dependencies import OF_RUN, Caller, Here, Run, says_no

router = APIRouter(tags=["runs"])


class Annotation(BaseModel):
    """What to add or to change."""

    model_config = {"extra": "forbid"}

    text: str | None = Field(
        default=None, min_length=1, max_length=NOTE_CHARS_MAX, description="A note."
    )
    baseline: bool | None = Field(
        default=None, description="Whether the run is marked as a baseline from now on."
    )

    @model_validator(mode="after")
    def has_content(self) -> Annotation:
        """Refuse a request that changes nothing."""
        if self.text is None and self.baseline is None:
            raise ValueError("must have a text, or say whether the run is a baseline")
        return self


@router.get("/runs/{run}/annotations", response_model=Annotations, responses=OF_RUN)
async def read_notes(here: Here, run: Run) -> Any:
    """Return the notes of a run, and its mark as a baseline."""
    return json.loads(await here.of_run(run, lambda session: session.annotations(run)))


@router.post(
    "/runs/{run}/annotations",
    response_model=Annotations,
    responses=says_no(HTTPStatus.NOT_FOUND),
)
async def annotate(here: Here, caller: Caller, run: Run, wanted: Annotation) -> Any:
    """Add a note to a run that is over, or set or remove its mark as a baseline.

    Reports do not contain notes, so that their digests stay the same.
    """
    text = await here.act(
        run, lambda session: session.annotate(run, caller, wanted.text, wanted.baseline)
    )
    return json.loads(text)
