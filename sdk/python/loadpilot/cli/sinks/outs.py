"""The outputs of ``--out KIND=URI``, checked before anything is started."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ...problem import Problem, nearest, rule
from ..output import results

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FLAG = "--out"
FORMATS = {"csv": "csv", "json": "ndjson"}
"""Kinds of files, each with the name of its format in ``loadpilot dump``."""
KINDS = tuple(FORMATS)
STANDARD_OUTPUT = "-"
OUTS_MAX = 8
"""Maximum number of outputs: each has a thread."""


@dataclass(frozen=True, slots=True)
class Out:
    """An output of a run that goes on."""

    kind: str
    place: str
    """File or address, as it was written."""

    @property
    def path(self) -> Path | None:
        """Its file; None for standard output."""
        return None if self.place == STANDARD_OUTPUT else Path(self.place)

    @property
    def label(self) -> str:
        """Its name in messages."""
        return f"{self.kind}={self.place}"


@dataclass(frozen=True, slots=True)
class StandardOutput:
    """What else is written to standard output and to the terminal."""

    quiet: bool
    """Whether there is no live view."""
    prints_report: bool
    """Whether the report is the product of the command."""

    def problem(self) -> str | None:
        """Say why an output cannot be there; None when it can."""
        if self.prints_report:
            return "standard output has the report (--output json); name a file"
        if not self.quiet and _is_same(sys.stdout, sys.stderr):
            return "would mix with the live view; name a file, redirect it, or add --quiet"
        return None


def read_outs(
    texts: Sequence[str],
    others: Mapping[str, str | None],
    stdout: StandardOutput,
    problems: list[Problem],
) -> tuple[Out, ...]:
    """Read the outputs; ``others`` are the other files of the command by their flags."""
    outs = []
    taken = {Path(text).absolute(): flag for flag, text in others.items() if text is not None}
    if len(texts) > OUTS_MAX:
        problems.append(Problem(FLAG, f"must be at most {OUTS_MAX} outputs (got {len(texts)})"))
    for text in texts:
        kind, separator, place = text.partition("=")
        if not separator or not place:
            problems.append(rule(FLAG, "must be KIND=URI such as json=FILE", text))
        elif kind not in KINDS:
            near = nearest(kind, KINDS)
            hint = f"; did you mean {near}={place}?" if near is not None else ""
            problems.append(rule(FLAG, f"must be one of {', '.join(KINDS)}{hint}", kind))
        else:
            out = Out(kind, place)
            problems += _of_file(out, taken, stdout)
            taken[Path(place).absolute()] = f"{FLAG} {out.label}"
            outs.append(out)
    return tuple(outs)


def _of_file(out: Out, taken: Mapping[Path, str], stdout: StandardOutput) -> list[Problem]:
    where = Path(out.place).absolute()
    if where in taken:
        return [Problem(FLAG, f"{out.label} must be another file than that of {taken[where]}")]
    if out.path is not None:
        return results.problems(out.path, FLAG)
    problem = stdout.problem()
    return [] if problem is None else [Problem(FLAG, f"{out.label}: {problem}")]


def _is_same(one: TextIO, other: TextIO) -> bool:
    """Whether two streams end in the same file, pipe or terminal."""
    try:
        files = os.fstat(one.fileno()), os.fstat(other.fileno())
    except (OSError, ValueError):
        return False
    return os.path.samestat(*files) or (one.isatty() and other.isatty())
