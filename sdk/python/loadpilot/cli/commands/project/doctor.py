"""``loadpilot doctor``: problems that keep runs from working on this machine, and their mends.

A check must never hang, change anything outside a temporary folder, or show a secret.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from ....control.exit_code import ExitCode
from ....control.figures import plural
from ....control.terminal import safe, say, write_product
from ...configuration.sources import current
from ...doctor.clock import clocks
from ...doctor.finding import State
from ...doctor.fleet import fleet
from ...doctor.installation import certificates, extras, nats_server, versions
from ...doctor.limits import limits
from ...doctor.stack import local_stack
from ...flags.fleet import read_place
from ...output.refusal import refuse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....control.coordinator_address import Api
    from ....control.nats_settings import Server, ServerFlags
    from ....problem import Problem
    from ...doctor.finding import Finding
    from ...flags.coordinator_flags import ApiFlags

MARKS = {State.OK: "✓", State.WARNING: "!", State.PROBLEM: "✗"}
WIDTH = max(len(name) for name in ("monotonic clock", "fleet coordinator", "loadpilot-gateway"))


def doctor(server: ServerFlags, api: ApiFlags, *, as_json: bool) -> ExitCode:
    """Print each finding; exit code 4 when there is a problem."""
    problems: list[Problem] = []
    place = read_place(server, api, current().environ, problems)
    if problems:
        return refuse(problems, "nothing was checked")
    findings = []
    for finding in checks(place):
        findings.append(finding)
        if not as_json:
            write_product("".join(f"{line}\n" for line in lines(finding)))
    found = [one.state for one in findings]
    is_ok = State.PROBLEM not in found
    if as_json:
        result = {"ok": is_ok, "findings": [asdict(one) for one in findings]}
        write_product(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    else:
        say(_summary(found.count(State.PROBLEM), found.count(State.WARNING)))
    return ExitCode.PASSED if is_ok else ExitCode.INFRASTRUCTURE


def checks(place: Server | Api | None) -> Iterator[Finding]:
    """Run every check, the quick ones first."""
    yield from versions()
    yield from extras()
    yield nats_server()
    yield certificates()
    yield from limits()
    yield from clocks()
    yield local_stack()
    if place is not None:
        yield from fleet(place)


def lines(finding: Finding) -> Iterator[str]:
    """Write a finding, and below it how to mend it."""
    yield f"  {MARKS[finding.state]} {finding.check:<{WIDTH}}  {safe(finding.what)}"
    if finding.mend is not None:
        yield f"    {'':<{WIDTH}}  → {safe(finding.mend)}"


def _summary(problems: int, warnings: int) -> str:
    if not problems and not warnings:
        return "nothing is wrong"
    return f"{plural(problems, 'problem')}, {plural(warnings, 'warning')}"
