"""``loadpilot model``: derives a load model from an access log, and writes one as Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ....control.terminal import note, safe
from ....inputs.units import Wrong, duration_us
from ....problem import Refused, rule
from ....scenario_file.load_model.log_summary import derive
from ....scenario_file.load_model.model import read
from ....scenario_file.load_model.python_source import python_source
from .new_file import write_new

if TYPE_CHECKING:
    from ....control.exit_code import ExitCode


def from_log(log: str, output: str | None, session_timeout: str, *, with_assets: bool) -> ExitCode:
    """Derive a model from a log."""

    def text() -> str:
        try:
            timeout_s = duration_us("--session-timeout", session_timeout) // 1_000_000
        except Wrong as wrong:
            raise Refused([wrong.problem]) from None
        if timeout_s == 0:
            raise Refused(
                [rule("--session-timeout", "must be a second or longer", session_timeout)]
            )
        derived = derive(Path(log), timeout_s, with_assets=with_assets)
        for reason, count in derived.left_out.most_common():
            note(f"left out: {count:,} {safe(reason)}")
        return derived.toml()

    return write_new(output, text)


def to_python(model: str, output: str | None) -> ExitCode:
    """Write a model as a scenario file."""
    return write_new(output, lambda: python_source(read(Path(model)), Path(model).name))
