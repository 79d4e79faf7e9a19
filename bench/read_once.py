"""Opens runs and asks them questions, in a process of its own; tells the times as JSON.

read_once.py URL CACHE RUN...
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from time import perf_counter

from loadpilot import _native


def timed(what: object, *args: object) -> tuple[float, object]:
    """Call something; ms and what it gave back."""
    began = perf_counter()
    answer = what(*args)  # type: ignore[operator]
    return (perf_counter() - began) * 1e3, answer


def main() -> None:
    """Open each run, ask it, and print."""
    url, cache, *runs = sys.argv[1:]
    session = _native.Session(url, None)
    times: dict[str, list[float]] = {"open": [], "series": [], "report": [], "verdict": []}
    for run in runs:
        took, reading = timed(session.read, run, Path(cache))
        assert isinstance(reading, _native.Reading)
        times["open"].append(took)
        times["series"].append(timed(reading.series, "{}")[0])
        times["report"].append(timed(reading.report)[0])
        times["verdict"].append(timed(reading.verdict, '{"warm_up_us": 10000000}')[0])
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps(times | {"most_mib": [usage / 1024]}))


main()
