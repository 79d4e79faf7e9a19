"""Exceptions that a task in Python sees, and those of ``loadpilot.run``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._native import Response
    from .library.result import RunResult


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


class RunRefused(ValueError):
    """The values or the scenario of a run are wrong; nothing was started.

    ``problems`` are the messages of the command, one for each mistake.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        """Take the problems, which form the message."""
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class RunFailed(RuntimeError):
    """The machine, the fleet or a hook before the run failed; or a file could not be written.

    ``exit_code`` is that of the command. ``result`` is None where there is no report.
    """

    def __init__(
        self, problems: Sequence[str], exit_code: int, result: RunResult | None = None
    ) -> None:
        """Take the messages of the command, its exit code, and the result if there is any."""
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)
        self.exit_code = exit_code
        self.result = result


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C stopped a run; ``result`` is None if it had not begun."""

    def __init__(self, result: RunResult | None) -> None:
        """Take the result of the stopped run."""
        super().__init__("the run was stopped" if result else "interrupted before the run began")
        self.result = result


class GateFailed(AssertionError):
    """A run did not pass; the message has its verdict and gates, ``result`` the rest."""

    def __init__(self, message: str, result: RunResult) -> None:
        """Take the message and the result."""
        super().__init__(message)
        self.result = result
