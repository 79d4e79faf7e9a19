"""``loadpilot run`` without a file: asks at the terminal what to run.

Files are listed by their syntax trees; nothing is loaded or started here.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import os
import shlex
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..control.exit_code import ExitCode
from ..control.terminal import note, safe, say
from ..scenario_file.scenario_list import FOLDER, scenario_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .flags.run_flags import RunFlags


def is_interactive() -> bool:
    """Whether questions can be asked: stdin and stderr are a terminal, and TERM is not dumb."""
    is_capable = os.environ.get("TERM", "dumb") != "dumb"
    return is_capable and sys.stdin.isatty() and sys.stderr.isatty()


def select(flags: RunFlags) -> tuple[str, RunFlags] | ExitCode:
    """Ask for a file, a scenario and a target; returns the file with its flags, or why not."""
    directory = Path.cwd()
    files = scenario_files(directory)
    if not files:
        where = FOLDER if (directory / FOLDER).is_dir() else directory
        say(f"error: no scenario file in {safe(str(where))}; write `loadpilot run scenario.py`")
        return ExitCode.USAGE
    from .scenario_browser import ScenarioBrowser

    with _environment():
        browser = ScenarioBrowser(
            files,
            asks_scenario=flags.scenario is None and not flags.share,
            asks_target=not flags.target,
        )
        chosen = browser.run()
    if browser.return_code:
        # Its error was printed.
        return ExitCode.INFRASTRUCTURE
    if chosen is None:
        say("nothing was chosen; nothing was started")
        return ExitCode.INTERRUPTED
    words = ["loadpilot", "run", chosen.file]
    if chosen.scenario is not None:
        flags = replace(flags, scenario=chosen.scenario)
        words += ["--scenario", chosen.scenario]
    if chosen.target is not None:
        flags = replace(flags, target=(chosen.target,))
        words += ["--target", chosen.target]
    note(safe(shlex.join(words)))
    return chosen.file, flags


@contextmanager
def _environment() -> Iterator[None]:
    """Keep NO_COLOR, which Textual removes, and which has no effect when it is empty."""
    before = os.environ.get("NO_COLOR")
    if before == "":
        del os.environ["NO_COLOR"]
    yield
    if before is not None:
        os.environ["NO_COLOR"] = before
