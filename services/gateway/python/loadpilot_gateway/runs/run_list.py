"""The order of a list of runs, its pages, and the trend of a scenario.

Runs without a figure come last in both directions, and runs with equal figures in the order of
their creation, so that pages never overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from loadpilot.control.outcome import RunOutcome

    from .logs import Listed

Sort: TypeAlias = Literal["created", "rate", "p99", "failed"]
Order: TypeAlias = Literal["asc", "desc"]
Position: TypeAlias = tuple[bool, float]
"""Whether a run has no figure, and the figure, negative where the largest comes first."""

TREND_RUNS_MAX = 12
"""Maximum number of runs in a trend."""
CURSOR_MARK = "~"
"""Between run and figure in the cursor of a page."""


@dataclass(frozen=True, slots=True)
class Sorting:
    """The order of a list."""

    sort: Sort
    order: Order

    def apply(
        self, runs: Iterable[Listed], outcomes: Mapping[str, RunOutcome], cursor: str | None
    ) -> list[Listed]:
        """Sort the runs, and drop those up to the cursor; raises ValueError for another cursor."""
        newest_first = sorted(runs, key=_run, reverse=True)
        if self.sort == "created":
            ordered = newest_first if self.order == "desc" else newest_first[::-1]
            return [one for one in ordered if cursor is None or self._is_later(one, cursor)]
        places = {_run(one): self._place(outcomes.get(_run(one))) for one in newest_first}
        ordered = sorted(newest_first, key=lambda one: places[_run(one)])
        if cursor is None:
            return ordered
        run, mark, figure = cursor.partition(CURSOR_MARK)
        if not mark:
            raise ValueError(cursor)
        last = (True, 0.0) if not figure else (False, float(figure))
        return [
            one
            for one in ordered
            if places[_run(one)] > last or (places[_run(one)] == last and _run(one) < run)
        ]

    def cursor(self, one: Listed, outcomes: Mapping[str, RunOutcome]) -> str:
        """Write the cursor of the page after a run."""
        if self.sort == "created":
            return _run(one)
        is_missing, figure = self._place(outcomes.get(_run(one)))
        return f"{_run(one)}{CURSOR_MARK}{'' if is_missing else repr(figure)}"

    def _is_later(self, one: Listed, cursor: str) -> bool:
        if CURSOR_MARK in cursor:
            raise ValueError(cursor)
        return _run(one) < cursor if self.order == "desc" else _run(one) > cursor

    def _place(self, outcome: RunOutcome | None) -> Position:
        figure = None if outcome is None else self._figure(outcome)
        if figure is None:
            return True, 0.0
        return False, -float(figure) if self.order == "desc" else float(figure)

    def _figure(self, outcome: RunOutcome) -> float | None:
        match self.sort:
            case "rate":
                return outcome.requests_per_sec
            case "p99":
                return outcome.p99_us
            case _:
                return outcome.error_rate_pct


def same_scenario(every: Iterable[Listed]) -> dict[str, list[Listed]]:
    """Group the ended runs by scenario, newest first."""
    found: dict[str, list[Listed]] = {}
    for one in sorted(every, key=_run, reverse=True):
        if one["ending"] is not None:
            found.setdefault(one["scenario"], []).append(one)
    return found


def trend_runs(one: Listed, of_scenario: Iterable[Listed]) -> list[Listed]:
    """Choose the runs of a trend, newest first: those of the scenario up to a run."""
    return list(islice((past for past in of_scenario if _run(past) <= _run(one)), TREND_RUNS_MAX))


def trend(runs: list[Listed], outcomes: Mapping[str, RunOutcome]) -> list[RunOutcome]:
    """Find the outcomes of the chosen runs, oldest first; those without a p99 are left out."""
    found = (outcomes.get(_run(one)) for one in reversed(runs))
    return [one for one in found if one is not None and one.p99_us is not None]


def _run(one: Listed) -> str:
    return str(one["run"])
