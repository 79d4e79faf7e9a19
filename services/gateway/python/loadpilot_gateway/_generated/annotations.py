"""Written by `./dev gen` from proto/schema: never edit it."""

from __future__ import annotations

from typing import Annotated
from pydantic import BaseModel, Field


class BaselineMark(BaseModel):
    """
    A mark of a run as a baseline.
    """

    at: Annotated[int, Field(ge=0)]
    """
    When the run was marked, by the clock of the author.
    """
    by: str
    """
    Author, as text for people.
    """


class Note(BaseModel):
    """
    A note about a run.
    """

    at: Annotated[int, Field(ge=0)]
    """
    When it was written, by the clock of its author.
    """
    by: str
    """
    Author, as text for people.
    """
    text: str
    """
    The note.
    """


class Annotations(BaseModel):
    """
    Notes of a run, and whether it is a baseline. No figure depends on them.
    """

    baseline: BaselineMark | None = None
    """
    Mark as a baseline, to which people compare other runs; null without one.
    """
    notes: list[Note]
    """
    Notes, oldest first.
    """
