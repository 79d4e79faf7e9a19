"""``loadpilot ui``: the runs of this directory in a browser.

The gateway is a package of its own: no other command may import it.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

from typing import TYPE_CHECKING

from ....control.exit_code import ExitCode
from ....control.terminal import say
from ....inputs.units import parse_int
from ...flags.agent_flags import AGENTS_MAX
from ...output.refusal import refuse

if TYPE_CHECKING:
    from ....problem import Problem

PORT_MAX = 65_535


def ui(*, port: str | None, agents: str | None, browser: bool) -> ExitCode:
    """Serve the web UI until the user ends it."""
    problems: list[Problem] = []
    count = parse_int("--agents", agents or "1", 1, AGENTS_MAX, problems)
    number = parse_int("--port", port, 0, PORT_MAX, problems) if port is not None else None
    if problems:
        return refuse(problems)
    try:
        from loadpilot_gateway.ui import Ui
    except ModuleNotFoundError as missing:
        say(f"error: the web UI needs the package loadpilot-gateway ({missing})")
        say("nothing was started")
        return ExitCode.USAGE
    return Ui(count).serve(number, browser=browser)
