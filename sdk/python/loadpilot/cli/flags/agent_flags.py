"""Number of agents that a run requests, and timeout of the wait for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from ...inputs.units import Wrong, duration_us, parse_int
from ...local.stack import LOCAL_LEAD_US, LOCAL_WAIT_US
from ...problem import Problem, rule
from .declaration import FLEET, flag

AGENTS_MAX = 4_096
"""Maximum number of agents of one run."""
NEEDS_MAX = 20
"""Maximum number of labels that a run may require of its agents."""
WAIT_DEFAULT = "60s"
LEAD_US = 3_000_000
"""Time from the decision to start to the start when agents of other machines take part: each learns
of it with its next heartbeat."""
NEED = re.compile(r"[A-Za-z0-9._-]{1,63}=[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True)
class AgentFlags:
    """The flags of agents that the run does not start itself, unparsed."""

    external_agents: Annotated[
        str | None,
        flag(
            FLEET,
            "INT",
            "Number of agents that others start and that share the load: those of a fleet, or "
            "those that join by --listen.",
            default="1, with --listen 0",
        ),
    ] = None
    min_agents: Annotated[
        str | None,
        flag(
            FLEET,
            "INT",
            "Number of agents that suffice for the start when the wait is over.",
            default="all",
        ),
    ] = None
    wait_agents: Annotated[
        str | None, flag(FLEET, "DURATION", "Timeout of the wait for agents.", default=WAIT_DEFAULT)
    ] = None
    need: Annotated[
        tuple[str, ...],
        flag(
            FLEET,
            "NAME=VALUE",
            "Label that each agent must have, such as zone=eu. Repeatable: all of them.",
        ),
    ] = ()

    def written(self) -> dict[str, str | None]:
        """Map each flag to its value; None where it was not written."""
        return {
            "--external-agents": self.external_agents,
            "--min-agents": self.min_agents,
            "--wait-agents": self.wait_agents,
            "--need": "".join(self.need) or None,
        }


@dataclass(frozen=True, slots=True)
class RequestedAgents:
    """The agents that a run requests."""

    want: int
    least: int
    """Number that suffices when the wait is over."""
    wait_us: int
    lead_us: int
    needs: tuple[str, ...]

    @classmethod
    def local(cls, agents: int) -> RequestedAgents:
        """Request only agents that are started for the run on this machine."""
        return cls(agents, agents, LOCAL_WAIT_US, LOCAL_LEAD_US, ())


def read_agents(
    flags: AgentFlags, local: int, least: int, problems: list[Problem]
) -> RequestedAgents:
    """Read how many agents join the ``local`` ones; without a flag that is ``least``."""
    others = parse_int(
        "--external-agents", flags.external_agents or str(least), least, AGENTS_MAX, problems
    )
    want = minimum = max(1, local + others)
    if flags.min_agents is not None:
        minimum = parse_int("--min-agents", flags.min_agents, 1, want, problems)
    wait_us = 1
    try:
        wait_us = duration_us("--wait-agents", flags.wait_agents or WAIT_DEFAULT)
    except Wrong as wrong:
        problems.append(wrong.problem)
    if len(flags.need) > NEEDS_MAX:
        problems.append(rule("--need", f"must be given at most {NEEDS_MAX} times", len(flags.need)))
    for need in flags.need:
        if not NEED.fullmatch(need):
            must = "must be a label that agents have, NAME=VALUE such as zone=eu"
            problems.append(rule("--need", must, need))
    lead_us = LEAD_US if others else LOCAL_LEAD_US
    return RequestedAgents(want, minimum, wait_us, lead_us, flags.need)
