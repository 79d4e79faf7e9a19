"""Exceptions that a task in Python sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._native import Response


class Stopped(BaseException):
    """The run is over; raised in a task at its next request or sleep."""


class TookTooLong(BaseException):
    """A task blocked all users of its agent for ten seconds, without a request or a sleep."""


class RequestError(Exception):
    """A request got no complete response.

    ``outcome`` is its class in the report, such as ``timeout`` or ``connect``; ``cause`` is the
    detail, such as ``before_first_byte`` or ``refused``, or None.
    """

    def __init__(self, outcome: str, cause: str | None) -> None:
        """Take the outcome and the cause, which form the message."""
        super().__init__(f"{outcome}: {cause}" if cause else outcome)
        self.outcome = outcome
        self.cause = cause


class RedirectError(Exception):
    """A redirect leads away from the target, or more than 20 redirects follow each other."""


class HTTPStatusError(Exception):
    """``response.raise_for_status()`` was called on a status of 400 or more."""

    def __init__(self, response: Response) -> None:
        """Take the response, which is kept as ``response``."""
        super().__init__(f"the answer has the status {response.status_code}")
        self.response = response
