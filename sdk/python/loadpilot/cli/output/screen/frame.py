"""The frame of the live view: the most important rows that fit into a terminal.

A pure function: no frame is wider or taller than its terminal, however many tasks and gates a run
has.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ....control.figures import plural
from .cells import Line, Tone, cut_line
from .rows import GAP, Moment, Rank, Row, head, load
from .tables import gates, latency, tasks, trend

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..live import PlanInfo


class Size(NamedTuple):
    """The size of a terminal in cells."""

    columns: int
    rows: int

    @property
    def is_enough(self) -> bool:
        """Whether a frame fits; a smaller terminal gets plain lines."""
        return self.columns >= COLUMNS_MIN and self.rows >= ROWS_MIN


COLUMNS_MIN, ROWS_MIN = 60, 10
"""The smallest terminal with a frame."""
WIDTH_MAX = 120
"""Maximum number of cells of a row: figures stay near their names."""


def frame(info: PlanInfo, moment: Moment, size: Size) -> list[Line]:
    """Lay the run out for a terminal; one column and one row stay free."""
    cells, room = min(size.columns - 1, WIDTH_MAX), size.rows - 1
    listed = {"task": len(moment.snapshot["tasks"]), "gate": len(moment.gates or info.gates)}
    rows = [GAP, *head(info, moment, cells)]
    is_created = moment.snapshot.get("queued") is None
    if is_created and moment.snapshot.get("gathering") is None:
        parts = (
            load(info, moment, cells),
            latency(info, moment, cells),
            trend(moment, cells),
            gates(info, moment, cells),
            tasks(moment, cells, room),
        )
        for part in map(list, parts):
            rows += [GAP, *part] if part else []
    return [cut_line(line, cells) for line in _fitting(rows, listed, room)]


def _fitting(rows: list[Row], listed: Mapping[str, int], room: int) -> list[Line]:
    """Leave out the last row of the highest rank until the rest fits."""
    order = sorted(range(len(rows)), key=lambda place: (rows[place].rank, place))
    shown = Counter(row.listed for row in rows)
    while order and len(order) + len(_cut(shown, listed)) > room:
        row = rows[order.pop()]
        shown[row.listed] -= 1
        if row.listed == "task" and not shown["task"]:
            order = [place for place in order if rows[place].rank is not Rank.TASKS]
    return list(_with_omissions([rows[place] for place in sorted(order)], shown, listed))


def _cut(shown: Counter[str], listed: Mapping[str, int]) -> list[str]:
    """List the lists of which some entries are shown and some are not."""
    return [of for of, count in listed.items() if 0 < shown[of] < count]


def _with_omissions(
    rows: list[Row], shown: Counter[str], listed: Mapping[str, int]
) -> Iterator[Line]:
    """Write the rows, and below each list how many of its entries are missing."""
    last = {row.listed: place for place, row in enumerate(rows)}
    cut = _cut(shown, listed)
    for place, row in enumerate(rows):
        yield row.line
        if row.listed in cut and place == last[row.listed]:
            missing = listed[row.listed] - shown[row.listed]
            yield [(f"  and {plural(missing, f'more {row.listed}')}", Tone.QUIET)]
