"""Load tests in Python, run at wire speed: what a scenario file imports.

Must stay light: it imports nothing but the standard library and no part of the command line,
because its cost is paid before the first request of every run.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import metrics
from .client import LoadClient
from .drawn import now, rand
from .dsl import VUser, scenario, setup, task, teardown
from .errors import HTTPStatusError, RedirectError, RequestError
from .from_env import env
from .from_feed import feed
from .from_file import file

if TYPE_CHECKING:
    from ._native import Response

    __version__: str

__all__ = [
    "HTTPStatusError",
    "LoadClient",
    "RedirectError",
    "RequestError",
    "Response",
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


def __getattr__(name: str) -> Any:
    """Look up what costs time only when somebody asks: the version, a class of the engine."""
    if name == "__version__":
        from importlib.metadata import version

        return version("loadpilot")
    if name == "Response":
        from ._native import Response

        return Response
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
