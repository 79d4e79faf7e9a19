"""The file of a scenario that a Python program names: a path, a class of a file, or of a notebook.

Agents and the command load a scenario from its file, so that a class without one cannot run.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..dsl import spec_of
from ..errors import RunRefused
from ..problem import shown
from . import notebook

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class ScenarioSource:
    """A file, and the scenario in it if a class was named."""

    path: str
    name: str | None = None
    cells: str | None = None
    """Text of the file if it was made from the cells of a notebook."""

    def arguments(self) -> list[str]:
        """Write it as arguments of the command."""
        chosen = [] if self.name is None else [f"--scenario={self.name}"]
        path = self.path if not self.path.startswith("-") else f"./{self.path}"
        return [*chosen, path]

    def explained(self, message: str) -> str:
        """Name lines of a notebook by their text: their file is gone after the run."""
        if self.cells is None:
            return message
        return notebook.explained(message, Path(self.path).name, self.cells)


@contextmanager
def source_of(scenario: object) -> Iterator[ScenarioSource]:
    """Find the file of a scenario; that of a class of a notebook exists inside the block.

    Raises TypeError for neither a path nor a class, and RunRefused for a class that no process
    could load from a file.
    """
    if isinstance(scenario, str | os.PathLike):
        yield ScenarioSource(os.fspath(scenario))
        return
    if not isinstance(scenario, type):
        raise TypeError(f"run() takes a scenario class or a path (got {shown(scenario)})")
    name = scenario.__name__
    if spec_of(scenario) is None:
        raise RunRefused([f"{name}: is no scenario; mark the class with @scenario(…)"])
    if scenario.__qualname__ != name:
        inside = scenario.__qualname__.removesuffix(f".{name}").removesuffix(".<locals>")
        what = "define it at the top level of its file, where agents find it by its name"
        raise RunRefused([f"{name}: is defined inside {inside}; {what}"])
    path = getattr(sys.modules.get(scenario.__module__), "__file__", None)
    if path is not None and Path(path).is_file():
        yield ScenarioSource(path, name)
        return
    text = notebook.source_of(scenario)
    if text is None:
        what = "write it to a file, and give its path or import the class from there"
        raise RunRefused([f"{name}: its source is not available; {what}"])
    with notebook.written(text) as file:
        yield ScenarioSource(file, name, text)
