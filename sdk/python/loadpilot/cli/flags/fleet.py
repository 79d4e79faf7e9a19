"""A fleet: agents and coordinators that others keep, reached through NATS, as flags name it.

Must never show a token, nor start anything on this machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...control.nats_settings import Server, ServerFlags, read_server
from ...problem import Problem
from .agent_flags import Crew, CrewFlags, read_crew
from .coordinator_flags import URL_VARIABLE, ApiFlags, read_api

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...control.coordinator_address import Api


@dataclass(frozen=True, slots=True)
class FleetFlags:
    """What was written about a fleet, unread."""

    server: ServerFlags = field(default_factory=ServerFlags)
    api: ApiFlags = field(default_factory=ApiFlags)
    crew: CrewFlags = field(default_factory=CrewFlags)
    detach: bool = False


@dataclass(frozen=True, slots=True)
class Fleet:
    """A fleet, and how many of its agents a run asks for."""

    server: Server | Api
    crew: Crew
    detach: bool = False
    """Whether nobody stays with the run."""


def read_place(
    server_flags: ServerFlags,
    api_flags: ApiFlags,
    environ: Mapping[str, str],
    problems: list[Problem],
) -> Server | Api | None:
    """Read where a fleet is asked, at its log or over HTTP; None when no fleet is named."""
    server = read_server(server_flags, environ, problems)
    if server is not None and api_flags.coordinator_url is None:
        # What a flag says goes before the environment.
        environ = {key: value for key, value in environ.items() if key != URL_VARIABLE}
    api = read_api(api_flags, environ, problems)
    if server is not None and api is not None:
        what = "names who takes the run, and so does --nats-url; drop one"
        problems.append(Problem("--coordinator-url", what))
    return server or api


def read_fleet(
    flags: FleetFlags, environ: Mapping[str, str], problems: list[Problem]
) -> Fleet | None:
    """Read which fleet a run is for; None when it is for this machine."""
    place = read_place(flags.server, flags.api, environ, problems)
    if flags.detach and not isinstance(place, Server):
        what = "is for a fleet that is named by its server; add --nats-url URL"
        problems.append(Problem("--detach", what))
    if place is None:
        return None
    return Fleet(place, read_crew(flags.crew, 0, 1, problems), flags.detach)
