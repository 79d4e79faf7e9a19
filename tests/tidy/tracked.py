"""What git tracks, as the tidy tests see it."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def tracked(*patterns: str) -> list[Path]:
    """List the tracked files that match, relative to the root; all without a pattern."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]
    listed = subprocess.run(
        [*command, *patterns],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    return [Path(name) for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def generated(path: Path) -> bool:
    """Say whether a tool wrote the file."""
    built = path.parts[:2] == ("proto", "schema") or "static" in path.parts
    return "_generated" in path.parts or built


def lines(path: Path) -> list[str]:
    """Read a file's lines."""
    return (ROOT / path).read_text(encoding="utf-8").split("\n")
