"""A fleet as flags name it: agents and coordinators that run elsewhere, reached through NATS.

Must never show a token, nor start anything on this machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ...control.figures import plural
from ...control.nats_settings import OTHER_CONNECTIONS, Server, read_server
from ...problem import Problem
from .agent_flags import AgentFlags, RequestedAgents, read_agents
from .coordinator_flags import ApiFlags, read_api
from .declaration import FLEET, flag
from .server_flags import ServerFlags

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...control import nats_settings
    from ...control.coordinator_address import Api


@dataclass(frozen=True, slots=True)
class FleetFlags:
    """The flags of a fleet, unparsed."""

    server: Annotated[ServerFlags, Parameter(name="*")] = field(default_factory=ServerFlags)
    api: Annotated[ApiFlags, Parameter(name="*")] = field(default_factory=ApiFlags)
    agents: Annotated[AgentFlags, Parameter(name="*")] = field(default_factory=AgentFlags)
    detach: Annotated[
        bool,
        flag(
            FLEET,
            "",
            "Ask a fleet for the run, print its id and leave; `loadpilot watch` then follows it. "
            "The run has no owner and goes on without this command.",
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class Fleet:
    """A fleet, and the number of its agents that a run requests."""

    server: Server | Api
    agents: RequestedAgents
    detach: bool = False
    """Whether the command ends once the run is requested."""


def read_place(
    server_flags: nats_settings.ServerFlags,
    api_flags: ApiFlags,
    environ: Mapping[str, str],
    problems: list[Problem],
) -> Server | Api | None:
    """Read where a fleet takes runs, at its log or over HTTP; None when no fleet is named."""
    server = read_server(server_flags, environ, problems)
    api = read_api(api_flags, environ, problems)
    if server is not None and api is not None:
        what = "names where the run goes, and so does --nats-url; drop one"
        problems.append(Problem("--coordinator-url", what))
    return server or api


def read_fleet(
    flags: FleetFlags, environ: Mapping[str, str], problems: list[Problem]
) -> Fleet | None:
    """Read which fleet a run is for; None when it is for this machine."""
    place = read_place(flags.server, flags.api, environ, problems)
    if flags.detach and not isinstance(place, Server):
        what = "needs a fleet that is named by its server; add --nats-url URL"
        problems.append(Problem("--detach", what))
    if place is None:
        return None
    agents = read_agents(flags.agents, 0, 1, problems)
    if isinstance(place, Server):
        problems += _connections(place, agents)
    return Fleet(place, agents, flags.detach)


def _connections(server: Server, agents: RequestedAgents) -> Iterator[Problem]:
    """Refuse more agents than the account of NATS has connections for."""
    allowed, needed = server.connections, agents.want + OTHER_CONNECTIONS
    if allowed is None or needed <= allowed:
        return
    yield Problem(
        "--external-agents",
        f"needs {needed} connections to NATS: {plural(agents.want, 'agent')}, a coordinator and "
        f"this command. The account allows {allowed} (--nats-connections), which is enough for "
        f"{max(allowed - OTHER_CONNECTIONS, 0)}. Agents that connect to a leaf node have none of "
        "the account's",
    )
