"""Version, commit and build profile that the programs in Python print."""

from __future__ import annotations

import subprocess
from pathlib import Path

from .. import _native

PACKAGE = Path(__file__).parents[1]
GIT_SECS = 5.0
DESCRIBE = ("describe", "--always", "--dirty", "--exclude=*", "--abbrev=12")
"""Arguments of git, the same as those by which ``./dev wheel`` names the commit of a wheel."""


def build_text() -> str:
    """Write version, commit and build profile."""
    return _native.build_text(commit())


def commit() -> str | None:
    """Return the commit of the native module, in a checkout that of the Python sources.

    A development build does not hold its commit: otherwise each commit would compile it again.
    """
    return _native.COMMIT or checkout_commit(PACKAGE)


def checkout_commit(package: Path) -> str | None:
    """Return the commit of the checkout that holds the package; None where git knows none.

    An installed package below some other checkout is not a part of it.
    """
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    return _git(package, *DESCRIBE)


def _git(folder: Path, *arguments: str) -> str | None:
    """Run git; None when it is absent, fails or takes too long."""
    try:
        ran = subprocess.run(
            ["git", "-C", str(folder), *arguments],  # noqa: S607  (git of PATH, as users have it)
            capture_output=True,
            text=True,
            timeout=GIT_SECS,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return ran.stdout.strip()
