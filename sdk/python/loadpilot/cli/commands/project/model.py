"""``loadpilot model``: derives a load model from an access log, and writes one as Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ....control.exit_code import ExitCode
from ....control.terminal import note, safe, say, write_product
from ....inputs.units import Wrong, duration_us
from ....problem import Problem, Refused, rule
from ....scenario_file.load_model.log_summary import derive
from ....scenario_file.load_model.model import read
from ....scenario_file.load_model.python_source import python_source
from ...output.refusal import refuse
from ...output.results import draft, problems

if TYPE_CHECKING:
    from collections.abc import Callable

NOTHING = "nothing was written"


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

    return _write(output, text)


def to_python(model: str, output: str | None) -> ExitCode:
    """Write a model as a scenario file."""
    return _write(output, lambda: python_source(read(Path(model)), Path(model).name))


def _write(output: str | None, text: Callable[[], str]) -> ExitCode:
    """Write a text to a file that is not there yet, or to standard output."""
    try:
        if output is None:
            write_product(text())
            return ExitCode.PASSED
        path = Path(output)
        found = problems(path, "--output")
        if path.exists() and not found:
            found = [Problem("--output", f"{output} is there already; name a new file")]
        if found:
            return refuse(found, NOTHING)
        written = text()
    except Refused as refused:
        return refuse(refused.problems, NOTHING)
    try:
        with draft(path) as file:
            file.write_text(written, encoding="utf-8")
    except OSError as error:
        say(f"error: --output: {safe(output)} could not be written: {error.strerror}")
        return ExitCode.INFRASTRUCTURE
    note(f"wrote {safe(output)}")
    return ExitCode.PASSED
