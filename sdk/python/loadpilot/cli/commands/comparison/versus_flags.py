"""The flags of ``loadpilot versus``: those of ``run``, with two targets in place of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ....problem import Problem, rule
from ...flags import target as targets
from ...flags.declaration import GATES, MOST_USED, flag
from ...flags.run_flags import RunFlags

if TYPE_CHECKING:
    from ...flags.target import Target

FIRST, SECOND = "--target-a", "--target-b"
FAIL_IF_SLOWER = "--fail-if-slower"
HIDDEN = Parameter(parse=False)
"""Of flags of ``run`` that make no sense for two targets."""
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


@dataclass(frozen=True, slots=True)
class VersusFlags(RunFlags):
    """What was written on the command line or configured, unread."""

    target_a: Annotated[
        str | None,
        flag(MOST_USED, "URL", "First target, http://host[:port][/path].", FIRST),
    ] = None
    target_b: Annotated[
        str | None,
        flag(MOST_USED, "URL", "Second target, which is compared with the first.", SECOND),
    ] = None
    name_a: Annotated[
        str, flag(MOST_USED, "NAME", "Name of the first target in all results.", default="A")
    ] = "A"
    name_b: Annotated[
        str, flag(MOST_USED, "NAME", "Name of the second target in all results.", default="B")
    ] = "B"
    fail_if_slower: Annotated[
        str | None,
        flag(
            GATES,
            "PERCENT",
            "Exit with 1 if a latency, the error rate or the rate of a closed loop is worse at "
            "the second target by more than this, and by more than chance. Without it the "
            "comparison is only printed, and differences up to 1 % count as none.",
        ),
    ] = None
    target: Annotated[tuple[str, ...], HIDDEN] = ()
    share: Annotated[tuple[str, ...], HIDDEN] = ()
    save_baseline: Annotated[bool, HIDDEN] = False
    append: Annotated[bool, HIDDEN] = False

    def found_target(self) -> Target:
        """Return the first target: the plan of one target is made first."""
        return _target(self.target_a, FIRST)

    def sides(self, problems: list[Problem]) -> Sides:
        """Read the sides; adds all problems."""
        named = {FIRST: self.target_a, SECOND: self.target_b}
        missing = [place for place, url in named.items() if url is None]
        must = "must be named, such as http://localhost:8000"
        problems += [Problem(place, must) for place in missing]
        second = _target(self.target_b, SECOND)
        problems += targets.problems(second)
        if not missing and self.found_target().url == second.url:
            problems.append(rule(SECOND, "must be another URL than --target-a", second.url))
        if self.name_a == self.name_b:
            problems.append(rule("--name-b", "must be another name than --name-a", self.name_b))
        if self.fleet.detach:
            what = "leaves, and this command compares the targets at the end of the run; drop it"
            problems.append(Problem("--detach", what))
        if self.fleet.api.coordinator_url:
            what = "has no log to compare the targets from; name the server with --nats-url"
            problems.append(Problem("--coordinator-url", what))
        threshold_pct = EQUAL_PCT
        if self.fail_if_slower is not None:
            threshold_pct = _percent(self.fail_if_slower, problems)
        names, fails = (self.name_a, self.name_b), self.fail_if_slower is not None
        return Sides(names, second, threshold_pct, fails)


def _target(url: str | None, place: str) -> Target:
    return targets.resolve([] if url is None else [url], place)


def _percent(text: str, problems: list[Problem]) -> float:
    try:
        percent = float(text.removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not 0 <= percent < float("inf"):
        problems.append(rule(FAIL_IF_SLOWER, "must be a percentage of at least 0", text))
    return percent
