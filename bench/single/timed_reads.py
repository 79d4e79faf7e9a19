"""Opens runs and queries them, in a process of its own; prints the times as JSON.

timed_reads.py URL CACHE RUN...
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from loadpilot import _native

if TYPE_CHECKING:
    from collections.abc import Callable


def timed(question: Callable[..., str], *args: str) -> float:
    """Time a query, in ms."""
    began = perf_counter()
    question(*args)
    return (perf_counter() - began) * 1e3


def main() -> None:
    """Open and query each run, and print the times."""
    url, cache, *runs = sys.argv[1:]
    session = _native.Session(url, None)
    times: dict[str, list[float]] = {"open": [], "series": [], "report": [], "verdict": []}
    for run in runs:
        began = perf_counter()
        reading = session.read(run, Path(cache))
        times["open"].append((perf_counter() - began) * 1e3)
        times["series"].append(timed(reading.series, "{}"))
        times["report"].append(timed(reading.report))
        times["verdict"].append(timed(reading.verdict, '{"warm_up_us": 10000000}'))
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps(times | {"most_mib": [usage / 1024]}))


main()
