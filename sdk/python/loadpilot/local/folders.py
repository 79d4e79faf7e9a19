"""The logs of this directory: ``.loadpilot/log-1``, ``log-2`` and so on, one per stack.

Runs that were imported are files in ``.loadpilot/imported``.
"""

from __future__ import annotations

import re
from pathlib import Path

from .stack import STACK_FILE

ROOT = Path(".loadpilot")
"""Folder of the logs of a directory."""
AGENTS = "agents"
"""Folder of a log with the files that outlive an agent."""
REMAINS = ("spool", "ring")
"""Suffixes of the files of a run there; a spool first: rings alone hold nothing to report."""
IMPORTED = "imported"
"""Folder below the logs with the files of imported runs."""
CACHE = "cache"
"""Folder below the logs with indexed runs; it may be deleted at any time."""
FILES, FLEETS = "files", "fleets"
"""Folders there of the runs of run files and of fleets."""
INDEXED = ".reading"
"""Suffix of an indexed run there."""
RUN_FILE = ".lprun"
"""Suffix of a run in a file."""
NAME = re.compile(r"log-(\d+)")


def log_dirs(root: Path) -> list[Path]:
    """List the logs below ``root`` in the order of their numbers."""
    if not root.is_dir():
        return []
    found = [(int(m[1]), path) for path in root.iterdir() if (m := NAME.fullmatch(path.name))]
    return [path for _, path in sorted(found)]


def run_files(root: Path) -> list[Path]:
    """List the files of imported runs below ``root``, the oldest run first."""
    return sorted((root / IMPORTED).glob(f"*{RUN_FILE}"))


def cache_of(log: object) -> Path:
    """Find the folder of the indexed runs of a log; fleets share one, and so do run files."""
    if not isinstance(log, Path):
        return ROOT / CACHE / FLEETS
    return log.parent / CACHE / log.name if log.is_dir() else ROOT / CACHE / FILES


def running(root: Path) -> list[Path]:
    """List the logs below ``root`` with a stack file; that of a killed stack remains."""
    return [path for path in log_dirs(root) if (path / STACK_FILE).exists()]


def forget_remains(log_dir: Path, runs: list[str]) -> None:
    """Delete what killed agents and readers left of these runs; raises OSError."""
    forget_caches(log_dir, runs)
    for run in runs:
        for kind in REMAINS:
            for file in (log_dir / AGENTS).glob(f"{run}.*.{kind}"):
                file.unlink()


def forget_caches(log: Path, runs: list[str]) -> None:
    """Delete the indexed runs of a log; raises OSError."""
    for run in runs:
        (cache_of(log) / f"{run}{INDEXED}").unlink(missing_ok=True)
