"""The part of a run that a table covers, as the engine reads it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..._generated.report import Report

By = Literal["task", "call", "agent", "outcome"]
GROUPS: tuple[str, ...] = get_args(By)
"""Dimensions that a series can be split by."""
FIELDS = {"task": "tasks", "call": "steps", "agent": "agents", "outcome": "outcomes"}
"""Fields of a slice that select one group."""
PERCENTILES = (50.0, 95.0, 99.0)
"""Percentiles of a series that names none."""


@dataclass(frozen=True, slots=True)
class SliceQuery:
    """Times are in µs after the start of the run; None restricts nothing."""

    from_us: int | None = None
    to_us: int | None = None
    every_us: int | None = None
    """Length of a bucket; None is a tick of the run."""
    tasks: tuple[str, ...] | None = None
    percentiles: tuple[float, ...] = PERCENTILES

    def in_ticks_of(self, report: Report) -> SliceQuery:
        """Take a tick of the run for the length of a bucket that has none."""
        return self if self.every_us else replace(self, every_us=report["run"]["tick_us"])

    def text(self, by: str | None = None, name: str = "") -> str:
        """Write the slice of one group as JSON."""
        fields: dict[str, Any] = {
            "from_us": self.from_us,
            "to_us": self.to_us,
            "bucket_us": self.every_us,
            "tasks": self.tasks,
            "percentiles": self.percentiles,
        }
        if by is not None:
            fields[FIELDS[by]] = [name]
        return json.dumps({key: value for key, value in fields.items() if value is not None})

    def groups(self, report: Report, by: str | None) -> Iterator[str]:
        """List the names of the groups that a run has."""
        tasks = [task for task in report["tasks"] if not self.tasks or task["name"] in self.tasks]
        names: list[str] = [""]
        if by == "task":
            names = [task["name"] for task in tasks]
        elif by == "call":
            names = [call["name"] for task in tasks for call in task["calls"]]
        elif by == "agent":
            names = [one["holder"]["agent"] for one in report["run"]["holders"]]
        elif by == "outcome":
            names = [name for name, count in report["calls"]["outcomes"].items() if count]
        yield from dict.fromkeys(names)
