"""Answers that say no: ``application/problem+json`` with everything that is wrong.

Each has a code that programs may rely on, and the code with which the command line would have
ended. Must never quote a token or a secret.
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
UNSOUND = HTTPStatus(422)
LARGE = HTTPStatus(413)
"""Both have names that depend on the version of Python, and so have their phrases."""


class Code(StrEnum):
    """Why something was not done."""

    USAGE = "usage"
    """What was asked for is wrong, or cannot be done to this run; nothing was started."""
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
    BUSY = "busy"
    """A limit of this gateway is reached."""
    INFRASTRUCTURE = "infrastructure"
    """Something of ours, or of the machine, failed: NATS, a coordinator, the agents."""
    BUG = "bug"


EXITS = {Code.INFRASTRUCTURE: ExitCode.INFRASTRUCTURE, Code.BUSY: ExitCode.INFRASTRUCTURE}
"""Those that the command line would not call a wrong usage."""


class Wrong(BaseModel):
    """One mistake."""

    field: str = Field(description="Where it is.")
    rule: str = Field(description="What must hold.")
    value: str = Field(description="What was found, shortened.")


class ProblemDetails(BaseModel):
    """The body of an answer that says no."""

    type: str = Field(description="The code again, as a URN.")
    title: str
    status: int
    detail: str = Field(description="What is wrong, for people.")
    code: Code
    exit_code: int = Field(description="The code with which the command line would have ended.")
    problems: list[Wrong] = Field(description="Everything that is wrong, by its place.")


class No(HTTPException):
    """Something is not done; raised wherever that is found out."""

    def __init__(
        self,
        status: HTTPStatus,
        code: Code,
        detail: str,
        problems: Sequence[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Say why."""
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
        """Its body."""
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
        """Make the answer."""
        headers = {**(self.headers or {}), "Cache-Control": "no-store"}
        return Response(self.text(), self.status_code, headers, MEDIA_TYPE)


def short(value: object, most: int = VALUE_CHARS_MAX) -> str:
    """Quote a value as far as it tells something."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    # JSON can name half of a pair of surrogates, which no answer can carry.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= most else text[:most] + "…"


def refused(text: str, problems: Sequence[Mapping[str, Any]]) -> No:
    """Turn a refusal of the native module into an answer."""
    first = problems[0] if problems else {}
    if first.get("field") == "run" and str(first.get("rule", "")).startswith("must be a run of"):
        return No(HTTPStatus.NOT_FOUND, Code.UNKNOWN_RUN, "there is no such run", problems)
    if first.get("field") == "Idempotency-Key":
        return No(HTTPStatus.CONFLICT, Code.KEY_TAKEN, text, problems)
    return No(UNSOUND, Code.USAGE, text, problems)


def away(text: str) -> No:
    """Say that something of ours, or of the machine, failed."""
    return No(HTTPStatus.SERVICE_UNAVAILABLE, Code.INFRASTRUCTURE, text)


def unknown_run(run: str) -> No:
    """Say that no log holds a run."""
    return refused("", [{"field": "run", "rule": "must be a run of this log", "value": run}])
