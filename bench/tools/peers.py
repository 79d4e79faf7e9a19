"""The tools beside LoadPilot as a table: name, command line, reader of the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.tools import commands, reports
from bench.tools.commands import Job
from bench.tools.reports import Output

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench.tools.tool import Command, Load, Report

ORIGINAL = "LoadPilot 0.2.0, the original"
"""The package that has the name LoadPilot on PyPI."""


@dataclass(frozen=True)
class Kind:
    """The differences between the peers."""

    name: str
    command: Callable[[Job], Command]
    read: Callable[[Output], Report]


KINDS = {
    "wrk": Kind("wrk", commands.wrk, reports.wrk),
    "h2load": Kind("h2load", commands.h2load, reports.h2load),
    "oha": Kind("oha", commands.oha, reports.oha),
    "vegeta": Kind("vegeta", commands.vegeta, reports.vegeta),
    "hey": Kind("hey", commands.hey, reports.hey),
    "k6": Kind("k6", commands.k6, reports.k6),
    "Locust": Kind("Locust", commands.locust, reports.locust),
    "original": Kind(ORIGINAL, commands.original, reports.original),
}


@dataclass(frozen=True)
class PeerTool:
    """A peer at its path; implements `Tool`."""

    kind: Kind
    path: str
    ours: bool = False

    @property
    def name(self) -> str:
        """Name in the tables."""
        return self.kind.name

    def command(self, load: Load, folder: Path) -> Command:
        """Build the command for a load; raises ValueError if the tool cannot generate it."""
        return self.kind.command(Job(self.path, load, folder))

    def report(self, folder: Path, stdout: str) -> Report:
        """Read the tool's report; raises ValueError, KeyError or OSError."""
        return self.kind.read(Output(self.path, folder, stdout))


def peer(name: str, path: str) -> PeerTool:
    """Take a peer by its key in the table of families."""
    return PeerTool(KINDS[name], path)
