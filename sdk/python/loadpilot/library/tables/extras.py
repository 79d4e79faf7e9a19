"""Optional packages: imported when they are needed, and named when they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class MissingPackage(ImportError):
    """A command or a method needs a package that is not installed."""


def extra(package: str, what: str, installed_as: str | None = None) -> Any:
    """Import an optional package; ``what`` needs it. Raises MissingPackage.

    The name of a module inside a package installs the package, unless ``installed_as`` is another.
    """
    try:
        return import_module(package)
    except ImportError:
        name = installed_as or package.split(".", maxsplit=1)[0]
        text = f"{what} needs the package {name}; install it with: pip install {name}"
        raise MissingPackage(text) from None
