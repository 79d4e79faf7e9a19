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
    Heat map: finished calls by bucket and response time.
    """

    bounds_us: list[BoundsU]
    """
    Bounds of the bands in µs, four to each power of two: band b holds values from
    `bounds_us[b]` to below `bounds_us[b + 1]`. Empty when no call finished.
    """
    bucket_us: Annotated[int, Field(ge=0)]
    """
    Length of a bucket in µs; the last bucket may be shorter.
    """
    counts: list[list[Count]]
    """
    Number of finished calls of each band, for each bucket.
    """
    from_us: list[FromU]
    """
    Begin of each bucket, in µs after the start.
    """
    run: str
    """
    Id of the run.
    """
    tick_us: Annotated[int, Field(ge=0)]
    """
    Length of a tick of the log in µs.
    """
