"""The files of a scenario that runs in Python: what agents need to load it, and nothing else.

Modules that lie beside the scenario travel with it, whatever is installed does not: agents have
their own. Equal files make equal bytes. Must never take in a file that nobody imported or named.
"""

from __future__ import annotations

import ast
import hashlib
import io
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..files import named_files
from ..problem import Problem, Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .load import Loaded

BUNDLE_BYTES_MAX = 64 * 1024 * 1024
"""Largest archive, in bytes: the largest object beside a plan."""
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every file in it: the oldest that the format knows."""
PREFIXES = tuple({Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix)})
"""Where Python and what is installed lies."""
INSTALLED = frozenset({"site-packages", "dist-packages", ".venv", "venv"})
"""Folders of which modules are installed, even when they lie beside the scenario."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """An archive of a scenario's files."""

    content: bytes
    file: str
    """The scenario's own file in it."""
    names: tuple[str, ...]
    """All files in it, sorted."""

    @property
    def sha256(self) -> str:
        """The hash under which it is kept."""
        return hashlib.sha256(self.content).hexdigest()


def bundle(loaded: Loaded, more: Iterable[Path] = ()) -> Bundle:
    """Pack the files of a scenario, and ``more``, which lie beside it too.

    Raises :class:`Refused` when they are too many.
    """
    file, paths, problems = _files(loaded)
    paths.update(more)
    if problems:
        raise Refused(problems)
    root = file.parent
    names = {path.relative_to(root).as_posix(): path for path in paths}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(names):
            entry = zipfile.ZipInfo(name, EPOCH)
            archive.writestr(entry, names[name].read_bytes(), zipfile.ZIP_DEFLATED)
    content = packed.getvalue()
    if len(content) > BUNDLE_BYTES_MAX:
        what = f"it and the files beside it come to {len(content):,} bytes, 64 MiB are the most"
        raise Refused([Problem(loaded.file.shown, what)])
    return Bundle(content, file.name, tuple(sorted(names)))


def beside(loaded: Loaded) -> list[Path]:
    """List the modules beside a scenario's file that it imports, sorted."""
    file, paths, _ = _files(loaded)
    return sorted(path for path in paths if path.suffix == ".py" and path != file)


def _files(loaded: Loaded) -> tuple[Path, set[Path], list[Problem]]:
    """Find a scenario's own file, all that belong to it, and what is missing."""
    file = Path(loaded.file.path).resolve()
    root = file.parent
    paths = {file, *_modules(root), *_named(root)}
    problems: list[Problem] = []
    for path in sorted(path for path in paths if path.suffix == ".py"):
        _follow(path, root, paths, problems)
    return file, paths, problems


def _modules(root: Path) -> list[Path]:
    """List the files of modules that were imported from beside the scenario."""
    found = []
    # Most are Python's own: told by their names alone, since to resolve them all takes 5 ms.
    own = tuple(f"{prefix}/" for prefix in PREFIXES if not root.is_relative_to(prefix))
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if not path or not str(path).endswith(".py") or str(path).startswith(own):
            continue
        resolved = Path(path).resolve()
        if _is_beside(resolved, root):
            found.append(resolved)
    return found


def _follow(path: Path, root: Path, paths: set[Path], problems: list[Problem]) -> None:
    """Add what functions of a file import or name only when they run, as far as it lies beside."""
    try:
        tree = ast.parse(path.read_bytes())
    except SyntaxError:
        return
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="file"), args=[ast.Constant(value=str() as name)]):
                found = _existing(path.parent / name, root)
                paths.update(found)
                if not found and _has_our_file(tree):
                    what = f"file({name!r}): there is no such file beside the scenario"
                    problems.append(Problem(f"{path.name}:{node.lineno}", what))
            case ast.Import() | ast.ImportFrom():
                for source in _sources(node, path, root):
                    new = _existing(source, root) - paths
                    paths.update(new)
                    for file in new:
                        _follow(file, root, paths, problems)


def _sources(node: ast.Import | ast.ImportFrom, path: Path, root: Path) -> Iterator[Path]:
    """List where the modules of an import would lie: each with the packages that it is in."""
    base, names = root, [one.name for one in node.names]
    if isinstance(node, ast.ImportFrom):
        if node.level > 0:
            base = path.parents[node.level - 1]
        # What is imported from a package may be a module of it.
        module = node.module or ""
        names = [module, *(f"{module}.{name}".lstrip(".") for name in names)]
    for name in names:
        parts = name.split(".") if name else []
        for end in range(len(parts) + 1):
            place = base.joinpath(*parts[:end])
            if end:
                yield place.with_suffix(".py")
            if end or base != root:
                yield place / "__init__.py"


def _has_our_file(tree: ast.Module) -> bool:
    """Whether ``file`` is what ``from loadpilot import file`` brings, and nothing else."""
    if any(isinstance(n, ast.Name) and n.id == "file" and not _is_load(n) for n in ast.walk(tree)):
        return False
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = [one.name for node in imports if node.module == "loadpilot" for one in node.names]
    return "file" in names


def _is_load(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Load)


def _existing(path: Path, root: Path) -> set[Path]:
    """Give a file that is there and lies beside the scenario, as a set; else an empty one."""
    try:
        resolved = path.resolve()
    except (OSError, RuntimeError, ValueError):  # no file, which is told where it is used
        return set()
    return {resolved} if _is_beside(resolved, root) and resolved.is_file() else set()


def _named(root: Path) -> list[Path]:
    """List the files that the scenario names with ``file(…)``."""
    beside = [one for one in named_files() if _is_beside(one.folder, root)]
    return [path for one in beside for path in _existing(one.folder / str(one.path), root)]


def _is_beside(path: Path, root: Path) -> bool:
    if not path.is_relative_to(root):
        return False
    # The interpreter itself may lie below the scenario's folder.
    if any(path.is_relative_to(prefix) and not root.is_relative_to(prefix) for prefix in PREFIXES):
        return False
    return not INSTALLED & set(path.relative_to(root).parts)
