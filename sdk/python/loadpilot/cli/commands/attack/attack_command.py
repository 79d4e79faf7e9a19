"""The command ``loadpilot attack`` and its flags."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)
# ruff: noqa: TC001  (cyclopts reads annotations)

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from ....control.exit_code import ExitCode
from ...flags.run_flags import RunFlags
from .attack_flags import AttackFlags

NO_REQUESTS = AttackFlags()
DEFAULTS = RunFlags()


def attack(
    url: Annotated[
        str | None, Parameter(help="URL to send one request to, again and again.")
    ] = None,
    /,
    *,
    requests: Annotated[AttackFlags, Parameter(name="*")] = NO_REQUESTS,
    flags: Annotated[RunFlags, Parameter(name="*")] = DEFAULTS,
) -> ExitCode:
    """Send requests at a rate without a scenario: one URL, or a list of requests in turn.

    Lists are in the formats of vegeta. Without flags it sends 50 requests per
    second for a minute; flags of `run` that replace a setting of a scenario
    replace these. --output csv | ndjson writes every call to standard output.
    """
    from .attack_run import attack as execute

    return execute(url, requests, flags)
