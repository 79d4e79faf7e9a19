"""Shared dependencies of routes: the gateway, the caller, the run, and answers with an ETag."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Query, Request
from fastapi.responses import Response

from loadpilot import _native

from ..gateway import Gateway
from ..problem import MEDIA_TYPE, UNPROCESSABLE
from ..runs import changes
from ..server.identity import Identity
from ..tenants import Tenants

INT_MAX = (1 << 63) - 1
"""Largest whole number that the native module takes."""
RUN = "^[a-z0-9_-]{1,128}$"
JSON = "application/json"


# Dependencies are coroutines: FastAPI would call a plain function on another thread, and each
# change of threads waits for the interpreter's lock while other tenants are busy.
async def _gateway(request: Request) -> Gateway:
    gateway: Gateway = request.state.gateway
    return gateway


async def _identity(request: Request) -> Identity:
    identity: Identity = request.state.caller
    return identity


async def _tenants(request: Request) -> Tenants:
    tenants: Tenants = request.app.state.tenants
    return tenants


async def _caller(request: Request) -> str:
    identity: Identity = request.state.caller
    return identity.user


Here = Annotated[Gateway, Depends(_gateway)]
Everyone = Annotated[Tenants, Depends(_tenants)]
Caller = Annotated[str, Depends(_caller)]
Authenticated = Annotated[Identity, Depends(_identity)]
Run = Annotated[str, Path(pattern=RUN, description="The id of a run.")]
IfNoneMatch = Annotated[
    str | None,
    Header(alias="If-None-Match", description="ETags of the answers that the caller has."),
]
Accept = Annotated[
    str,
    Header(
        alias="Accept",
        description=f"With `{changes.MEDIA_TYPE}` the caller receives what changed since the answer"
        " that If-None-Match names, while the run goes on.",
    ),
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
    often = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
    answers: dict[int | str, dict[str, Any]] = {
        code.value: {
            "description": "An error, as a problem.",
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
        }
        for code in sorted({*always, *codes, *often})
    }
    answers[HTTPStatus.TOO_MANY_REQUESTS.value] |= {
        "description": "More requests than the caller may make, as a problem.",
        "headers": {
            "Retry-After": {
                "description": "Time in s until a request may be admitted again.",
                "schema": {"type": "integer", "minimum": 1},
            }
        },
    }
    return answers


OF_RUN = says_no(HTTPStatus.NOT_FOUND)


class TaggedAnswer:
    """The answer about one run. Its ETag follows from the URL and the position of the log, or from
    the URL and the answer where the position moved meanwhile.
    """  # noqa: D205

    def __init__(
        self, here: Gateway, request: Request, run: str, if_none_match: str | None, accept: str
    ) -> None:
        """Take the request."""
        self.run = run
        self._here = here
        self._url = f"{request.url.path}?{request.url.query}"
        self._if_none_match = if_none_match
        self._takes_changes = changes.MEDIA_TYPE in accept

    async def answer(self, ask: Callable[[_native.Reading], str]) -> Response:
        """Answer with the JSON of the native module, or with 304 where the caller has it.

        A caller that accepts changes receives those since the answer that it has.
        """

        def tagged(reading: _native.Reading) -> tuple[str, str | None, str]:
            position = reading.position()
            etag = etag_of(f"{self._here.version} {position} {self._url}")
            if matches(etag, self._if_none_match):
                return etag, None, JSON
            text = ask(reading)
            if reading.position() != position:
                # Another request read the log on: the answer may be of a later position.
                etag = etag_of(f"{self._here.version} {text} {self._url}")
            # A run that is over changes no more, and its answers need no memory.
            if self._takes_changes and not json.loads(position)["over"]:
                self._here.answers.store(etag, text)
            earlier = self._earlier() if self._takes_changes else None
            if earlier is None:
                return etag, text, JSON
            return etag, changes.changes_text(earlier, text), changes.MEDIA_TYPE

        return tagged_response(*await self._here.of_reading(self.run, tagged))

    def _earlier(self) -> str | None:
        return self._here.answers.find(self._if_none_match or "")


async def _tagged(
    here: Here,
    request: Request,
    run: Run,
    if_none_match: IfNoneMatch = None,
    accept: Accept = "",
) -> TaggedAnswer:
    return TaggedAnswer(here, request, run, if_none_match, accept)


Tagged = Annotated[TaggedAnswer, Depends(_tagged)]


def etag_of(text: str) -> str:
    """Make the ETag of an answer that follows from a text. Weak: it may be sent compressed."""
    return f'W/"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def matches(etag: str, if_none_match: str | None) -> bool:
    """Whether the header ``If-None-Match`` names an ETag."""
    named = (one.strip().removeprefix("W/") for one in (if_none_match or "").split(","))
    return etag.removeprefix("W/") in named


def tagged_response(etag: str, text: str | None, media_type: str = JSON) -> Response:
    """Answer with a text, or with 304 where it is None."""
    stored = "no-store" if media_type == changes.MEDIA_TYPE else "private, no-cache"
    headers = {"ETag": etag, "Cache-Control": stored, "Vary": "Accept"}
    if text is None:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(text, headers=headers, media_type=media_type)
