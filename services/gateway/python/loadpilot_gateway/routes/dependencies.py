"""What routes have in common: the gateway, the caller, the run, and answers with an ETag."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Query, Request
from fastapi.responses import Response

from loadpilot import _native

from ..gateway import Gateway
from ..problem import MEDIA_TYPE, UNPROCESSABLE

INT_MAX = (1 << 63) - 1
"""Largest whole number that the native module takes."""
RUN = "^[a-z0-9_-]{1,128}$"


def _gateway(request: Request) -> Gateway:
    gateway: Gateway = request.app.state.gateway
    return gateway


def _caller(request: Request) -> str:
    caller: str = request.state.caller
    return caller


Here = Annotated[Gateway, Depends(_gateway)]
Caller = Annotated[str, Depends(_caller)]
Run = Annotated[str, Path(pattern=RUN, description="The id of a run.")]
IfNoneMatch = Annotated[
    str | None,
    Header(alias="If-None-Match", description="ETags of the answers that the caller has."),
]
AsOf = Annotated[
    int | None,
    Query(ge=0, le=INT_MAX, description="Answer from the log as of this time, in µs after start."),
]

Due = Annotated[
    int | None, Query(ge=0, le=INT_MAX, description="A due time, in µs after the start.")
]


def says_no(*codes: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    """Describe the error answers of a route."""
    always = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, UNPROCESSABLE)
    unavailable = HTTPStatus.SERVICE_UNAVAILABLE
    return {
        code.value: {
            "description": "An error, as a problem.",
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
        }
        for code in sorted({*always, *codes, unavailable})
    }


OF_RUN = says_no(HTTPStatus.NOT_FOUND)


class TaggedAnswer:
    """The answer about one run. Its ETag follows from the URL and the position of the log."""

    def __init__(
        self, here: Here, request: Request, run: Run, if_none_match: IfNoneMatch = None
    ) -> None:
        """Take the request."""
        self.run = run
        self._here = here
        self._url = f"{request.url.path}?{request.url.query}"
        self._if_none_match = if_none_match

    async def answer(self, ask: Callable[[_native.Reading], str]) -> Response:
        """Answer with the JSON of the native module, or with 304 where the caller has it."""

        def tagged(reading: _native.Reading) -> tuple[str, str | None]:
            etag = etag_of(f"{self._here.version} {reading.position()} {self._url}")
            return etag, None if matches(etag, self._if_none_match) else ask(reading)

        return tagged_response(*await self._here.of_reading(self.run, tagged))


Tagged = Annotated[TaggedAnswer, Depends()]


def etag_of(text: str) -> str:
    """Make the ETag of an answer that follows from a text."""
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def matches(etag: str, if_none_match: str | None) -> bool:
    """Whether the header ``If-None-Match`` names an ETag."""
    return etag in (one.strip().removeprefix("W/") for one in (if_none_match or "").split(","))


def tagged_response(etag: str, text: str | None) -> Response:
    """Answer with JSON, or with 304 where the text is None."""
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if text is None:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(text, headers=headers, media_type="application/json")
