"""The HTTP client that tasks and hooks use: :class:`LoadClient`.

A compiled task is not called during the run. Any other task runs in Python on the agents, where a
request returns its response: at once in a plain ``def``, when awaited in an ``async def``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Required, TypeAlias, TypedDict, Unpack

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager

    from ._native import Response
    from .inputs.files import File

    class Answers(list[Response]):
        """The responses of a batch, in its order; to be awaited in an ``async def``."""

        def __await__(self) -> Generator[Any, Any, list[Response]]: ...


Fields: TypeAlias = Mapping[str, object]
"""Fields of a query or a form: text, numbers, booleans, None; a list repeats its field."""
Json: TypeAlias = str | int | float | Mapping[str, object] | Sequence[object] | None
"""A JSON value, typed one level deep: type checkers infer no more for a dict of mixed values."""


class Extras(TypedDict, total=False):
    """Keyword arguments of a request, beside its method and path."""

    headers: Mapping[str, str]
    """Header fields. The values of ``Authorization``, ``Cookie``, ``X-Api-Key``,
    ``Proxy-Authorization`` and the scenario's ``secret_headers`` stay on this machine and its
    agents: never in a plan, log or report."""
    params: Fields
    """Query fields, appended to the query of the path."""
    json: Json
    """The body as JSON; at most one of ``json``, ``data`` and ``content`` may be given."""
    data: Fields | str | bytes
    """The body as a form; text and bytes are sent unchanged."""
    content: str | bytes | File
    """The raw body, or ``file("image.jpg")``."""
    files: Mapping[str, Any] | Sequence[tuple[str, Any]]
    """Files of a multipart form, beside the fields in ``data``: bytes, an open file, ``file(…)``,
    or a tuple ``(filename, content, type)``."""
    cookies: Mapping[str, str]
    """Cookies for this request only, sent beside those that the target has set for the user."""
    follow_redirects: bool
    """Whether to follow responses with status 301, 302, 303, 307 or 308, each as a call of its
    own. Default: True in hooks, False in tasks."""
    auth: tuple[str, str]
    """User and password, sent as Basic credentials and kept as a secret."""
    name: str
    """Name of the request in reports, to group many paths. Default: method and path."""
    timeout: float | str
    """Time-out from dispatch to the last byte, in seconds or such as ``"500ms"``. Default: the
    scenario's."""
    stream: Literal["sse", "lines", "chunks"]
    """Reads the response as a stream and takes the times of its tokens. A token is a server-sent
    event with data, a line that is not empty, or a chunk as the target sent it."""
    tokens_max: int
    """Maximum number of tokens of a stream: then the client hangs up, and the response counts as
    complete."""
    listen: float | str
    """Duration from dispatch after which the client hangs up on a stream, in seconds or such as
    ``"30s"``. A response that has begun by then counts as complete. Must be shorter than the
    time-out."""


class InBatch(Extras, total=False):
    """One request of a batch."""

    method: str
    """HTTP method; default ``GET``."""
    path: Required[str]
    """Path, relative to the target."""


class LoadClient:
    """The HTTP client of one virtual user, with a method per HTTP method.

    Paths start with ``/`` and are relative to the target. :class:`Extras` lists the keyword
    arguments of a request; they are encoded as httpx encodes them.
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
        """Send several requests concurrently; returns their responses in the same order.

        Raises the RequestError of a request without a response, after all have ended.
        """
        raise RuntimeError("client.batch() was called outside a run")

    def request(self, method: str, path: str, **extras: Unpack[Extras]) -> Response:
        """Request ``path`` with any of the HTTP methods above, such as ``"POST"``."""
        return self._request(method, path, extras)

    def stream(self, method: str, path: str, **extras: Unpack[Extras]) -> Response:
        """Request ``path`` as a stream; default ``stream="sse"``, server-sent events.

        The times of the tokens are taken as they arrive. The call returns when the stream has
        ended or the limit of ``tokens_max=`` or ``listen=`` is reached. Read the response with
        ``response.events()`` or ``response.iter_lines()``.
        """
        extras.setdefault("stream", "sse")
        return self._request(method, path, extras)

    def step(self, name: str) -> AbstractContextManager[None]:  # noqa: ARG002
        """Group the requests inside ``with client.step("checkout"):`` under a name.

        Reports show them as ``checkout / POST /orders``. Steps may be nested.
        """
        raise RuntimeError("client.step() was called outside a run")

    def _request(self, method: str, path: str, extras: Extras) -> Response:  # noqa: ARG002
        """Raise RuntimeError: only the client that a run passes to tasks and hooks sends."""
        raise RuntimeError(
            f"client.{method.lower()}({path!r}) was called outside `loadpilot run`: "
            "only tasks and hooks of a run have a client that sends"
        )
