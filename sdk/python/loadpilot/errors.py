"""What can go wrong with a request of a task in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._native import Response


class Stopped(BaseException):
    """The run is over: whatever a task still wants, it ends here."""


class TookTooLong(BaseException):
    """A task ran for ten seconds without a request or a rest, and nobody else could."""


class RequestError(Exception):
    """A request got no complete answer.

    ``outcome`` is what the report counts it as, such as ``timeout`` or ``connect``; ``cause`` is
    what is behind it, such as ``before_first_byte`` or ``refused``, or None.
    """

    def __init__(self, outcome: str, cause: str | None) -> None:
        """Tell what happened."""
        super().__init__(f"{outcome}: {cause}" if cause else outcome)
        self.outcome = outcome
        self.cause = cause


class RedirectError(Exception):
    """A redirect leads too far: round and round, or away from the target."""


class HTTPStatusError(Exception):
    """An answer had a status of 400 or more, and the task asked that there be none."""

    def __init__(self, response: Response) -> None:
        """Tell which status it was; the answer is kept as ``response``."""
        super().__init__(f"the answer has the status {response.status_code}")
        self.response = response
