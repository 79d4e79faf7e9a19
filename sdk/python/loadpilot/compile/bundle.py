"""The files of a scenario that runs in Python: what agents need to load it, and nothing else.

Modules that lie beside the scenario travel with it, whatever is installed does not: agents have
their own. Equal files make equal bytes. Must never take in a file that nobody imported or named.
"""

from __future__ import annotations

import hashlib
import io
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..from_file import named_files
from .problem import Problem, Refused

if TYPE_CHECKING:
    from .load import Loaded

BUNDLE_BYTES_MAX = 64 * 1024 * 1024
"""Largest archive, in bytes: the largest object beside a plan."""
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every file in it: the oldest that the format knows."""
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


def bundle(loaded: Loaded) -> Bundle:
    """Pack the files of a scenario; raises :class:`Refused` when they are too many."""
    file = Path(loaded.file.path).resolve()
    root = file.parent
    paths = {file, *_modules(root), *_named(root)}
    names = {path.relative_to(root).as_posix(): path for path in paths}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(names):
            archive.writestr(zipfile.ZipInfo(name, EPOCH), names[name].read_bytes())
    content = packed.getvalue()
    if len(content) > BUNDLE_BYTES_MAX:
        what = f"it and the files beside it come to {len(content):,} bytes, 64 MiB are the most"
        raise Refused([Problem(loaded.file.shown, what)])
    return Bundle(content, file.name, tuple(sorted(names)))


def _modules(root: Path) -> list[Path]:
    """List the files of modules that were imported from beside the scenario."""
    found = []
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if not path or not str(path).endswith(".py"):
            continue
        resolved = Path(path).resolve()
        if _is_beside(resolved, root):
            found.append(resolved)
    return found


def _named(root: Path) -> list[Path]:
    """List the files that the scenario names with ``file(…)``."""
    paths = []
    for one in named_files():
        if not _is_beside(one.folder, root):  # of another scenario of this process
            continue
        try:
            path = (one.folder / str(one.path)).resolve()
        except (OSError, RuntimeError, ValueError):  # no file, which is told where it is used
            continue
        if _is_beside(path, root) and path.is_file():
            paths.append(path)
    return paths


def _is_beside(path: Path, root: Path) -> bool:
    if not path.is_relative_to(root):
        return False
    return not INSTALLED & set(path.relative_to(root).parts)
