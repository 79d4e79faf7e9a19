"""The client that a task is written against.

A task is compiled, not called: these methods describe requests, they never send one. They return
nothing, so that a type checker already says what the compiler would: a task cannot look at an
answer yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, Unpack

if TYPE_CHECKING:
    from .from_file import File

Primitive: TypeAlias = str | int | float | bool | None
"""A value that a query or a form can carry."""
Fields: TypeAlias = Mapping[str, Primitive | Sequence[Primitive]]
"""The fields of a query or a form; a list repeats its field."""
Json: TypeAlias = Primitive | Sequence["Json"] | Mapping[str, "Json"]
"""What JSON can carry."""


class Extras(TypedDict, total=False):
    """What a request may carry beside its method and path; all of it by keyword."""

    headers: Mapping[str, str]
    """``Authorization``, ``Cookie``, ``X-Api-Key``, ``Proxy-Authorization`` and the scenario's
    ``secret_headers`` stay on this machine and its agents: never in a plan, log or report."""
    params: Fields
    """Fields of the query, added to those that the path already carries."""
    json: Json
    """The body as JSON; at most one of ``json``, ``data`` and ``content`` may be given."""
    data: Fields | str | bytes
    """The body as a form; text and bytes are sent as they are."""
    content: str | bytes | File
    """The body as it is, or ``file("image.jpg")``."""
    timeout: float | str
    """From dispatch to the last byte, instead of the scenario's: seconds, or ``"500ms"``."""
    stream: Literal["sse", "lines", "chunks"]
    """The answer is a stream: the times of its tokens are taken. A token is a server-sent event
    that carries data, a line that is not empty, or a chunk as it was sent."""


class LoadClient:
    """One virtual user's view of the target: a method per HTTP method.

    Paths start with ``/`` and are relative to the target. What else a request may carry is
    listed in :class:`Extras`; it is encoded as httpx encodes it.
    """

    def get(self, path: str, **extras: Unpack[Extras]) -> None:
        """Request ``path`` with GET."""
        self._request("GET", path, extras)

    def post(self, path: str, **extras: Unpack[Extras]) -> None:
        """Request ``path`` with POST."""
        self._request("POST", path, extras)

    def put(self, path: str, **extras: Unpack[Extras]) -> None:
        """Request ``path`` with PUT."""
        self._request("PUT", path, extras)

    def patch(self, path: str, **extras: Unpack[Extras]) -> None:
        """Request ``path`` with PATCH."""
        self._request("PATCH", path, extras)

    def delete(self, path: str, **extras: Unpack[Extras]) -> None:
        """Request ``path`` with DELETE."""
        self._request("DELETE", path, extras)

    def head(self, path: str, **extras: Unpack[Extras]) -> None:
        """Request ``path`` with HEAD."""
        self._request("HEAD", path, extras)

    def options(self, path: str, **extras: Unpack[Extras]) -> None:
        """Request ``path`` with OPTIONS."""
        self._request("OPTIONS", path, extras)

    def request(self, method: str, path: str, **extras: Unpack[Extras]) -> None:
        """Request ``path`` with any of the methods above, ``"POST"``."""
        self._request(method, path, extras)

    def _request(self, method: str, path: str, extras: Extras) -> None:  # noqa: ARG002
        """Take note of one request; only the compiler's client can.

        Raises RuntimeError: outside a task there is nothing that would send it.
        """
        raise RuntimeError(
            f"client.{method.lower()}({path!r}) was called outside `loadpilot run`: "
            "tasks are compiled, nothing is sent from Python"
        )
