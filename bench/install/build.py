"""The build that is measured: that of the project's environment, or a release wheel of this tree.

`./dev` makes the first: a development build, or a release after `./dev release`. A release wheel is
built here and unpacked beside the others, so that the project's environment stays as it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from loadpilot._native import DEVELOPMENT_BUILD

ROOT = Path(__file__).resolve().parents[2]
WHEELS = ROOT / "target" / "bench" / "wheels"
UNPACKED = ROOT / "target" / "bench" / "release"
NICE = ("nice", "-n", "10")
BYTECODE = ROOT / "target" / "bench" / "bytecode"


@dataclass(frozen=True)
class Build:
    """A way to run the command line."""

    name: str
    environ: dict[str, str] = field(repr=False)

    def command(self, *argv: str) -> list[str]:
        """Build the command line; it must run with `environ`."""
        return [str(ROOT / ".venv" / "bin" / "loadpilot"), *argv]


def installed() -> Build:
    """Use the build of the project's environment."""
    name = "development (./dev sync)" if DEVELOPMENT_BUILD else "release (./dev release)"
    return Build(name, _environ())


def release() -> Build:
    """Build a release wheel of this tree; takes minutes the first time."""
    manifest = ROOT / "sdk" / "Cargo.toml"
    maturin = ROOT / ".venv" / "bin" / "maturin"
    for old in WHEELS.glob("*.whl"):
        old.unlink()
    options: list[str | Path] = ["--release", "--quiet", "-m", manifest, "--out", WHEELS]
    subprocess.run([*NICE, maturin, "build", *options], check=True)
    (wheel,) = WHEELS.glob("*.whl")
    shutil.rmtree(UNPACKED, ignore_errors=True)
    with zipfile.ZipFile(wheel) as files:
        files.extractall(UNPACKED)
    return unpacked(UNPACKED, "release wheel")


def cargo(*packages: str, release: bool) -> Path:
    """Build packages of this tree; returns the folder of the binaries."""
    flags = ["--release"] if release else []
    argv = [*NICE, "cargo", "build", *flags, "--quiet", *packages]
    subprocess.run(argv, cwd=ROOT, check=True)
    return ROOT / "target" / ("release" if release else "debug")


def unpacked(folder: Path, name: str = "") -> Build:
    """Use a wheel that was unpacked before; the default name is its folder."""
    # It comes before the editable install on the path, for the children too.
    environ = _environ() | {"PYTHONPATH": str(folder.resolve())}
    return Build(name or f"the wheel unpacked in {folder}", environ)


def _environ() -> dict[str, str]:
    """Make Python keep its bytecode as it does for every user, in a folder of the bench's own.

    Some machines forbid it (PYTHONDONTWRITEBYTECODE); every start then compiles every module.
    """
    environ = dict(os.environ)
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    return environ | {"PYTHONPYCACHEPREFIX": str(BYTECODE)}
