"""How a flag is declared: its value, its text, its default and its group in ``--help``.

A flag that is off unless it is typed has no value and no default to show.
"""

from __future__ import annotations

from typing import Any, Literal

from cyclopts import Group, Parameter

REQUESTS = Group("Requests", sort_key=0)
MOST_USED = Group("Most used", sort_key=1)
LOAD = Group("Load", sort_key=2)
TARGET = Group("Target and connections", sort_key=3)
GATES = Group("Gates and results", sort_key=4)
FLEET = Group("Agents and fleet", sort_key=5)
CONFIGURATION = Group("Configuration", sort_key=6)
OUTPUT = Group("Output", sort_key=7)

Value = Literal[
    "",
    "1.1|2|auto",
    "4|6",
    "ADDRESS",
    "DIR",
    "DURATION",
    "DURATION:RATE,...",
    "DURATION:USERS,...",
    "FACTOR",
    "FILE",
    "FORMAT",
    "HASH",
    "HOST:PORT",
    "ID",
    "INT",
    "KEY",
    "KEY[,after=DURATION]",
    "KEY=LIMIT",
    "KIND=URI",
    "MODE",
    "NAME",
    "NAME,...|FILE",
    "NAME: VALUE",
    "NAME=INT",
    "NAME=VALUE",
    "NUMBER",
    "PERCENT",
    "PERCENT,...",
    "RATE",
    "RUN|FILE",
    "SHARE",
    "TOKEN",
    "URL",
    "WHAT",
    "always|never|SHARE",
    "START:STOP:STEP",
    "text|json",
    "text|json|csv|ndjson",
]
"""Types of values, as users know them."""
PATHS = frozenset({"DIR", "FILE", "KIND=URI", "NAME,...|FILE", "RUN|FILE"})
"""Types of values that may be a path, whose bytes may be in any encoding."""


def flag(group: Group, value: Value, text: str, *names: str, default: object = "") -> Parameter:
    """Declare a flag; its name is that of its field unless ``names`` has others."""
    return Parameter(
        name=names or None,
        group=group,
        metavar=value,
        help=text,
        show_default=str(default) or False,
        validator=None if value in PATHS else in_utf8,
    )


def in_utf8(_type: object, value: Any) -> None:
    """Check that the value of a flag is in UTF-8, which not every argument of a process is.

    Raises ValueError, which does not quote the value: it may be a secret.
    """
    for one in value if isinstance(value, tuple) else [value]:
        try:
            str(one).encode()
        except UnicodeEncodeError:
            raise ValueError("must be text in UTF-8") from None
