"""Source files as text and syntax tree, with lookup of functions and lines.

A function is found by the line in its code object, so that the checked tree is the code that Python
runs. Of two candidates neither is taken.
"""

from __future__ import annotations

import ast
import linecache
import os
import sys
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING

from .constants import Bindings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class SourceFile:
    """A Python file of a scenario."""

    path: str
    """The path as in code objects."""
    tree: ast.Module
    """The syntax tree of the file."""

    @cached_property
    def shown(self) -> str:
        """The path for messages: relative if it lies below the working directory."""
        relative = os.path.relpath(self.path)
        return self.path if relative.startswith("..") else relative

    @property
    def name(self) -> str:
        """The name of the file in the bundle of its scenario."""
        return Path(self.path).name

    @property
    def folder(self) -> str:
        """The folder of the file, resolved."""
        return str(Path(self.path).resolve().parent)

    def line(self, number: int) -> str:
        """Return the text of a line, without surrounding blanks."""
        return linecache.getline(self.path, number).strip()

    def at(self, line: int | ast.AST) -> str:
        """Return the place of a line for messages, ``shop.py:7``."""
        number = line if isinstance(line, int) else getattr(line, "lineno", 1)
        return f"{self.shown}:{number}"

    @cached_property
    def bindings(self) -> Bindings:
        """The names that the module binds, and their values."""
        return Bindings.of(self.tree)

    def function(self, function: FunctionType) -> Definition | None:
        """Find the definition of a function of this file; None unless it is unique."""
        code = function.__code__
        found = self._definitions.get((code.co_name, code.co_firstlineno), [])
        return found[0] if len(found) == 1 else None

    @cached_property
    def _definitions(self) -> Mapping[tuple[str, int], Sequence[Definition]]:
        """All functions of the file by name and first line: one walk serves all lookups."""
        found = defaultdict(list)
        for node in ast.walk(self.tree):
            if isinstance(node, Definition):
                found[node.name, _first_line(node)].append(node)
        return found

    def class_line(self, name: str) -> int:
        """Return the first line, decorators included, of the last class of this name; else 1."""
        lines = [
            _first_line(node)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ClassDef) and node.name == name
        ]
        return lines[-1] if lines else 1


def _first_line(node: Definition | ast.ClassDef) -> int:
    """Return the first line of a definition, decorators included."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


class Sources:
    """Cache of parsed files."""

    def __init__(self) -> None:
        """Create it empty."""
        self._files: dict[str, SourceFile | None] = {}

    def add(self, path: str, tree: ast.Module) -> SourceFile:
        """Add a file that is parsed already."""
        file = SourceFile(path, tree)
        self._files[path] = file
        return file

    def of(self, function: FunctionType) -> SourceFile | None:
        """Return the file of a function; None when its source is not available."""
        return self._file(function.__code__.co_filename)

    def of_class(self, cls: type) -> SourceFile | None:
        """Return the file of a class; None when its source is not available."""
        path = getattr(sys.modules.get(cls.__module__), "__file__", None)
        return self._file(path) if isinstance(path, str) else None

    def _file(self, path: str) -> SourceFile | None:
        if path not in self._files:
            self._files[path] = self._read(path)
        return self._files[path]

    def place_of(self, attribute: object, default: str) -> str:
        """Return file and line of a method, however decorated; ``default`` without its source."""
        function = getattr(attribute, "__func__", attribute)
        if isinstance(function, FunctionType):
            file = self.of(function)
            if file is not None:
                return file.at(function.__code__.co_firstlineno)
        return default

    @staticmethod
    def _read(path: str) -> SourceFile | None:
        text = "".join(linecache.getlines(path))
        if not text or not Path(path).is_file():
            return None
        try:
            return SourceFile(path, ast.parse(text, path))
        except SyntaxError:  # the file changed after Python had read it
            return None
