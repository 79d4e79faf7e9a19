"""The `loadpilot` command with a local stack of two coordinators, for tests only.

Users need no second coordinator on one machine, so there is no flag. A fleet has any number.
"""

from __future__ import annotations

import sys

from loadpilot.cli import main
from loadpilot.local.stack import LocalStack

COUNT = "--coordinators"

start = LocalStack.__init__


def start_with_two(self: LocalStack, argv: list[str]) -> None:
    if COUNT in argv:
        at = argv.index(COUNT) + 1
        argv = [*argv[:at], "2", *argv[at + 1 :]]
    start(self, argv)


if __name__ == "__main__":
    LocalStack.__init__ = start_with_two  # type: ignore[method-assign]
    sys.exit(main())
