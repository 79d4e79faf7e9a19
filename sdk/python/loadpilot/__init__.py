"""Load tests in Python, run at wire speed: what a scenario file imports.

Must stay light: it imports nothing but the standard library and no part of the command line,
because its cost is paid before the first request of every run.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

from . import metrics
from .client import LoadClient
from .drawn import now, rand
from .dsl import VUser, scenario, setup, task, teardown
from .errors import HTTPStatusError, RedirectError, RequestError
from .from_env import env
from .from_feed import feed
from .from_file import file

__all__ = [
    "HTTPStatusError",
    "LoadClient",
    "RedirectError",
    "RequestError",
    "VUser",
    "__version__",
    "env",
    "feed",
    "file",
    "metrics",
    "now",
    "rand",
    "scenario",
    "setup",
    "task",
    "teardown",
]


def __getattr__(name: str) -> str:
    """Look the version up only when somebody asks for it: the look-up reads the disk."""
    if name == "__version__":
        from importlib.metadata import version

        return version("loadpilot")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
