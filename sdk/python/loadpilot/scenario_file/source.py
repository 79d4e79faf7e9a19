"""Source files as text and syntax tree, and where things stand in them.

A function is found by the line that its code object names, so that the tree that is judged is the
code that Python runs. Must never guess between two candidates.
"""

from __future__ import annotations

import ast
import linecache
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from .constants import Bindings

if TYPE_CHECKING:
    from types import FunctionType


@dataclass(frozen=True)
class SourceFile:
    """One Python file that takes part in a scenario."""

    path: str
    """As Python names it in code objects."""
    tree: ast.Module
    """The whole of it."""

    @property
    def shown(self) -> str:
        """The path as people know it: relative when it lies below the working directory."""
        relative = os.path.relpath(self.path)
        return self.path if relative.startswith("..") else relative

    @property
    def name(self) -> str:
        """The path below the folder that the scenario's file lies in, for the file itself."""
        return Path(self.path).name

    @property
    def folder(self) -> str:
        """The folder that it lies in."""
        return str(Path(self.path).resolve().parent)

    def line(self, number: int) -> str:
        """What stands on a line, without the blanks around it."""
        return linecache.getline(self.path, number).strip()

    def at(self, line: int | ast.AST) -> str:
        """Name a line of this file."""
        number = line if isinstance(line, int) else getattr(line, "lineno", 1)
        return f"{self.shown}:{number}"

    @cached_property
    def bindings(self) -> Bindings:
        """Which names the module binds, and to what."""
        return Bindings.of(self.tree)

    def function(self, function: FunctionType) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """Find the definition of a function of this file; None when there is no single one."""
        line = function.__code__.co_firstlineno
        found = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name == function.__code__.co_name
            and min([node.lineno, *(d.lineno for d in node.decorator_list)]) == line
        ]
        return found[0] if len(found) == 1 else None

    def class_line(self, name: str) -> int:
        """Find the line where the last class of this name begins, decorators included; else 1."""
        lines = [
            min([node.lineno, *(d.lineno for d in node.decorator_list)])
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ClassDef) and node.name == name
        ]
        return lines[-1] if lines else 1


class Sources:
    """All files that were looked at, each parsed once."""

    def __init__(self) -> None:
        """Start with none."""
        self._files: dict[str, SourceFile | None] = {}

    def add(self, path: str, tree: ast.Module) -> SourceFile:
        """Take a file that was parsed already."""
        file = SourceFile(path, tree)
        self._files[path] = file
        return file

    def of(self, function: FunctionType) -> SourceFile | None:
        """Look up the file of a function; None when its source cannot be had."""
        path = function.__code__.co_filename
        if path not in self._files:
            self._files[path] = self._read(path)
        return self._files[path]

    @staticmethod
    def _read(path: str) -> SourceFile | None:
        text = "".join(linecache.getlines(path))
        if not text or not Path(path).is_file():
            return None
        try:
            return SourceFile(path, ast.parse(text, path))
        except SyntaxError:  # the file changed after Python had read it
            return None
