"""How many agents a run asks for, and how long it waits for them, as flags say it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...local.stack import LOCAL_LEAD_US, LOCAL_WAIT_US
from ...problem import Problem, rule
from ...units import Wrong, duration_us
from .parse_int import whole

AGENTS_MAX = 4_096
"""Most agents that one run may ask for."""
NEEDS_MAX = 20
"""Most labels that a run may ask of its agents."""
WAIT_DEFAULT = "60s"
LEAD_US = 3_000_000
"""The same with other machines: the last agent hears of it in its next heartbeat, at the latest."""
NEED = re.compile(r"[A-Za-z0-9._-]{1,63}=[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True)
class CrewFlags:
    """What was written about agents that others start, unread."""

    external_agents: str | None = None
    min_agents: str | None = None
    wait_agents: str | None = None
    need: tuple[str, ...] = ()

    def said(self) -> dict[str, str | None]:
        """Tell which flags were written, with what."""
        return {
            "--external-agents": self.external_agents,
            "--min-agents": self.min_agents,
            "--wait-agents": self.wait_agents,
            "--need": "".join(self.need) or None,
        }


@dataclass(frozen=True, slots=True)
class Crew:
    """The agents of a run."""

    want: int
    least: int
    """So many suffice when the wait is over."""
    wait_us: int
    lead_us: int
    needs: tuple[str, ...]

    @classmethod
    def here(cls, agents: int) -> Crew:
        """Those that are started for the run, all of them on this machine."""
        return cls(agents, agents, LOCAL_WAIT_US, LOCAL_LEAD_US, ())


def read_crew(flags: CrewFlags, here: int, least: int, problems: list[Problem]) -> Crew:
    """Read how many others come beside those ``here``; ``least`` if nothing is said."""
    asked = flags.external_agents or str(least)
    others = whole("--external-agents", asked, least, AGENTS_MAX, problems)
    want = minimum = max(1, here + others)
    if flags.min_agents is not None:
        minimum = whole("--min-agents", flags.min_agents, 1, want, problems)
    wait_us = 1
    try:
        wait_us = duration_us("--wait-agents", flags.wait_agents or WAIT_DEFAULT)
    except Wrong as wrong:
        problems.append(wrong.problem)
    if len(flags.need) > NEEDS_MAX:
        problems.append(rule("--need", f"must be said at most {NEEDS_MAX} times", len(flags.need)))
    for need in flags.need:
        if not NEED.fullmatch(need):
            must = "must be a label that agents have, KEY=VALUE such as zone=eu"
            problems.append(rule("--need", must, need))
    return Crew(want, minimum, wait_us, LEAD_US if others else LOCAL_LEAD_US, flags.need)
