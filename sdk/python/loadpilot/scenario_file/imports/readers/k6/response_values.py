"""A response of k6 as a script holds it: the whole, a member, and values of its JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...imported_scenario import Request
    from .javascript import Value


@dataclass(frozen=True)
class ResponseOf:
    """The response of a request, as the script holds it."""

    request: Request

    def member(self, name: str) -> Value:
        """Return a member of the response."""
        return ResponseMember(self.request, name)


@dataclass(frozen=True)
class ResponseMember:
    """A member of a response: its body is read, others are not known."""

    request: Request
    name: str


@dataclass(frozen=True)
class JsonOf:
    """A value in the JSON of a response."""

    request: Request
    steps: tuple[str | int, ...] = ()

    def member(self, name: str) -> Value:
        """Return a member of the value."""
        return JsonOf(self.request, (*self.steps, name))
