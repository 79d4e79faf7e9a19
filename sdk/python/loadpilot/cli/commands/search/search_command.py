"""The command ``loadpilot search``."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)
# ruff: noqa: TC001  (cyclopts reads annotations)

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from ....control.exit_code import ExitCode
from ...flags.shared_flags import File
from .search_flags import SearchFlags

DEFAULTS = SearchFlags()


def search(
    file: File = None,
    /,
    *,
    flags: Annotated[SearchFlags, Parameter(name="*")] = DEFAULTS,
) -> ExitCode:
    """Find the highest rate at which a target works: double until it fails, then bisect.

    Each probe is a run of the scenario at a constant rate. It fails when a gate
    fails, when more than 1 % of the calls are errors or of the arrivals are not
    started, or when its certificate is INVALID. The best rate has to pass again,
    as often as --confirm says. Exit code 1 when no rate works, 3 when no server
    answers or the search was not completed; --resume then goes on with it.
    """
    from .search_run import search as execute

    return execute(file, flags)
