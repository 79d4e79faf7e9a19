"""Message and exit code of a refused command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...control.exit_code import ExitCode
from ...control.terminal import safe_lines, say
from ...inputs.params import parameter_source
from ..configuration.sources import current

if TYPE_CHECKING:
    from ...problem import Problem


def refuse(problems: list[Problem], outcome: str = "nothing was started") -> ExitCode:
    """Print every problem, and that nothing was done."""
    from .github import annotate_refusal  # noqa: PLC0415  (start-up is a promise)

    for problem in problems:
        text = safe_lines(parameter_source().masked(str(current().named(problem))))
        say(f"error: {text}")
        annotate_refusal(text, os.environ)
    if len(problems) > 1:
        say(f"{len(problems)} errors; {outcome}")
    else:
        say(outcome)
    return ExitCode.USAGE
