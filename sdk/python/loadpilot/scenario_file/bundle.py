"""The bundle: an archive of the files that agents need to load a scenario that runs in Python.

It holds the scenario's file, the modules beside it that are imported, and the files named with
``file(…)`` or used as feeds, but for large files of rows. Installed packages are left out: agents
have their own. Equal files make equal bytes.
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

from ..inputs.files import named_files
from ..problem import Problem, Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .load import Loaded

BUNDLE_BYTES_MAX = 64 * 1024 * 1024
"""Maximum size of the archive, in bytes: that of the largest object beside a plan."""
EPOCH = (1980, 1, 1, 0, 0, 0)
"""Date of every file in the archive: the earliest of the zip format."""
PREFIXES = tuple({Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix)})
"""Folders of Python and its installed packages."""
INSTALLED = frozenset({"site-packages", "dist-packages", ".venv", "venv"})
"""Names of folders with installed packages, even beside the scenario."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """An archive of a scenario's files."""

    content: bytes
    file: str
    """Name of the scenario's own file in the archive."""
    names: tuple[str, ...]
    """Names of all files in the archive, sorted."""

    @property
    def sha256(self) -> str:
        """The key of the bundle in the object store, in hex."""
        return hashlib.sha256(self.content).hexdigest()


def bundle(loaded: Loaded, more: Iterable[Path] = ()) -> Bundle:
    """Pack the files of a scenario, and ``more`` files beside it.

    Raises :class:`Refused` for a missing file or an archive above the limit.
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
        what = f"its bundle has {len(content):,} bytes, the maximum is 64 MiB"
        raise Refused([Problem(loaded.file.shown, what)])
    return Bundle(content, file.name, tuple(sorted(names)))


def imported_beside(loaded: Loaded) -> list[Path]:
    """List the modules beside a scenario's file that it imports, sorted."""
    file, paths, _ = _files(loaded)
    return sorted(path for path in paths if path.suffix == ".py" and path != file)


def _files(loaded: Loaded) -> tuple[Path, set[Path], list[Problem]]:
    """Find a scenario's own file, all files of its bundle, and the missing ones."""
    file = Path(loaded.file.path).resolve()
    root = file.parent
    paths = {file, *_modules(root), *_named(root)}
    problems: list[Problem] = []
    for path in sorted(path for path in paths if path.suffix == ".py"):
        _follow(path, root, paths, problems)
    return file, paths, problems


def _modules(root: Path) -> list[Path]:
    """List the files of imported modules that lie beside the scenario."""
    found = []
    # Most modules are Python's own: skipped by prefix, since resolving all paths takes 5 ms.
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
    """Add the files beside the scenario that functions of a file import or name when they run."""
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
    """List the possible files of the modules of an import, with those of their packages."""
    base, names = root, [one.name for one in node.names]
    if isinstance(node, ast.ImportFrom):
        if node.level > 0:
            base = path.parents[node.level - 1]
        # A name imported from a package may be one of its modules.
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
    """Whether ``file`` in this module is only ever that of ``from loadpilot import file``."""
    if any(isinstance(n, ast.Name) and n.id == "file" and not _is_load(n) for n in ast.walk(tree)):
        return False
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = [one.name for node in imports if node.module == "loadpilot" for one in node.names]
    return "file" in names


def _is_load(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Load)


def _existing(path: Path, root: Path) -> set[Path]:
    """Return a set of the path if it is a file beside the scenario, else an empty set."""
    try:
        resolved = path.resolve()
    except (OSError, RuntimeError, ValueError):  # an invalid path is reported where it is used
        return set()
    return {resolved} if _is_beside(resolved, root) and resolved.is_file() else set()


def _named(root: Path) -> list[Path]:
    """List the files that the scenario names with ``file(…)``."""
    files = [file for file in named_files() if _is_beside(file.folder, root)]
    return [path for file in files for path in _existing(file.folder / str(file.path), root)]


def _is_beside(path: Path, root: Path) -> bool:
    if not path.is_relative_to(root):
        return False
    # The interpreter itself may lie below the scenario's folder.
    if any(path.is_relative_to(prefix) and not root.is_relative_to(prefix) for prefix in PREFIXES):
        return False
    return not INSTALLED & set(path.relative_to(root).parts)
