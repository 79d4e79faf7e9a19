"""First builds: what each command takes in a new clone with empty caches.

    python3 bench/first_build.py [--commit COMMIT] [--warm] [COMMAND...]

COMMAND is the argument of ./dev (`demo`, `test`, `release`, `wheel`), `ci` for .ci/run, or `start`
for all commands of docs/start.md; default: all six. Each gets a clone and caches of its own for
cargo, uv, npm and pip, or with --warm those of this user; a toolchain of rustup stays. Prints rows
for bench/results/build.md. CPU time is that of all processes that the command started and waited
for. target/first-build keeps the output.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GIT = shutil.which("git") or "git"
PLACE = ROOT / "target" / "first-build"
COMMANDS = {
    "demo": ("./dev", "demo"),
    "test": ("./dev", "test"),
    "ci": (".ci/run",),
    "release": ("./dev", "release"),
    "wheel": ("./dev", "wheel"),
    "start": ("bash", "start.sh"),
}
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
CACHES = {
    "CARGO_HOME": "cargo",
    "UV_CACHE_DIR": "uv",
    "npm_config_cache": "npm",
    "PIP_CACHE_DIR": "pip",
    "XDG_CACHE_HOME": "cache",
}
LEAVE_OUT = ("CARGO_TARGET_DIR", "VIRTUAL_ENV", "PYO3_PYTHON", "LOADPILOT_NATS_SERVER")
"""Variables of the caller that would let a clone use builds of another tree."""


def main() -> None:
    """Measure each command and print a row for it."""
    parser = argparse.ArgumentParser(prog="bench/first_build.py", description=__doc__)
    parser.add_argument("--commit", default="HEAD", help="default: HEAD")
    parser.add_argument("--warm", action="store_true", help="use the caches of this user")
    parser.add_argument("commands", nargs="*", metavar="COMMAND", default=list(COMMANDS))
    args = parser.parse_args()
    print("| commit | command | wall, s | CPU, s | exit code |\n| -- | -- | -- | -- | -- |")
    for name in args.commands:
        print(f"| {args.commit} | {measure(name, args.commit, warm=args.warm)} |", flush=True)


def start_page(clone: Path) -> str:
    """Write the commands of the start page as a script: the wheel in the clone, the rest beside."""
    wheel, *others = BLOCK.findall((clone / "docs" / "start.md").read_text(encoding="utf-8"))
    return (
        f"set -eu\n{wheel}"
        'export WHEEL="$(echo "$PWD"/target/dist/loadpilot-*.whl)"\n'
        "mkdir ../service && cd ../service\n"
        "trap 'kill $(jobs -p)' EXIT\n"
        f"{''.join(others)}"
    )


def measure(name: str, commit: str, *, warm: bool) -> str:
    """Run one command in a new clone; returns the cells of its row."""
    folder = PLACE / name
    shutil.rmtree(folder, ignore_errors=True)
    clone = folder / "clone"
    subprocess.run([GIT, "clone", "--quiet", ROOT, clone], check=True)
    subprocess.run([GIT, "-C", clone, "checkout", "--quiet", commit], check=True)
    environ = {key: value for key, value in os.environ.items() if key not in LEAVE_OUT}
    if not warm:
        environ |= {key: str(folder / cache) for key, cache in CACHES.items()}
    if name == "start":
        (clone / "start.sh").write_text(start_page(clone), encoding="utf-8")
    argv = COMMANDS.get(name, ("./dev", name))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    with (folder / "output.txt").open("wb") as output:
        done = subprocess.run(
            argv, cwd=clone, env=environ, stdout=output, stderr=output, check=False
        )
    wall_secs = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_secs = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"`{' '.join(argv)}` | {wall_secs:.0f} | {cpu_secs:.0f} | {done.returncode}"


if __name__ == "__main__":
    main()
