"""What questions have in common: the gateway, who asks, which run, and how answers look."""

from __future__ import annotations

import hashlib
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Request
from fastapi.responses import Response

from ..gateway import Gateway
from ..problem import MEDIA_TYPE, UNSOUND

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


def told(text: str, known: str | None) -> Response:
    """Answer with JSON as the native module wrote it; with nothing when it is known already."""
    tag = f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if known is not None and tag in (one.strip().removeprefix("W/") for one in known.split(",")):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(text, headers=headers, media_type="application/json")
