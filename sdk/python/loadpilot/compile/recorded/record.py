"""The recording client: executes the body of a task once and records its requests.

Python itself evaluates the arguments, so that an f-string has its usual meaning. Only for bodies
that passed :mod:`.constant_check`.
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
    """One request with the arguments of the task."""

    method: str
    path: object
    extras: dict[str, object]


class RecordingClient(LoadClient):
    """Records requests instead of sending them."""

    def __init__(self) -> None:
        """Start without requests."""
        self.requests: list[Recorded] = []

    def _request(self, method: str, path: str, extras: Extras) -> Response:
        self.requests.append(Recorded(method, path, dict(extras)))
        return cast("Response", None)  # a checked body does not use it


def record(function: FunctionType) -> list[Recorded]:
    """Execute a checked task; raises any exception of the evaluation of its arguments."""
    client = RecordingClient()
    function(object(), client)
    return client.requests
