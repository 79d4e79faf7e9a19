"""The machine, the versions and the build of a measurement. Only reads them."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "bench" / "scenarios"
SAMPLE_SECS = 1.0
"""Duration of a sample of the CPU's load."""
QUIET_PCT = 10.0
"""Maximum load of a quiet machine."""


def facts(build: str) -> list[tuple[str, str]]:
    """List the facts that a figure depends on, the load of the machine included."""
    load = ", ".join(f"{one:.2f}" for one in os.getloadavg())
    return [
        ("commit", printed_text("git", "-C", str(ROOT), "describe", "--always", "--dirty")),
        ("build", build),
        ("CPU", f"{_cpu()}, {os.cpu_count()} cores"),
        ("kernel", f"{platform.system()} {platform.release()}"),
        ("Python", platform.python_version()),
        ("rustc", printed_text("rustc", "--version")),
        ("nats-server", printed_text(str(ROOT / ".venv/bin/nats-server"), "--version")),
        ("load average before (1, 5, 15 min)", load),
    ]


def quiet(patience_secs: float) -> str:
    """Wait for a quiet machine, at most `patience_secs`; returns the load then."""
    give_up = time.monotonic() + patience_secs
    while (busy := _busy_pct()) >= QUIET_PCT and time.monotonic() < give_up:
        pass
    return f"{busy:.0f} %"


def _busy_pct() -> float:
    """Share of all cores that was busy, in percent."""
    before = _jiffies()
    time.sleep(SAMPLE_SECS)
    after = _jiffies()
    spent = [b - a for a, b in zip(before, after, strict=True)]
    idle = spent[3] + spent[4]
    return 100 * (1 - idle / max(1, sum(spent)))


def _jiffies() -> list[int]:
    """Jiffies of all cores since boot: user, nice, system, idle, iowait, irq, softirq, steal."""
    first = Path("/proc/stat").read_text(encoding="utf-8").partition("\n")[0]
    return [int(field) for field in first.split()[1:9]]


def _cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or "unknown"
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1] if found else platform.machine()


def printed_text(*argv: str) -> str:
    """Read the text that a program prints, on either stream and with any exit code."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip() or done.stderr.strip() or "unknown"
