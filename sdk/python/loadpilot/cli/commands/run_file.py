"""``loadpilot export`` and ``loadpilot import``: a run as one file, which needs no server.

An import copies the file: the records stay those of the log that they come from.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from ...control.figures import count, plural
from ...control.run_list import OpenLogs, every_run, find_run, open_log, past_run
from ...control.signals import FirstEnds
from ...control.terminal import safe, say
from ...local.folders import IMPORTED, ROOT, RUN_FILE
from ..output import results
from .history import UsageError, fleet_of, reporting

if TYPE_CHECKING:
    from ...control.exit_code import ExitCode
    from ...control.nats_settings import ServerFlags


def export(run: str, file: str, *, redact: bool, sign: str | None, server: ServerFlags) -> ExitCode:
    """Write one run to a file, all of it or nothing."""
    with reporting(FirstEnds) as (interruptions, outcome), OpenLogs(interruptions) as logs:
        place = fleet_of(server)
        path = Path(file)
        problems = results.problems(path, "FILE")
        if path.suffix != RUN_FILE:
            raise UsageError(f"FILE: must end in {RUN_FILE} (got {file!r})")
        if problems:
            raise UsageError("; ".join(map(str, problems)))
        seed = _seed(sign)
        one = find_run(run, logs, place)
        with open_log(one.log, logs) as session, results.draft(path) as draft:
            written = json.loads(session.export(one.run, draft, redact=redact, seed=seed))
        say(
            f"run {one.run} is in {path}: {plural(written['records'], 'record')}, "
            f"{count(written['bytes'])} bytes{', redacted' if redact else ''}"
            f"{', signed' if seed else ''}"
        )
        if written["objects_gone"]:
            gone = plural(written["objects_gone"], "object")
            say(f"not in it: {gone} of its plan, which the log has no more")
    return outcome[-1]


def import_file(file: str) -> ExitCode:
    """Copy the file of a run into this directory, where all commands find it."""
    with reporting() as (interruptions, outcome):
        one = past_run(str(Path(file).absolute()), interruptions, None)
        if any(known.run == one.run for known in every_run(interruptions)):
            raise UsageError(f"run {one.run} is in this directory already")
        path = ROOT / IMPORTED / f"{one.run}{RUN_FILE}"
        with results.draft(path) as draft:
            shutil.copyfile(file, draft)
        say(f"run {one.run} ({safe(one.facts['scenario'])}, {one.state}) is in {path}")
    return outcome[-1]


def _seed(sign: str | None) -> str | None:
    if sign is None:
        return None
    try:
        return Path(sign).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--sign: must be a file with the seed of an nkey: {error}") from None
