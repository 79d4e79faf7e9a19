"""The demo: a small shop under load, from an empty folder to a verdict. `./dev demo` runs it.

It starts the demo target on a free port, runs examples/demo.py against it through the same command
that a user types, and prints where results and log are. The exit code is the run's. Flags of
`loadpilot run` may follow: `./dev demo --rps 300`. Must never judge the run or store anything
itself: the verdict, the results and the log are the product's.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
LOGS = Path(".loadpilot")
"""Folder of `loadpilot`'s logs; the demo runs in the root of the project."""
RESULTS = LOGS / "demo.json"
SCENARIO = Path("examples") / "demo.py"
TARGET_STOP_SECS = 5
"""Timeout for the target to end by itself."""
EXIT_INFRASTRUCTURE = 4
MEANINGS = {
    0: "every gate passed, and the run can be trusted",
    1: "a gate failed",
    2: "wrong flags; nothing was started",
    3: "the run cannot be trusted: see the certificate",
    4: "something of this machine failed",
    130: "stopped by Ctrl-C",
    143: "stopped by SIGTERM",
}
"""Meanings of the exit codes of `loadpilot run`."""


class DemoFault(Exception):
    """The demo target is missing or did not start; the message says what to do."""


def main(flags: list[str]) -> int:
    """Run the demo; returns the exit code of the run."""
    os.chdir(ROOT)
    try:
        with demo_target() as url:
            say(f"The demo target listens on {url}. Two agents load it for about ten seconds;")
            say("Ctrl-C stops early and still prints a summary.\n")
            code = run(url, flags)
    except DemoFault as fault:
        say(f"error: {fault}")
        return EXIT_INFRASTRUCTURE
    say(whereabouts(code))
    return code


@contextmanager
def demo_target() -> Iterator[str]:
    """Run the demo target on a free port and yield its address; raises DemoFault.

    The target leads a session of its own, so that Ctrl-C does not end it while the run drains. It
    ends with its standard input, so that it cannot outlive this process.
    """
    folder = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    binary = folder / "debug" / "loadpilot-target"
    if not binary.is_file():
        raise DemoFault(f"{binary} is missing: run `./dev demo`, which builds it")
    with subprocess.Popen(
        [binary, "--port", "0", "--until-eof"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None  # noqa: S101  (it is a PIPE)
        assert process.stdout is not None  # noqa: S101  (it is a PIPE)
        try:
            line = process.stdout.readline().strip()
            if not line.startswith("listening on "):
                raise DemoFault(f"{binary} did not start; it said {line!r}")
            yield line.removeprefix("listening on ")
        finally:
            process.stdin.close()
            try:
                process.wait(TARGET_STOP_SECS)
            except subprocess.TimeoutExpired:
                process.kill()


def run(url: str, flags: list[str]) -> int:
    """Run the scenario as a user would, and wait for its end even after a signal.

    The terminal sends Ctrl-C to the command as well, so this process ignores it. SIGTERM reaches
    this process alone, so it is passed on to the command.
    """
    argv = ["run", str(SCENARIO), "--target", url, "--agents", "2", "--results-json", str(RESULTS)]
    RESULTS.unlink(missing_ok=True)
    say(f"$ loadpilot {' '.join([*argv, *flags])}\n")
    before = signal.signal(signal.SIGINT, lambda *_: None)
    process = subprocess.Popen([sys.executable, "-m", "loadpilot", *argv, *flags])
    signal.signal(signal.SIGTERM, lambda *_: process.send_signal(signal.SIGTERM))
    try:
        return process.wait()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, before)


def whereabouts(code: int) -> str:
    """Write where results and log are, and the next commands to type."""
    ended = f"Exit code {code}: {MEANINGS.get(code, 'ended by a signal')}."
    try:
        run_id = json.loads(RESULTS.read_text(encoding="utf-8"))["run"]["id"]
    except (OSError, ValueError, KeyError):
        logs = f"; the logs are in {LOGS}/" if LOGS.is_dir() else ""
        return f"\n{ended} There is no report{logs}."
    return f"""
{ended} What this run left behind:
  run      {run_id}
  results  {RESULTS} (the whole report as JSON)
  log      {log_of(run_id) or LOGS}/ (all events in store/, and what each process wrote)

What to type next:
  ./dev loadpilot report {run_id}
           the same summary again, folded from the log alone
  ./dev loadpilot runs
           all runs of this folder
  ./dev demo --threshold p99_ms=0.01
           a gate that cannot hold: watch it fail"""


def log_of(run_id: str) -> Path | None:
    """Find the log that holds a run: the output of its coordinator names the run."""
    for log in sorted(LOGS.glob("log-*/coordinator.log")):
        if run_id in log.read_text(encoding="utf-8", errors="replace"):
            return log.parent
    return None


def say(text: str) -> None:
    """Print a line; flushed, since the command's own lines come between."""
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
