"""The recording client: runs a judged task body once and takes down its requests.

Python itself evaluates the arguments, so that an f-string means here what it means anywhere. Must
only run bodies that :mod:`.body` has judged to be requests with constant arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ...client import Extras, LoadClient

if TYPE_CHECKING:
    from types import FunctionType

    from ..._native import Response


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request as its task wrote it."""

    method: str
    path: object
    extras: dict[str, object]


class RecordingClient(LoadClient):
    """Takes requests down instead of sending them."""

    def __init__(self) -> None:
        """Start with none."""
        self.requests: list[Recorded] = []

    def _request(self, method: str, path: str, extras: Extras) -> Response:
        self.requests.append(Recorded(method, path, dict(extras)))
        return cast("Response", None)  # a judged body never looks at it


def record(function: FunctionType) -> list[Recorded]:
    """Run a judged task; whatever its arguments raise while they are evaluated is raised."""
    client = RecordingClient()
    function(object(), client)
    return client.requests
