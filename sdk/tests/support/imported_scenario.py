"""Scenarios that are written from files of other tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from loadpilot.scenario_file.imports.imported_scenario import Imported
from loadpilot.scenario_file.imports.prepare import prepare
from loadpilot.scenario_file.imports.python_source import python_source
from loadpilot.scenario_file.imports.source import Source

Read: TypeAlias = Callable[[Source], Imported]


def written(read: Read, source: Source) -> str:
    """Read a file and write its scenario; raises Refused."""
    imported = read(source)
    return python_source(imported, prepare(imported, source).names)
