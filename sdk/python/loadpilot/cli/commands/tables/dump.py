"""``loadpilot dump``: the data of a run for other tools.

The engine computes every figure; this command finds the run and writes the answers.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from .... import _native
from ....control.figures import count, plural
from ....control.run_list import OpenLogs, find_run, indexed, open_log
from ....control.signals import FirstEnds
from ....control.terminal import note, safe_lines, say
from ....inputs.units import Wrong, duration_us
from ....library.tables.extras import extra
from ....library.tables.sample_table import sample_batches, sample_schema
from ....library.tables.series_table import series_arrow, series_columns, series_lines
from ....library.tables.slice_query import GROUPS, PERCENTILES, SliceQuery
from ....problem import Problem, Refused, one_of, rule
from ...output import results
from ..history import fleet_of, reporting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ....control.exit_code import ExitCode
    from ....control.run_list import PastRun
    from .dump_flags import DumpFlags

TABLE = ("csv", "ndjson", "parquet")
FORMATS = {
    "series": TABLE,
    "samples": TABLE,
    "histograms": ("hlog",),
    "percentiles": ("text",),
    "metrics": ("openmetrics",),
}
"""Formats of each content, the usual one first."""
SUFFIXES = {
    ".csv": "csv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".parquet": "parquet",
    ".hlog": "hlog",
    ".hgrm": "text",
    ".txt": "text",
    ".om": "openmetrics",
    ".prom": "openmetrics",
}
PARTS = ("series", "samples", "histograms", "percentiles")
"""Contents of a part of a run."""
APPLIES_TO = {
    "--by": ("series",),
    "--percentiles": ("series",),
    "--every": ("series", "histograms", "metrics"),
    "--from": PARTS,
    "--to": PARTS,
    "--task": PARTS,
    "--uncorrected": ("histograms", "percentiles"),
}
"""Flags that not every content has."""
FIELDS = {"--from": "from_"}
"""Names of flags that are no names of fields."""
FLAGS = {
    "every_us": "--every",
    "from_us": "--from",
    "to_us": "--to",
    "bucket_us": "--every",
    "tasks": "--task",
    "percentiles": "--percentiles",
}
"""Flags of the fields of a slice."""


@dataclass(frozen=True, slots=True)
class Dump:
    """Content and destination of a dump."""

    what: str
    format: str
    path: Path | None
    by: str | None
    query: SliceQuery
    uncorrected: bool

    @classmethod
    def of(cls, flags: DumpFlags) -> Dump:
        """Read the flags; raises Refused with all problems."""
        problems: list[Problem] = []
        path = None if flags.output is None else Path(flags.output)
        if path is not None:
            problems += results.problems(path, "--output")
        what, form = _form(flags, path, problems)
        problems += [
            Problem(name, f"applies to {' and '.join(contents)} (got --what {what})")
            for name, contents in APPLIES_TO.items()
            if getattr(flags, FIELDS.get(name, name.removeprefix("--"))) and what not in contents
        ]
        if flags.by is not None and flags.by not in GROUPS:
            problems.append(one_of("--by", GROUPS, flags.by))
        times = {
            name: _time(name, text, problems)
            for name, text in (
                ("--from", flags.from_),
                ("--to", flags.to),
                ("--every", flags.every),
            )
        }
        query = SliceQuery(
            from_us=times["--from"],
            to_us=times["--to"],
            every_us=times["--every"],
            tasks=flags.task or None,
            percentiles=_percentiles(flags.percentiles, problems),
        )
        if form == "parquet" and path is None and sys.stdout.isatty():
            problems.append(Problem("--format", "parquet is binary; add -o FILE or a pipe"))
        if problems:
            raise Refused(problems)
        return cls(what, form, path, flags.by, query, flags.uncorrected)


def dump(name: str, flags: DumpFlags) -> ExitCode:
    """Write the data of one run."""
    with reporting(FirstEnds) as (interruptions, outcome), OpenLogs(interruptions) as logs:
        wanted = Dump.of(flags)
        place = fleet_of(flags.server)
        if wanted.format == "parquet":
            extra("pyarrow", "--format parquet")
        one = find_run(name, logs, place)
        with open_log(one.log, logs) as session:
            try:
                _write(wanted, session, one)
            except _native.Refused as refused:
                raise Refused(list(_problems(refused))) from None
    return outcome[-1]


def _write(wanted: Dump, session: _native.Session, one: PastRun) -> None:
    """Write to the file, whole or not at all, or to standard output."""
    if wanted.path is None:
        _fill(wanted, session, one, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with results.draft(wanted.path) as draft:
        with draft.open("wb") as file:
            _fill(wanted, session, one, file)
        size = draft.stat().st_size
    note(f"{wanted.what} of run {one.run} in {wanted.path}: {count(size)} bytes")


def _fill(wanted: Dump, session: _native.Session, one: PastRun, file: BinaryIO) -> None:
    if wanted.what == "samples":
        _samples(wanted, session, one, file)
        return
    reading = indexed(session, one)
    if wanted.what == "series":
        _series(wanted, reading, file)
        return
    if wanted.what == "metrics":
        _text(reading.open_metrics(wanted.query.every_us), file)
        return
    report = json.loads(reading.report())
    slice_json = wanted.query.in_ticks_of(report).text()
    write = reading.histogram_log if wanted.what == "histograms" else reading.percentile_text
    _text([write(slice_json, uncorrected=wanted.uncorrected)], file)


def _series(wanted: Dump, reading: _native.Reading, file: BinaryIO) -> None:
    report = json.loads(reading.report())
    columns = series_columns(reading, report, wanted.query, wanted.by)
    if wanted.format == "parquet":
        extra("pyarrow.parquet", "--format parquet").write_table(series_arrow(columns), file)
    else:
        _text(series_lines(columns, wanted.format), file)


def _samples(wanted: Dump, session: _native.Session, one: PastRun, file: BinaryIO) -> None:
    form: Literal["vegeta", "json"] = "vegeta" if wanted.format == "csv" else "json"
    samples = session.read_samples(one.run, wanted.query.text(), form)
    if wanted.format == "parquet":
        parquet = extra("pyarrow.parquet", "--format parquet")
        with parquet.ParquetWriter(file, sample_schema()) as writer:
            for batch in sample_batches(samples):
                writer.write_table(batch)
    else:
        _text(iter(samples.text, None), file)
    read = json.loads(samples.read())
    if read["dropped"]:
        say(f"not in it: {plural(read['dropped'], 'call')} that found no room in the log")
    if read["unreadable"]:
        say(f"not in it: the calls of {plural(read['unreadable'], 'delta')} that cannot be read")


def _text(pieces: Iterable[str], file: BinaryIO) -> None:
    """Write text; a terminal gets every character that is not printable as an escape."""
    for piece in pieces:
        shown = safe_lines(piece.replace("\r\n", "\n")) if file.isatty() else piece
        file.write(shown.encode("utf-8", "backslashreplace"))


def _form(flags: DumpFlags, path: Path | None, problems: list[Problem]) -> tuple[str, str]:
    """Choose content and format from each other and the name of the file."""
    every = tuple(dict.fromkeys(one for formats in FORMATS.values() for one in formats))
    form = flags.format
    if form is None and path is not None:
        form = SUFFIXES.get(path.suffix)
        if form is None and path.suffix:
            named = ", ".join(SUFFIXES)
            problems.append(Problem("--output", f"must end in one of {named}, or add --format"))
    elif form is not None and form not in every:
        problems.append(one_of("--format", every, form))
        form = None
    what = flags.what
    if what is None:
        what = next(name for name, formats in FORMATS.items() if form is None or form in formats)
    elif what not in FORMATS:
        problems.append(one_of("--what", FORMATS, what))
        return "series", "csv"
    form = form or FORMATS[what][0]
    if form not in FORMATS[what]:
        allowed = " or ".join(FORMATS[what])
        problems.append(Problem("--format", f"must be {allowed} for {what} (got {form!r})"))
    return what, form


def _time(flag: str, text: str | None, problems: list[Problem]) -> int | None:
    try:
        return None if text is None else duration_us(flag, text)
    except Wrong as wrong:
        problems.append(wrong.problem)
        return None


def _percentiles(text: str | None, problems: list[Problem]) -> tuple[float, ...]:
    if text is None:
        return PERCENTILES
    try:
        return tuple(float(one) for one in text.split(","))
    except ValueError:
        problems.append(rule("--percentiles", "must be numbers such as 50,99,99.9", text))
        return PERCENTILES


def _problems(refused: _native.Refused) -> Iterator[Problem]:
    """Name the flags of the problems that the engine found."""
    for wrong in json.loads(refused.problems):
        place = FLAGS.get(wrong["field"], "RUN")
        yield Problem(place, f"{wrong['rule']} (got {wrong['value']})")
