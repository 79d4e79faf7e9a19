"""What questions have in common: the gateway, who asks, which run, and how answers look."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Query, Request
from fastapi.responses import Response

from loadpilot import _native

from ..gateway import Gateway
from ..problem import MEDIA_TYPE, UNSOUND

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
Known = Annotated[
    str | None, Header(alias="If-None-Match", description="The ETag of an answer that is known.")
]
AsOf = Annotated[
    int | None,
    Query(ge=0, le=INT_MAX, description="As the log told it so many µs after the start."),
]


def says_no(*codes: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    """Describe the answers that say no."""
    always = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, UNSOUND)
    away = HTTPStatus.SERVICE_UNAVAILABLE
    return {
        code.value: {
            "description": "Says no: a problem.",
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
        }
        for code in sorted({*always, *codes, away})
    }


OF_RUN = says_no(HTTPStatus.NOT_FOUND)


class Question:
    """A question about one run; its answer has a tag, by what was asked and how far the log is."""

    def __init__(self, here: Here, request: Request, run: Run, known: Known = None) -> None:
        """Take it."""
        self.run = run
        self._here = here
        self._asked = f"{request.url.path}?{request.url.query}"
        self._known = known

    async def answer(self, ask: Callable[[_native.Reading], str]) -> Response:
        """Answer with JSON as the native module writes it; with nothing when that is known."""

        def asked(reading: _native.Reading) -> tuple[str, str | None]:
            tag = tagged(f"{self._here.version} {reading.position()} {self._asked}")
            return tag, None if is_known(tag, self._known) else ask(reading)

        return told(*await self._here.of_reading(self.run, asked))


Asked = Annotated[Question, Depends()]


def tagged(text: str) -> str:
    """Make the tag of an answer that follows from a text."""
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def is_known(tag: str, known: str | None) -> bool:
    """Whether a caller has the answer of a tag already."""
    return tag in (one.strip().removeprefix("W/") for one in (known or "").split(","))


def told(tag: str, text: str | None) -> Response:
    """Answer with JSON, or that it is known."""
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if text is None:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(text, headers=headers, media_type="application/json")
