"""A past run, opened from Python: its report, series, sampled calls and comparisons.

    import loadpilot

    run = loadpilot.open("last")
    run.report["latency"]["response"]["p99_us"]
    run.series(by="task", every="10s", percentiles=[50, 99]).to_pandas()
    run.compare("baseline.lprun")["regressed"]

Must never compute a figure: the engine does.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ...control.nats_settings import Server, ServerFlags, read_server
from ...control.run_list import OpenLogs, find_run, indexed, open_log, run_of
from ...control.signals import Interruptions
from ...inputs.units import duration_us
from ...local.baseline import JSON_FILE, compared, runs_of_file
from ...local.stack import StackFault
from ...problem import Problem, Refused, rule
from .sample_table import sample_arrow
from .series_table import series_arrow, series_columns
from .slice_query import GROUPS, PERCENTILES, By, SliceQuery

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from ... import _native
    from ..._generated.comparison import Comparison
    from ..._generated.report import Report
    from ...control.run_list import PastRun

Duration = str | float
"""``"90s"``, ``"2m"`` or a number of seconds."""


def open(  # noqa: A001  (as users call it: loadpilot.open)
    name: str | os.PathLike[str] = "last", *, nats_url: str | None = None
) -> Run:
    """Open a run: its id, the first characters of it, ``"last"``, or a ``.lprun`` file.

    Runs are those of ``.loadpilot`` in the current directory; with ``nats_url`` those of a fleet,
    whose credentials are in the environment as for the command. The whole log is read and indexed
    here, once; a run that goes on is opened as it stands.

    Raises LookupError for an unknown run, ValueError for a damaged file or a wrong address,
    RuntimeError when the log cannot be reached.
    """
    problems: list[Problem] = []
    server = read_server(ServerFlags(nats_url=nats_url), os.environ, problems)
    if problems:
        raise ValueError(str(Refused(problems)))
    return _found(name, server)


def open_ended(run: str, place: Server | Path) -> Run:
    """Open a run by its whole id, from a fleet or from the logs below a folder.

    Raises LookupError, RuntimeError as :func:`open` does.
    """
    with _builtin_errors(), OpenLogs(Interruptions()) as logs:
        return _indexed(run_of(run, logs, place), logs)


def _found(name: str | os.PathLike[str], server: Server | None) -> Run:
    with _builtin_errors(), OpenLogs(Interruptions()) as logs:
        return _indexed(find_run(os.fspath(name), logs, server), logs)


@contextmanager
def _builtin_errors() -> Iterator[None]:
    """Raise the fault of a stack that reads a log as RuntimeError, like that of a fleet."""
    try:
        yield
    except StackFault as fault:
        raise RuntimeError(str(fault)) from fault


def _indexed(past: PastRun, logs: OpenLogs) -> Run:
    with open_log(past.log, logs) as session:
        reading = indexed(session, past)
        reading.load_index()
        return Run(past, reading)


class Run:
    """A past run, indexed in memory; :func:`loadpilot.open` opens it."""

    def __init__(self, past: PastRun, reading: _native.Reading) -> None:
        """Take the run and its index; users call :func:`loadpilot.open`."""
        self._past = past
        self._reading = reading
        self._report: Report | None = None

    @property
    def id(self) -> str:
        """Its id."""
        return self._past.run

    @property
    def report(self) -> Report:
        """Its report, as ``loadpilot report --json`` prints it."""
        if self._report is None:
            self._report = cast("Report", json.loads(self._reading.report()))
        return self._report

    def series(
        self,
        *,
        by: By | None = None,
        every: Duration | None = None,
        percentiles: Sequence[float] = PERCENTILES,
        start: Duration | None = None,
        end: Duration | None = None,
        tasks: Sequence[str] | None = None,
        histograms: bool = False,
    ) -> pa.Table:
        """Compute its figures over time: a row for each interval and group.

        ``every`` is the length of an interval, a whole number of ticks of the run (mostly 1 s);
        without it one tick. ``start`` and ``end`` are due times after the start of the run.
        ``histograms`` adds the distributions themselves, as base64 of HdrHistogram's V2 form.

        Columns: ``time`` (UTC), ``from_us`` (after the start), the group, ``planned``, ``started``,
        ``dropped``, ``finished``, ``errors``, a count for each outcome, and for each percentile
        ``response_p99_us`` (corrected) and ``service_p99_us`` in µs, null where no call finished.

        Raises ValueError for an unknown task or time, ImportError without pyarrow.
        """
        if by is not None and by not in GROUPS:
            raise ValueError(str(rule("by", f"must be one of {', '.join(GROUPS)}", by)))
        query = SliceQuery(
            from_us=_us("start", start),
            to_us=_us("end", end),
            every_us=_us("every", every),
            tasks=None if tasks is None else tuple(tasks),
            percentiles=tuple(percentiles),
        )
        columns = series_columns(self._reading, self.report, query, by, histograms=histograms)
        return series_arrow(columns)

    def samples(
        self,
        *,
        start: Duration | None = None,
        end: Duration | None = None,
        tasks: Sequence[str] | None = None,
    ) -> pa.Table:
        """Read its sampled calls, which ``run --samples`` keeps: a row each, by due time.

        Columns: ``due`` (UTC), ``arrival`` (in a closed loop ``user``, ``generation`` and its
        iteration), ``task``, ``call``, ``agent``, ``status``, ``outcome``, ``response_us`` (from
        due), ``service_us`` (from dispatch), ``first_byte_us``, ``bytes_out``, ``bytes_in``,
        ``reused``. The whole table is in memory.

        Raises ValueError for a run without samples, ImportError without pyarrow, RuntimeError when
        the log cannot be reached.
        """
        query = SliceQuery(
            from_us=_us("start", start),
            to_us=_us("end", end),
            tasks=None if tasks is None else tuple(tasks),
        )
        with _builtin_errors(), open_log(self._past.log, Interruptions()) as session:
            return sample_arrow(session.read_samples(self.id, query.text()))

    def compare(
        self, *baseline: Run | str | os.PathLike[str], threshold_pct: float = 10.0
    ) -> Comparison:
        """Compare it with one or more earlier runs, as ``loadpilot compare`` does.

        ``["regressed"]`` says whether a figure is worse by more than ``threshold_pct`` percent and
        by more than chance; ``["figures"]`` has each. Names are those of :func:`loadpilot.open`, of
        runs of the same fleet if this is one of a fleet, or results files and baselines
        (``.json``).

        Raises ValueError where the command exits with 3, because the figures cannot be compared (a
        certificate is INVALID, no call reached a server, …), and for a file that cannot be read;
        LookupError for an unknown run.
        """
        if not baseline:
            raise ValueError("compare: name at least one run to compare with")
        server = self._past.log if isinstance(self._past.log, Server) else None
        theirs = []
        for one in baseline:
            if not isinstance(one, Run) and os.fspath(one).endswith(JSON_FILE):
                theirs += runs_of_file(Path(one))
            else:
                run = one if isinstance(one, Run) else _found(one, server)
                theirs.append(json.loads(run.parts()))
        found = compared(json.loads(self.parts()), theirs, threshold_pct, is_stored=True)
        if found["obstacles"]:
            raise ValueError(f"not compared: {'; '.join(found['obstacles'])}")
        return cast("Comparison", found)

    def parts(self) -> str:
        """Cut it into parts for a comparison; JSON as in ``proto/schema/run-parts.json``."""
        return self._reading.parts()

    def __repr__(self) -> str:
        facts = self._past.facts
        return f"<Run {self.id} {facts['scenario']}: {self._past.state}>"


def _us(place: str, value: Duration | None) -> int | None:
    return None if value is None else duration_us(place, value)
