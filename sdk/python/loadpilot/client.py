"""The client that a task is written against.

A task that is nothing but requests is compiled and never called. Any other runs in Python on the
agents: there a request returns its answer, in an ``async def`` once it is awaited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Required, TypeAlias, TypedDict, Unpack

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager

    from ._native import Response
    from .files import File

    class Answers(list[Response]):
        """The answers of a batch, in its order; in an ``async def`` they are there once awaited."""

        def __await__(self) -> Generator[Any, Any, list[Response]]: ...


Fields: TypeAlias = Mapping[str, object]
"""The fields of a query or a form: texts, numbers, truth, None; a list repeats its field."""
Json: TypeAlias = str | int | float | Mapping[str, object] | Sequence[object] | None
"""What JSON can carry. No deeper: of a dict of mixed values, type checkers know no more."""


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
    files: Mapping[str, Any] | Sequence[tuple[str, Any]]
    """Files of a multipart form, beside the fields in ``data``: bytes, an open file, ``file(…)``,
    or a tuple ``(filename, content, type)``."""
    cookies: Mapping[str, str]
    """Cookies for this request alone; those that the target sets are kept for each user."""
    follow_redirects: bool
    """Whether to go where an answer with status 301, 302, 303, 307 or 308 leads, each as a call of
    its own; in hooks unless said otherwise, in tasks only when said."""
    auth: tuple[str, str]
    """User and password, sent as Basic credentials and kept as a secret."""
    name: str
    """What reports call the request, unless by method and path: one name for many paths."""
    timeout: float | str
    """From dispatch to the last byte, instead of the scenario's: seconds, or ``"500ms"``."""
    stream: Literal["sse", "lines", "chunks"]
    """The answer is a stream: the times of its tokens are taken. A token is a server-sent event
    that carries data, a line that is not empty, or a chunk as it was sent."""
    tokens_max: int
    """Of a stream: after so many tokens the client hangs up, and the answer counts as whole."""
    listen: float | str
    """Of a stream: so long after dispatch the client hangs up, and an answer that has begun counts
    as whole: seconds, or ``"30s"``; must be shorter than the time-out."""


class InBatch(Extras, total=False):
    """One request of a batch."""

    method: str
    """``GET`` unless said."""
    path: Required[str]
    """Where it goes, relative to the target."""


class LoadClient:
    """One virtual user's view of the target: a method per HTTP method.

    Paths start with ``/`` and are relative to the target. What else a request may carry is
    listed in :class:`Extras`; it is encoded as httpx encodes it.
    """

    def get(self, path: str, **extras: Unpack[Extras]) -> Response:
        """Request ``path`` with GET."""
        return self._request("GET", path, extras)

    def post(self, path: str, **extras: Unpack[Extras]) -> Response:
        """Request ``path`` with POST."""
        return self._request("POST", path, extras)

    def put(self, path: str, **extras: Unpack[Extras]) -> Response:
        """Request ``path`` with PUT."""
        return self._request("PUT", path, extras)

    def patch(self, path: str, **extras: Unpack[Extras]) -> Response:
        """Request ``path`` with PATCH."""
        return self._request("PATCH", path, extras)

    def delete(self, path: str, **extras: Unpack[Extras]) -> Response:
        """Request ``path`` with DELETE."""
        return self._request("DELETE", path, extras)

    def head(self, path: str, **extras: Unpack[Extras]) -> Response:
        """Request ``path`` with HEAD."""
        return self._request("HEAD", path, extras)

    def options(self, path: str, **extras: Unpack[Extras]) -> Response:
        """Request ``path`` with OPTIONS."""
        return self._request("OPTIONS", path, extras)

    def batch(self, requests: Sequence[InBatch]) -> Answers:  # noqa: ARG002
        """Make several requests at a time; returns their answers in the same order.

        When one of them gets no answer its RequestError is raised, once all have ended.
        """
        raise RuntimeError("client.batch() was called outside a run")

    def request(self, method: str, path: str, **extras: Unpack[Extras]) -> Response:
        """Request ``path`` with any of the methods above, ``"POST"``."""
        return self._request(method, path, extras)

    def stream(self, method: str, path: str, **extras: Unpack[Extras]) -> Response:
        """Request ``path`` for a stream of server-sent events, unless ``stream=`` says otherwise.

        The times of its tokens are taken as they come. The answer is there when the stream has
        ended, or when ``tokens_max=`` or ``listen=`` says that it is enough: read it with
        ``response.events()`` or ``response.iter_lines()``.
        """
        extras.setdefault("stream", "sse")
        return self._request(method, path, extras)

    def step(self, name: str) -> AbstractContextManager[None]:  # noqa: ARG002
        """Put the requests made inside ``with client.step("checkout"):`` under a name.

        Reports call them ``checkout / POST /orders``; steps may lie inside each other.
        """
        raise RuntimeError("client.step() was called outside a run")

    def _request(self, method: str, path: str, extras: Extras) -> Response:  # noqa: ARG002
        """Send one request; only the clients that a scenario is given can.

        Raises RuntimeError: outside a task there is nothing that would send it.
        """
        raise RuntimeError(
            f"client.{method.lower()}({path!r}) was called outside `loadpilot run`: "
            "only tasks and hooks of a run have a client that sends"
        )
