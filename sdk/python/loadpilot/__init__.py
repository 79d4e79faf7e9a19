"""Load tests in Python, run at wire speed: what scenario files and programs import.

Every process of a run imports this package, and most of them need only the engine. Each public name
is therefore imported on first use.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

# Type checkers take a variable of this name for true; importing `typing` costs 6 ms.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from . import metrics
    from ._native import Response
    from .client import LoadClient
    from .dsl import VUser, scenario, setup, task, teardown
    from .errors import (
        GateFailed,
        HTTPStatusError,
        RedirectError,
        RequestError,
        RunFailed,
        RunInterrupted,
        RunRefused,
    )
    from .inputs.distribution import exponential, lognormal
    from .inputs.feeds import feed
    from .inputs.files import file
    from .inputs.params import env
    from .inputs.random import now, rand
    from .library.result import RunResult
    from .library.runner import run
    from .library.tables.run import Run
    from .library.tables.run import open as open  # noqa: A004  (as users call it)

    __version__: str

# `open` is no part of it: `from loadpilot import *` must not replace Python's own.
__all__ = [
    "GateFailed",
    "HTTPStatusError",
    "LoadClient",
    "RedirectError",
    "RequestError",
    "Response",
    "Run",
    "RunFailed",
    "RunInterrupted",
    "RunRefused",
    "RunResult",
    "VUser",
    "__version__",
    "env",
    "exponential",
    "feed",
    "file",
    "lognormal",
    "metrics",
    "now",
    "rand",
    "run",
    "scenario",
    "setup",
    "task",
    "teardown",
]

_MODULES = {
    "_native": ("Response",),
    "client": ("LoadClient",),
    "dsl": ("VUser", "scenario", "setup", "task", "teardown"),
    "errors": (
        *("GateFailed", "HTTPStatusError", "RedirectError", "RequestError"),
        *("RunFailed", "RunInterrupted", "RunRefused"),
    ),
    "inputs.feeds": ("feed",),
    "inputs.files": ("file",),
    "inputs.params": ("env",),
    "inputs.random": ("now", "rand"),
    "inputs.distribution": ("exponential", "lognormal"),
    "library.result": ("RunResult",),
    "library.runner": ("run",),
    "library.tables.run": ("Run", "open"),
}
"""The module of each public name."""


def __getattr__(name: str) -> Any:
    """Import a public name, or read the version, on first use; the result is kept."""
    from importlib import import_module

    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("loadpilot")
    elif name == "metrics":
        value = import_module(".metrics", __name__)
    elif module := next((module for module, names in _MODULES.items() if name in names), None):
        value = getattr(import_module(f".{module}", __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List all public names, imported or not."""
    return sorted({*globals(), *__all__, "open"})
