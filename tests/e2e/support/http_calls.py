"""HTTP calls to a coordinator, without any code of the product.

Must never wait for ever: every read has a time-out.
"""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PATIENCE_S = 60.0
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete response."""

    status: int
    kind: str
    body: bytes
    retry_after: str | None = None

    @property
    def json(self) -> Any:
        """The body, parsed as JSON."""
        return json.loads(self.body)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The body, parsed as lines of JSON."""
        return [json.loads(line) for line in self.body.splitlines()]

    @property
    def problems(self) -> str:
        """The problems that the response lists, one line each."""
        content = self.json
        return "\n".join(f"{one['field']}: {one['rule']}" for one in content.get("problems", []))


class Stream:
    """A response that is not complete yet."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._connection = connection
        self.response = connection.getresponse()

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yields its lines as they arrive."""
        for line in self.response:
            yield json.loads(line)

    def hang_up(self) -> None:
        """Closes the connection."""
        self.response.close()
        self._connection.close()


@dataclass(frozen=True, slots=True)
class Caller:
    """A client of an HTTP interface at one port."""

    port: int

    def post(
        self, path: str, body: object, headers: Mapping[str, str] | None = None
    ) -> http.client.HTTPConnection:
        """Sends a request; a body that is not bytes is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", path, content, {**JSON, **(headers or {})})
        return connection

    def follow(self, path: str, body: object) -> Stream:
        """Sends a POST request; returns the response as a stream."""
        return Stream(self.post(path, body))

    def ask(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Sends a request and reads the complete response."""
        if method == "POST":
            connection = self.post(path, body, headers)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
            connection.request(method, path, headers=dict(headers or {}))
        response = connection.getresponse()
        kind = response.headers.get("Content-Type", "")
        later = response.headers.get("Retry-After")
        answer = Answer(response.status, kind, response.read(), later)
        connection.close()
        return answer
