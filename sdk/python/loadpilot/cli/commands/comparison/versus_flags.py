"""The two targets of ``loadpilot versus``, read from its flags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....inputs.units import Wrong, percent_of
from ....problem import Problem, rule
from ...flags import target as targets
from ...flags.run_flags import FIRST, SECOND

if TYPE_CHECKING:
    from ...flags.run_flags import VersusFlags
    from ...flags.target import Target

FAIL_IF_SLOWER = "--fail-if-slower"
EQUAL_PCT = 1.0
"""Difference in percent up to which two targets count as equal, without a flag."""


@dataclass(frozen=True, slots=True)
class Sides:
    """The two targets, their names, and the difference that counts."""

    names: tuple[str, str]
    second: Target
    threshold_pct: float
    fails: bool
    """Whether a second target that is worse fails the command."""

    def named(self, first: str) -> tuple[tuple[str, str], tuple[str, str]]:
        """Return name and URL of each, with the URL of the first."""
        return (self.names[0], first), (self.names[1], self.second.url)


def read_sides(flags: VersusFlags, problems: list[Problem]) -> Sides:
    """Read the sides; adds all problems."""
    named = {FIRST: flags.target_a, SECOND: flags.target_b}
    missing = [place for place, url in named.items() if url is None]
    must = "must be named, such as http://localhost:8000"
    problems += [Problem(place, must) for place in missing]
    second = _target(flags.target_b, SECOND)
    problems += targets.problems(second)
    if not missing and flags.found_target().url == second.url:
        problems.append(rule(SECOND, "must be another URL than --target-a", second.url))
    if flags.name_a == flags.name_b:
        problems.append(rule("--name-b", "must be another name than --name-a", flags.name_b))
    if flags.fleet.detach:
        what = "leaves, and this command compares the targets at the end of the run; drop it"
        problems.append(Problem("--detach", what))
    if flags.fleet.api.coordinator_url:
        what = "has no log to compare the targets from; name the server with --nats-url"
        problems.append(Problem("--coordinator-url", what))
    threshold_pct = EQUAL_PCT
    if flags.fail_if_slower is not None:
        try:
            threshold_pct = percent_of(FAIL_IF_SLOWER, flags.fail_if_slower)
        except Wrong as wrong:
            problems.append(wrong.problem)
    names, fails = (flags.name_a, flags.name_b), flags.fail_if_slower is not None
    return Sides(names, second, threshold_pct, fails)


def _target(url: str | None, place: str) -> Target:
    return targets.resolve([] if url is None else [url], place)
