"""Written by `./dev gen` from proto/schema: never edit it."""

from __future__ import annotations

from typing import Annotated
from pydantic import BaseModel, Field, RootModel


class BoundsU(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class Count(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class FromU(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class Heat(BaseModel):
    """
    How response times are spread over time: finished calls by bucket and latency.
    """

    bounds_us: list[BoundsU]
    """
    Edges of the bands of latency in µs, four to each power of two: band b holds what is at
    least `bounds_us[b]` and below `bounds_us[b + 1]`. Empty when nothing finished.
    """
    bucket_us: Annotated[int, Field(ge=0)]
    """
    The grain of this answer in µs; the last bucket may be shorter.
    """
    counts: list[list[Count]]
    """
    For each bucket the finished calls of each band.
    """
    from_us: list[FromU]
    """
    Where each bucket begins, in µs after the start.
    """
    run: str
    """
    Of which run.
    """
    tick_us: Annotated[int, Field(ge=0)]
    """
    The grain of the log in µs.
    """
