"""Types that all tools share: the load to generate, its command, the tool's own report."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Load:
    """The load that a tool generates."""

    url: str
    secs: int
    connections: int
    """Closed loop: number of requests in flight. At a rate: maximum, for tools that need one."""
    rps: int | None = None
    """Constant rate; absent: as fast as the connections allow."""
    streams: int | None = None
    """HTTP/2 with this number of concurrent streams a connection; absent: HTTP/1.1."""
    cacert: Path | None = None
    """Certificate of an https target, in PEM."""
    checked: bool = False
    """Each response is checked: its status, and a field of its JSON."""
    shop: bool = False
    """The three routes of the shop in turn (`SHOP_ROUTES`) instead of one GET."""


SHOP_ROUTES = ("GET /health", "GET /api/user", "POST /auth/login")
"""Routes of `bench/target`, each with a third of the requests of *seeds*."""


@dataclass(frozen=True)
class Report:
    """A tool's report of its own run; times in µs; absent where it reports nothing."""

    requests: int | None = None
    p50_us: float | None = None
    p90_us: float | None = None
    p99_us: float | None = None
    max_us: float | None = None
    failed: int | None = None
    planned: int | None = None
    """Number of requests planned, where the tool knows it."""
    note: str = ""
    """A remark that the reader of the figures needs."""


@dataclass(frozen=True)
class Command:
    """A command line and its environment."""

    argv: list[str]
    environ: dict[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)


class Tool(Protocol):
    """A load generator."""

    @property
    def name(self) -> str:
        """Name in the tables."""
        ...

    @property
    def ours(self) -> bool:
        """Whether it is LoadPilot."""
        ...

    def command(self, load: Load, folder: Path) -> Command:
        """Build the command for a load; the tool's files go into `folder`."""
        ...

    def report(self, folder: Path, stdout: str) -> Report:
        """Read the tool's report after its end; raises ValueError, KeyError or OSError."""
        ...
