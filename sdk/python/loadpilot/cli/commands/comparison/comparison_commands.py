"""The commands that compare, and their flags: versus, compare."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)
# ruff: noqa: TC001  (cyclopts reads annotations)

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from ....control.exit_code import ExitCode
from ...flags.declaration import GATES, OUTPUT, flag
from ...flags.run_flags import VersusFlags
from ...flags.shared_flags import NO_SERVER, File, Json, Server

TWO_TARGETS = VersusFlags()


def versus(
    file: File = None,
    /,
    *,
    flags: Annotated[VersusFlags, Parameter(name="*")] = TWO_TARGETS,
) -> ExitCode:
    """Compare two targets under the same load at the same time.

    Every request of the scenario goes to both: pair by pair, in an order that the
    seed draws. Rates and users of the scenario are those of each target. What
    disturbs the machine disturbs both alike, so that differences of a few percent
    are found that two runs one after the other would miss. Takes at least 8 s of
    measured time. Exit code 3 when the figures cannot be trusted or compared.
    """
    from .versus import versus as execute

    return execute(file, flags)


def compare(
    current: Annotated[
        str, Parameter(help="Run to judge: an id, `last`, a .lprun file or a results file.")
    ],
    /,
    *baseline: Annotated[
        str,
        Parameter(
            help="Runs to compare it with; without any, .loadpilot/baseline.json, or else the "
            "newest run of the scenario that `loadpilot note --baseline` marked."
        ),
    ],
    threshold: Annotated[
        str,
        flag(GATES, "PERCENT", "Change for the worse that is a regression.", default="10"),
    ] = "10",
    explain: Annotated[
        bool,
        flag(
            OUTPUT,
            "",
            "Also print which task, call and phase changed a percentile, for which share of the "
            "requests, and when.",
        ),
    ] = False,
    max_rate: Annotated[
        bool,
        flag(
            GATES,
            "",
            "Compare the maximum working rates of two searches: CURRENT and BASELINE are ids of "
            "searches, `last`, or files of `search --output json`; without BASELINE the newest "
            "other search of the scenario.",
        ),
    ] = False,
    json: Json = False,
    server: Server = NO_SERVER,
) -> ExitCode:
    """Compare a run with earlier ones: exit code 1 for a regression beyond threshold and chance.

    Rate, p50, p95, p99 and errors of the run and of each task are judged. What
    varies as much within the runs, or between several runs of a baseline, is
    chance. Exit code 3 when a run's figures cannot be trusted.
    """
    from .compare import compare as execute

    return execute(
        current,
        list(baseline),
        threshold=threshold,
        explain=explain,
        max_rate=max_rate,
        as_json=json,
        server=server,
    )
