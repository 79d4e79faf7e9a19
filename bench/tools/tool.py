"""What all tools have in common: a load to make, a command for it, and what is told afterwards."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Load:
    """What a tool is asked to do."""

    url: str
    secs: int
    connections: int
    """Closed loop: how many requests are in flight at any time. At a rate: how many a tool may use
    that must be told a number."""
    rps: int | None = None
    """The constant rate; none: as fast as the connections allow."""
    streams: int | None = None
    """HTTP/2 with so many requests at a time on each connection; none: HTTP/1.1."""
    cacert: Path | None = None
    """The certificate of an https target, in PEM."""
    checked: bool = False
    """Each answer is looked at: its status, and a field of its JSON."""
    shop: bool = False
    """Three routes of the shop in turn, instead of one GET: see `SHOP`."""


SHOP = ("GET /health", "GET /api/user", "POST /auth/login")
"""The routes of `bench/target` that the seeds load, each with a third of the requests."""


@dataclass(frozen=True)
class Told:
    """What a tool says of its own run; times in µs, none where it does not say."""

    requests: int | None = None
    p50_us: float | None = None
    p90_us: float | None = None
    p99_us: float | None = None
    max_us: float | None = None
    failed: int | None = None
    planned: int | None = None
    """Requests that were to be sent, where the tool knows."""
    note: str = ""
    """What must be known to read the rest."""


@dataclass(frozen=True)
class Task:
    """A command, and what must be around it."""

    argv: list[str]
    environ: dict[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)


class Tool(Protocol):
    """A load generator."""

    @property
    def name(self) -> str:
        """What it is called in the tables."""
        ...

    @property
    def ours(self) -> bool:
        """Whether it is LoadPilot."""
        ...

    def task(self, load: Load, folder: Path) -> Task:
        """Write the command for a load; its files go into `folder`."""
        ...

    def told(self, folder: Path, stdout: str) -> Told:
        """Read what the tool says, after its end; raises ValueError, KeyError or OSError."""
        ...
