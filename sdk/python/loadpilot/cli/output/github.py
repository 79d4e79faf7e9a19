"""A run in a workflow of GitHub: annotations, and the summary of the step.

Annotations are commands in the log (``::error title=...::text``); the runner reads them from
standard error as well, so that standard output stays the product of the command.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...control.terminal import safe, say, write_line
from .run_end import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .run_end import RunEnd

LEVELS = {Kind.DOUBTFUL: "warning", Kind.FAILURE: "error", Kind.ERROR: "error"}


def is_workflow(environ: Mapping[str, str]) -> bool:
    """Whether this command is a step of a workflow."""
    return environ.get("GITHUB_ACTIONS") == "true"


def announce(end: RunEnd, environ: Mapping[str, str]) -> None:
    """Annotate the failures of a run, and append the run to the summary of the step.

    Nothing happens outside of a workflow. A summary that cannot be written changes no exit code.
    """
    if not is_workflow(environ):
        return
    for case in end.cases:
        if case.kind in LEVELS:
            title = f"LoadPilot {safe(end.scenario)}: {case.name}"
            annotate(LEVELS[case.kind], title, case.text)
    path = environ.get("GITHUB_STEP_SUMMARY")
    if path is None:
        return
    from .markdown import markdown  # noqa: PLC0415  (only a workflow needs it)

    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(markdown(end) + "\n")
    except OSError as error:
        say(f"warning: GITHUB_STEP_SUMMARY: {path} could not be written: {error.strerror}")


def annotate_refusal(text: str, environ: Mapping[str, str]) -> None:
    """Annotate a mistake in a flag or a scenario."""
    if is_workflow(environ):
        annotate("error", "LoadPilot", text)


def annotate(level: str, title: str, text: str) -> None:
    """Print an annotation; ``say`` would make its command inert."""
    write_line(annotation(level, title, text))


def annotation(level: str, title: str, text: str) -> str:
    """Write the command of an annotation, one line."""
    escaped_title = _escaped(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={escaped_title}::{_escaped(text)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
