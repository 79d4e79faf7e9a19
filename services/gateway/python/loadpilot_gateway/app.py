"""The application: its routes, its guard, and an answer for each kind of error."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException

from loadpilot import _native
from loadpilot.local.stack import StackFault

from . import problem
from ._generated.snapshot import Snapshot
from .problem import CONTENT_TOO_LARGE, UNPROCESSABLE, ApiError, Code
from .routes import (
    compare,
    live,
    run_annotations,
    run_files,
    runs,
    scenarios,
    slices,
    start,
    steer,
    system,
)
from .routes.dependencies import says_no
from .server.compression import Compressed
from .server.guard import OPEN, Guard

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fastapi import Request, Response
    from pydantic import BaseModel
    from starlette.types import ASGIApp

    from .server.auth import Authenticator
    from .tenants import Tenants

PREFIX = "/api/v1"
STATIC = Path(__file__).with_name("static")
"""The built web UI."""
CONFIDENTIAL = frozenset({"token", "secrets", "bodies"})
"""Fields whose values no error quotes."""
LOG = logging.getLogger("loadpilot_gateway")
CODES = {
    HTTPStatus.NOT_FOUND: Code.UNKNOWN_PATH,
    HTTPStatus.METHOD_NOT_ALLOWED: Code.WRONG_METHOD,
    CONTENT_TOO_LARGE: Code.TOO_LARGE,
}


BESIDE: list[tuple[type[BaseModel], Literal["validation", "serialization"]]] = [
    (start.RunWanted, "validation"),
    (problem.ProblemDetails, "serialization"),
    (Snapshot, "serialization"),
]
"""Models of bodies that FastAPI neither reads nor writes itself."""


BEARER: dict[str, Any] = {
    "type": "http",
    "scheme": "bearer",
    "description": "A key or the token; on loopback a gateway may need neither. Browsers exchange "
    "it for a cookie at `/api/v1/session`.",
}


class Api(FastAPI):
    """An application whose OpenAPI document also has the models of BESIDE, the answers of the
    guard, and the answers that all routes of a kind share.
    """  # noqa: D205

    def openapi(self) -> dict[str, Any]:
        """Build the OpenAPI document."""
        if self.openapi_schema is None:
            described = super().openapi()
            _, beside = models_json_schema(BESIDE, ref_template="#/components/schemas/{model}")
            described["components"]["schemas"] |= beside["$defs"]
            described["components"]["securitySchemes"] = {"bearer": BEARER}
            for path, methods in described["paths"].items():
                for operation in methods.values():
                    describe_operation(path, operation)
        assert self.openapi_schema is not None  # noqa: S101  (it was just made)
        return self.openapi_schema


def describe_operation(path: str, operation: dict[str, Any]) -> None:
    """Add credentials, and the answers that follow from a route's headers and body."""
    # The empty alternative: a gateway on loopback may need no credentials.
    operation["security"] = [] if path in OPEN else [{"bearer": []}, {}]
    answers: dict[str, Any] = operation["responses"]
    if any(one["name"] == "If-None-Match" for one in operation.get("parameters", [])):
        answers["304"] = {"description": "The caller has the answer."}
    if "requestBody" in operation:
        body = {HTTPStatus.REQUEST_TIMEOUT, CONTENT_TOO_LARGE}
        # Routes that take a single media type leave JSON to the native module, which answers 422.
        if str(HTTPStatus.UNSUPPORTED_MEDIA_TYPE.value) not in answers:
            body.add(HTTPStatus.BAD_REQUEST)
        more = says_no(*body)
        answers |= {str(code.value): more[code.value] for code in body}
    operation["responses"] = dict(sorted(answers.items()))


def application(tenants: Tenants, authenticator: Authenticator, *, is_loopback: bool) -> ASGIApp:
    """Build the application behind its guard."""
    compressed = Compressed(api(tenants, authenticator), STATIC)
    return Guard(compressed, authenticator, tenants, is_loopback=is_loopback)


def api(tenants: Tenants | None, authenticator: Authenticator | None) -> FastAPI:
    """Build the application without its guard; without tenants only to describe it."""

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        assert tenants is not None  # noqa: S101  (a described application is not started)
        resting = asyncio.create_task(tenants.rest())
        ending = asyncio.create_task(tenants.end_views())
        yield
        resting.cancel()
        ending.cancel()
        tenants.close()

    app = Api(
        title="LoadPilot gateway",
        version="1",
        description=__doc__,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=living,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.tenants = tenants
    app.state.authenticator = authenticator
    for router in (
        runs.router,
        slices.router,
        live.router,
        scenarios.router,
        start.router,
        run_annotations.router,
        steer.router,
        compare.router,
        run_files.router,
    ):
        app.include_router(router, prefix=PREFIX)
    app.include_router(system.router, prefix=PREFIX)
    app.include_router(system.probes)
    for kind, answer in ANSWERS.items():
        app.add_exception_handler(kind, answer)
    app.add_api_route("/api/{rest:path}", _unknown_path, include_in_schema=False)
    app.frontend("/", directory=STATIC, fallback="index.html")
    return app


async def _unknown_path() -> None:
    """Answer 404 below /api, where the web UI would answer any other path."""
    raise HTTPException(HTTPStatus.NOT_FOUND)


def _api_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)  # noqa: S101  (registered for this type)
    return error.response()


def _refused(_: Request, error: Exception) -> Response:
    problems = json.loads(getattr(error, "problems", "[]"))
    return problem.refused(str(error), problems).response()


def _unavailable(_: Request, error: Exception) -> Response:
    return problem.unavailable(str(error)).response()


def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101  (as above)
    wrong = [
        {
            "field": ".".join(map(str, one["loc"])),
            "rule": one["msg"],
            "value": one.get("input") if CONFIDENTIAL.isdisjoint(one["loc"]) else "not shown",
        }
        for one in error.errors()
    ]
    is_text = any(one["type"] == "json_invalid" for one in error.errors())
    status = HTTPStatus.BAD_REQUEST if is_text else UNPROCESSABLE
    code = Code.NOT_JSON if is_text else Code.USAGE
    return ApiError(status, code, "the request is invalid", wrong).response()


def _not_unicode(_: Request, __: Exception) -> Response:
    rule = "must be Unicode text without a lone surrogate"
    wrong = [{"field": "body", "rule": rule, "value": "not shown"}]
    return ApiError(UNPROCESSABLE, Code.USAGE, f"body {rule}", wrong).response()


def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101  (as above)
    status = HTTPStatus(error.status_code)
    code = CODES.get(status, Code.USAGE)
    detail = "unknown path" if code is Code.UNKNOWN_PATH else str(error.detail)
    return ApiError(status, code, detail, headers=error.headers).response()


def _bug(_: Request, error: Exception) -> Response:
    LOG.error("a bug of the gateway", exc_info=error)
    detail = "a bug of the gateway; its log has the traceback"
    return ApiError(HTTPStatus.INTERNAL_SERVER_ERROR, Code.BUG, detail).response()


ANSWERS: dict[type[Exception], Any] = {
    ApiError: _api_error,
    _native.Refused: _refused,
    _native.Fault: _unavailable,
    StackFault: _unavailable,
    RequestValidationError: _invalid,
    UnicodeEncodeError: _not_unicode,
    HTTPException: _http,
    Exception: _bug,
}
