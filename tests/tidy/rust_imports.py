"""Imports between the files of a Rust crate, read from the sources without a compiler.

It reads `use` declarations, re-exports, and paths in the code such as `super::pacer::Pacer` or
`pacer::Pacer`. It leaves out tests within a file, and each `use` directly below a comment that
begins with `// Circle:`.
"""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

Name = tuple[str, ...]
"""A path from the root of a crate: `("schedule", "pacer", "Pacer")`."""

HIDDEN = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | r(\#*)".*?"\1 | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])'""",
    re.DOTALL | re.VERBOSE,
)
"""A comment or a literal."""
TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*mod\s+\w+\s*\{.*?^\}", re.DOTALL | re.MULTILINE)
USE = re.compile(r"(@circle\s+)?(\bpub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);")
BRACES = re.compile(r"([\w:]*)\{([^{}]*)\}")
PATH_IN_CODE = re.compile(r"(?<![\w:.])\w+(?:::\w+)+")
HOPS_MAX = 8
"""Maximum number of re-exports between an import and the file that defines its name."""


class Crate:
    """The files of one crate and their imports."""

    def __init__(self, sources: dict[str, str]) -> None:
        """Take the sources by their paths below `src`."""
        self.files = {module_of(file): file for file in sources}
        self._named: dict[Name, dict[str, Name]] = {}
        """By module: the path that each imported or re-exported name refers to."""
        self._used: dict[Name, list[Name]] = {}
        """By module: the paths that it imports, and those that its code refers to."""
        for module, file in self.files.items():
            self._read(module, sources[file])

    def _read(self, module: Name, source: str) -> None:
        code = HIDDEN.sub(lambda m: "@circle " if m[0].startswith("// Circle:") else "", source)
        code = TEST_MODULE.sub("", code)
        named: dict[str, Name] = {}
        used = self._used[module] = []
        for is_explained, is_public, tree in USE.findall(code):
            for path, name in leaves(tree):
                meant = self._resolve(module, path)
                if meant is not None and not is_explained:
                    named[name] = meant
                    # A parent re-exports a child, or the names of a module are not used yet.
                    is_export = is_public and meant[: len(module)] == module
                    used += [] if is_export or meant in self.files else [meant]
        self._named[module] = named
        for path in PATH_IN_CODE.findall(USE.sub("", code)):
            meant = self._resolve(module, tuple(path.split("::")))
            used += [] if meant is None else [meant]

    def _resolve(self, module: Name, path: Name) -> Name | None:
        """Return what a path means in a module; None: another crate, or a local name."""
        head, rest = path[0], path[1:]
        if head == "crate":
            return rest
        if head == "self":
            return module + rest
        if head == "super" and module:
            above = module[:-1]
            return self._resolve(above, rest) if rest[:1] == ("super",) else above + rest
        if head in self._named.get(module, {}):
            return self._named[module][head] + rest
        return module + path if (*module, head) in self.files else None

    def _definer(self, name: Name) -> Name:
        """Return the module that defines what a name refers to, through re-exports."""
        module = name
        for _ in range(HOPS_MAX):
            module = name
            while module not in self.files:
                module = module[:-1]
            rest = name[len(module) :]
            if not rest or rest[0] not in self._named[module]:
                break
            name = self._named[module][rest[0]] + rest[1:]
        return module

    def imports(self) -> dict[Name, dict[Name, Name]]:
        """List by module the modules that it imports, each with a name that it uses of them."""
        return {
            module: {of: name for name in used if (of := self._definer(name)) != module}
            for module, used in self._used.items()
        }

    def circle(self) -> list[str]:
        """Describe the imports of one circle of files; empty without one."""
        imports = self.imports()
        try:
            TopologicalSorter(imports).prepare()
        except CycleError as error:
            # Each element of graphlib's circle is imported by the next one.
            circle: list[Name] = error.args[1][::-1]
            return [
                f"{self.files[one]} imports {'::'.join(imports[one][of])} of {self.files[of]}"
                for one, of in pairwise(circle)
            ]
        return []


def module_of(file: str) -> Name:
    """Return the module that a file defines."""
    parts = file.removesuffix(".rs").split("/")
    return tuple(parts[:-1] if parts[-1] in {"lib", "mod"} else parts)


def leaves(tree: str) -> Iterator[tuple[Name, str]]:
    """Yield the paths of a use tree, each with the name that it gets."""
    tree = re.sub(r"\s*(::|[{},])\s*", r"\1", tree.strip())
    while BRACES.search(tree):
        tree = BRACES.sub(lambda m: ",".join(m[1] + leaf for leaf in m[2].split(",") if leaf), tree)
    for leaf in filter(None, tree.split(",")):
        path, _, alias = leaf.partition(" as ")
        name = tuple(path.removesuffix("::self").split("::"))
        yield name, alias or name[-1]
