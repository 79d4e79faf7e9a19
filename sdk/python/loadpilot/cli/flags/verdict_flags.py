"""The flags of ``loadpilot verdict``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from .declaration import GATES, flag
from .shared_flags import NO_SERVER, Json, Server


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictFlags:
    """Terms, selected runs and output, as they are typed."""

    threshold: Annotated[
        tuple[str, ...],
        flag(
            GATES,
            "KEY=LIMIT",
            "Gate in place of all gates of the runs, as for `run`: p99_ms=500, TASK:KEY=LIMIT or "
            'k6\'s "p(99)<500". Repeatable.',
        ),
    ] = ()
    task: Annotated[
        str | None, flag(GATES, "NAME", "Task that the gates are about, where they name none.")
    ] = None
    from_: Annotated[
        str | None,
        flag(GATES, "DURATION", "Judge calls that were due from here on, after start.", "--from"),
    ] = None
    to: Annotated[str | None, flag(GATES, "DURATION", "Judge calls that were due before.")] = None
    warm_up: Annotated[
        str | None, flag(GATES, "DURATION", "Warm-up in place of the runs' own.")
    ] = None
    all: Annotated[bool, flag(GATES, "", "Judge all runs of this directory or the fleet.")] = False
    tag: Annotated[
        tuple[str, ...],
        flag(GATES, "NAME=VALUE", "Judge all runs that have this tag. Repeatable: all of them."),
    ] = ()
    json: Json = False
    server: Server = NO_SERVER
