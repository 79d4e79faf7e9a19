"""Users leave nothing behind: no reference per user, and no crash when Python ends.

Each test has an interpreter of its own, since it counts all objects of the interpreter.
"""

from __future__ import annotations

import json
import os
import shutil
import site
import subprocess
import sys
from pathlib import Path

import pytest

STRESS = Path(__file__).parent / "stress"
ROUNDS, WARM = 9, 2
TIMES = {"rehearsed": 8, "sent": 5}
USERS = {"rehearsed": 8 * 25, "sent": 5 * 20}
"""How many users each round makes and lets go."""
LIMITS = {"objects": 2.0, "blocks": 4.0, "references": 0.2}
"""Most that may be left of a user, on average: less than the smallest thing that is its own.
A client that is not collected is 13 objects; one that is forgotten once is a reference to its
class."""


def run(python: str, script: str, *argv: str) -> subprocess.CompletedProcess[str]:
    # Another interpreter of the same version finds here what this environment has.
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(site.getsitepackages() + editable())}
    command = [python, str(STRESS / script), *argv]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=110, env=environ
    )


def editable() -> list[str]:
    """The product's own sources, which the environment finds by a .pth file."""
    import loadpilot  # noqa: PLC0415

    return [str(Path(loadpilot.__file__).parents[1])]


def grown(python: str, kind: str) -> None:
    ran = run(python, "leaks.py", kind, str(ROUNDS), str(TIMES[kind]))
    assert ran.returncode == 0, ran.stderr
    books = [json.loads(line) for line in ran.stdout.splitlines()][WARM:]
    assert len(books) == ROUNDS - WARM
    half = len(books) // 2
    users = USERS[kind] * (len(books) - half)
    for what, most in LIMITS.items():
        course = [book[what] for book in books]
        # The minimum of each half: what is about to end (a thread, a connection) is no growth.
        left = (min(course[-half:]) - min(course[:half])) / users
        assert left <= most, f"{left:.1f} {what} are left of each user: {books}"


@pytest.mark.slow
@pytest.mark.parametrize("kind", TIMES)
def test_users_leave_nothing_behind(kind: str) -> None:
    """Broken if an agent's memory grows with every user, task, failed check or ended request, or if
    the native module does not release a reference to a shared object."""
    grown(sys.executable, kind)


def debug_build() -> str | None:
    """A debug build of this CPython, which checks itself, if the machine has one."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    places = [f"python{version}d", f"python{version}-dbg", *map(str, pyenv.glob("*/bin/python"))]
    for place in places:
        found = shutil.which(place)
        asks = "import sys; sys.exit(sys.version_info[:2] != {} or not hasattr(sys, '{}'))"
        question = asks.format(tuple(sys.version_info[:2]), "gettotalrefcount")
        if found and subprocess.run([found, "-c", question], check=False).returncode == 0:
            return found
    return None


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rehearsed", pytest.param("sent", marks=pytest.mark.long)])
def test_users_break_no_rule_of_the_interpreter(kind: str) -> None:
    """Broken if the native module releases a reference that it never took, or calls Python without
    the lock."""
    python = debug_build()
    if python is None:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        pytest.skip(
            f"needs a debug build of CPython {version}: apt-get install python{version}-dbg"
        )
    grown(python, kind)


@pytest.mark.parametrize("kind", ["suspended", "sent"])
def test_the_interpreter_may_end_under_its_users(kind: str) -> None:
    """Broken if the end of Python crashes or hangs while users are suspended in a request."""
    ran = run(sys.executable, "exits.py", kind)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "left\n", "")
