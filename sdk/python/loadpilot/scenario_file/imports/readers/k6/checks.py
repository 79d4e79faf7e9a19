"""The checks of k6 as rates: a failed check is counted, and the iteration goes on."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...imported_scenario import Check
from ...names import Names, snake

if TYPE_CHECKING:
    from .javascript import Code

RATES_MAX = 90
"""Maximum number of rates: an agent takes 100 metrics of a scenario."""
OTHERS = "other_checks"
"""Rate of the checks beyond the maximum."""
TOTAL = "checks"
"""Rate of all checks."""
STATUS = re.compile(r"\(?\s*\w+\.status\s*===?\s*(\d{3})\s*\)?")
CONTAINS = re.compile(r"\w+\.body\.includes\(\s*(?:'([^'\\]+)'|\"([^\"\\]+)\")\s*\)")


@dataclass(slots=True)
class Rates:
    """The metrics that count checks, by the names of the checks."""

    has_total: bool = False
    """Whether a threshold limits the rate of all checks."""
    _given: dict[str, str] = field(default_factory=dict)
    _free: Names = field(default_factory=lambda: Names(frozenset({OTHERS, TOTAL})))

    def of(self, check: str) -> tuple[str, ...]:
        """Name the metrics that count a check."""
        if check not in self._given:
            is_full = len(self._given) >= RATES_MAX
            self._given[check] = OTHERS if is_full else self._free.give(snake(check, "check"))
        return (self._given[check], TOTAL) if self.has_total else (self._given[check],)


def read_check(code: Code | None) -> Check | None:
    """Read one check of a response; None for another one."""
    body = code["body"] if code is not None and code.kind == "arrow_function" else None
    text = body.text if body is not None else ""
    status = STATUS.fullmatch(text)
    if status is not None:
        return Check(status=int(status[1]))
    contains = CONTAINS.fullmatch(text)
    return None if contains is None else Check(contains=contains[1] or contains[2])
