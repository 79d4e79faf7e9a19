"""Unexpected exceptions: one line for the user, the trace in a file.

A trace must never be printed: it belongs in a bug report, and the line names its file.
"""

from __future__ import annotations

import os
import tempfile
import traceback

from ...control.terminal import safe, say

PREFIX, SUFFIX = "loadpilot-error-", ".txt"
"""File name of a trace in the folder for temporary files."""


def report(error: Exception) -> None:
    """Write the trace to a file that only its user can read, and print its path."""
    from ...inputs.params import parameter_source  # noqa: PLC0415  (most commands never come here)

    trace = parameter_source().masked("".join(traceback.format_exception(error)))
    last = traceback.format_exception_only(error)[-1].strip().splitlines()
    what = safe(parameter_source().masked(last[0] if last else type(error).__name__))
    try:
        place = _written(trace)
    except OSError as refused:
        place = f"(could not be written: {refused.strerror or refused})"
    say(f"error: internal error: {what}; trace: {place}")


def _written(trace: str) -> str:
    handle, path = tempfile.mkstemp(SUFFIX, PREFIX)
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(trace)
    return path
