"""Address and credentials of a coordinator that takes runs over HTTP.

Must never show a token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from .http_session import HttpSession

TOKEN_VARIABLE = "LOADPILOT_COORDINATOR_TOKEN"  # noqa: S105  (the name of a variable)


@dataclass(frozen=True, slots=True)
class Api:
    """Address, token and trusted certificates of a coordinator."""

    url: str
    token: str | None
    cacert: Path | None

    @property
    def place(self) -> str:
        """The address as messages may show it."""
        return shown(self.url)

    def join(self) -> HttpSession:
        """Connect, and check that the coordinator takes runs; raises Fault."""
        from .http_session import HttpSession  # noqa: PLC0415  (start-up is a promise)

        session = HttpSession(self)
        session.meet()
        return session

    def __repr__(self) -> str:
        return f"Api({self.place})"


def shown(url: str) -> str:
    """Cut user and password out of an address."""
    scheme, separator, rest = url.partition("://")
    host = rest.rsplit("@", 1)[-1] if separator else url.rsplit("@", 1)[-1]
    return f"{scheme}://{host}" if separator else host
