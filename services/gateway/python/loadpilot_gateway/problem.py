"""Error answers: ``application/problem+json`` (RFC 9457) with all mistakes of a request.

Each has a stable code for programs, and the exit code of the command line for the same error. Must
never quote a token or a secret.
"""

from __future__ import annotations

import json
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi import HTTPException
from fastapi.responses import Response
from pydantic import BaseModel, Field

from loadpilot.control.exit_code import ExitCode

from .limits import DETAIL_CHARS_MAX, PROBLEMS_MAX, VALUE_CHARS_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MEDIA_TYPE = "application/problem+json"
UNPROCESSABLE = HTTPStatus(422)
CONTENT_TOO_LARGE = HTTPStatus(413)
"""By number: names and phrases of both depend on the version of Python."""


class Code(StrEnum):
    """Kind of an error."""

    USAGE = "usage"
    """The request is invalid, or not possible for this run; nothing was started."""
    UNKNOWN_RUN = "unknown_run"
    UNKNOWN_PATH = "unknown_path"
    WRONG_METHOD = "wrong_method"
    NOT_JSON = "not_json"
    TOO_LARGE = "too_large"
    TOO_SLOW = "too_slow"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    KEY_TAKEN = "key_taken"
    """The Idempotency-Key stands for another request."""
    TOO_MANY_REQUESTS = "too_many_requests"
    """The caller makes more requests than it may; Retry-After says when to try again."""
    BUSY = "busy"
    """A limit of this gateway is reached."""
    INFRASTRUCTURE = "infrastructure"
    """A part of LoadPilot or of the machine failed: NATS, a coordinator, the agents."""
    BUG = "bug"


EXITS = dict.fromkeys(
    (Code.INFRASTRUCTURE, Code.BUSY, Code.TOO_MANY_REQUESTS), ExitCode.INFRASTRUCTURE
)
"""Codes whose exit code is not that of a usage error."""


class Wrong(BaseModel):
    """One mistake in a request."""

    field: str = Field(description="Path of the field.")
    rule: str = Field(description="Rule that the value breaks.")
    value: str = Field(description="The value, shortened.")


class ProblemDetails(BaseModel):
    """The body of an error answer."""

    type: str = Field(description="The code again, as a URN.")
    title: str
    status: int
    detail: str = Field(description="What is wrong, in words.")
    code: Code
    exit_code: int = Field(description="Exit code of the command line for the same error.")
    problems: list[Wrong] = Field(description="All mistakes of the request, by field.")


class ApiError(HTTPException):
    """An error answer, raised where the error is found."""

    def __init__(
        self,
        status: HTTPStatus,
        code: Code,
        detail: str,
        problems: Sequence[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Take status, code, description and problems."""
        detail = short(detail, DETAIL_CHARS_MAX)
        super().__init__(status.value, detail, dict(headers or {}))
        self.status = status
        self.code = code
        self.problems = [
            Wrong(
                field=short(one["field"]),
                rule=short(one["rule"], DETAIL_CHARS_MAX),
                value=short(one["value"]),
            )
            for one in problems[:PROBLEMS_MAX]
        ]
        if len(problems) > PROBLEMS_MAX:
            more = f"{len(problems) - PROBLEMS_MAX} more problems are not shown"
            self.problems.append(Wrong(field="", rule=more, value=""))

    def text(self) -> str:
        """Write the body."""
        return ProblemDetails(
            type=f"urn:loadpilot:problem:{self.code.value}",
            title=self.code.value.replace("_", " "),
            status=self.status.value,
            detail=self.detail,
            code=self.code,
            exit_code=EXITS.get(self.code, ExitCode.USAGE),
            problems=self.problems,
        ).model_dump_json()

    def response(self) -> Response:
        """Build the response."""
        headers = {**(self.headers or {}), "Cache-Control": "no-store"}
        return Response(self.text(), self.status_code, headers, MEDIA_TYPE)


def short(value: object, most: int = VALUE_CHARS_MAX) -> str:
    """Quote a value, shortened."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    # JSON can hold a lone surrogate, which UTF-8 cannot.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= most else text[:most] + "…"


def refused(text: str, problems: Sequence[Mapping[str, Any]]) -> ApiError:
    """Build the answer for a refusal of the native module."""
    first = problems[0] if problems else {}
    if first.get("field") == "run" and str(first.get("rule", "")).startswith("must be a run of"):
        return ApiError(HTTPStatus.NOT_FOUND, Code.UNKNOWN_RUN, "unknown run", problems)
    if first.get("field") == "Idempotency-Key":
        return ApiError(HTTPStatus.CONFLICT, Code.KEY_TAKEN, text, problems)
    return ApiError(UNPROCESSABLE, Code.USAGE, text, problems)


def unavailable(text: str) -> ApiError:
    """Build the answer for a failure of LoadPilot or of the machine."""
    return ApiError(HTTPStatus.SERVICE_UNAVAILABLE, Code.INFRASTRUCTURE, text)


def unknown_run(run: str) -> ApiError:
    """Build the answer for a run that no log holds."""
    return refused("", [{"field": "run", "rule": "must be a run of this log", "value": run}])
