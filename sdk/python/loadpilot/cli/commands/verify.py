"""``loadpilot verify``: read the log of a run again and check each invariant.

The engine checks; this command prints the result. A log that could not be read to its end must
never look sound.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import _native
from ...control.exit_code import ExitCode
from ...control.run_list import OpenLogs, find_run, is_file, open_log
from ...control.signals import FirstEnds
from ...control.terminal import safe, write_product
from .history import UsageError, fleet_of, reporting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...control.nats_settings import ServerFlags

PUBLIC_KEY = re.compile("[A-Z2-7]{56}")


def verify(
    run: str, *, as_json: bool, known: str | None, key: str | None, server: ServerFlags
) -> ExitCode:
    """Check every invariant of one run's log.

    ``known`` is a results file to compare with, ``key`` the public key that must have signed the
    run's file.
    """
    with reporting(FirstEnds) as (interruptions, outcome), OpenLogs(interruptions) as logs:
        place = fleet_of(server)
        results = _results(known)
        if key is not None and not is_file(run):
            raise UsageError("--key: RUN must be a file of `loadpilot export --sign`")
        if key is not None and not PUBLIC_KEY.fullmatch(key):
            raise UsageError(f"--key: must be a public nkey, U… of 56 characters: {key!r}")
        one = find_run(run, logs, place)
        with open_log(one.log, logs) as session:
            text = session.verify(one.run, results)
        verification = json.loads(text)
        if key is not None:
            signed = signature(Path(run), key)
            verification["invariants"].append(signed)
            verification["holds"] &= signed["holds"]
            text = json.dumps(verification, separators=(",", ":"))
        lines = [text] if as_json else lines_of(verification)
        write_product("".join(f"{line}\n" for line in lines))
        if not verification["holds"]:
            outcome.append(ExitCode.INCOMPLETE)
    return outcome[-1]


def signature(file: Path, key: str) -> dict[str, Any]:
    """Check that ``key`` signed the file, as one more invariant."""
    signer = _native.run_file_signer(file)
    what = "it is not signed" if signer is None else f"{signer} signed it"
    evidence = {"subject": str(file), "seq": 0, "what": what}
    return {
        "invariant": "signature",
        "rule": f"the file is signed by {key}",
        "holds": signer == key,
        "evidence": [] if signer == key else [evidence],
        "more": 0,
    }


def _results(path: str | None) -> str | None:
    if path is None:
        return None
    must = f"--report: must be a results file of a run: {path}"
    try:
        text = Path(path).read_text(encoding="utf-8")
        report = json.loads(text)
    except (OSError, ValueError) as error:
        raise UsageError(f"{must}: {error}") from None
    if not isinstance(report, dict) or "digest" not in report:
        raise UsageError(f"{must}: it has no digest")
    return text


def lines_of(verification: dict[str, Any]) -> Iterator[str]:
    """Write a line for each invariant, with its violations below it."""
    events, deltas, late = (verification[key] for key in ("events", "deltas", "late_deltas"))
    after = f", {late} of them after the seal" if late else ""
    yield f"run {safe(verification['run'])}, {safe(verification['state'])}"
    yield f"read {events} events and {deltas} deltas{after}"
    yield f"digest {safe(verification['digest'])}"
    yield ""
    for finding in verification["invariants"]:
        mark = "ok      " if finding["holds"] else "VIOLATED"
        yield f"{mark}  {finding['invariant']:<12}{finding['rule']}"
        for one in finding["evidence"]:
            where = f"{one['subject']} at {one['seq']}" if one["seq"] else one["subject"]
            yield f"{'':<24}{safe(where)}: {safe(one['what'])}"
        if finding["more"]:
            yield f"{'':<24}and {finding['more']} more"
    broken = sum(not finding["holds"] for finding in verification["invariants"])
    total = len(verification["invariants"])
    yield ""
    yield f"{total - broken} of {total} invariants hold"
