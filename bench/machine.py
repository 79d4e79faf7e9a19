"""What was measured on: the machine, the versions, the build. Must never change a thing."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def facts(build: str) -> list[tuple[str, str]]:
    """Name everything that a figure depends on, the load of the machine included."""
    load = ", ".join(f"{one:.2f}" for one in os.getloadavg())
    return [
        ("commit", _said("git", "-C", str(ROOT), "describe", "--always", "--dirty")),
        ("build", build),
        ("CPU", f"{_cpu()}, {os.cpu_count()} cores"),
        ("kernel", f"{platform.system()} {platform.release()}"),
        ("Python", platform.python_version()),
        ("rustc", _said("rustc", "--version")),
        ("nats-server", _said(str(ROOT / ".venv/bin/nats-server"), "--version")),
        ("load average before (1, 5, 15 min)", load),
    ]


def _cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or "unknown"
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1] if found else platform.machine()


def _said(*argv: str) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip()
