"""Where each option of this command was set: for messages, the opening and a dry run."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...control.coordinator_address import shown
from ...control.terminal import safe
from ...problem import Problem
from .option import FILE, SECRET, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .option import Option, Setting

COMMAND_LINE = "command line"
ROW_CHARS_MAX = 60
"""Maximum length of a shown option with its value, in characters."""
FLAG = re.compile(r"--[a-z0-9]+(?:-[a-z0-9]+)*")
HIDDEN = "(hidden)"


@dataclass(slots=True)
class Sources:
    """The places of the options of a command."""

    places: dict[str, str] = field(default_factory=dict)
    """Place of each flag that was set elsewhere than on the command line."""
    rows: list[tuple[str, str]] = field(default_factory=list)
    """Each option that was set, with its source; secrets are hidden."""
    unused: list[tuple[str, str]] = field(default_factory=list)
    """Places of settings that were not used, with the settings that replace them."""
    warnings: list[str] = field(default_factory=list)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    """The environment, and below it the variables of ``.env``."""
    allow_target: tuple[str, ...] = ()
    """Open targets, for commands that start agents without a flag for them."""

    def place(self, flag: str) -> str:
        """Return the place of a flag as messages name it."""
        return self.places.get(flag, flag)

    def named(self, problem: Problem) -> Problem:
        """Make a problem name the places of the flags in it."""
        if not self.places:
            return problem

        def place(match: re.Match[str]) -> str:
            return self.place(match[0])

        first, blank, rest = problem.place.partition(" ")
        return Problem(f"{self.place(first)}{blank}{rest}", FLAG.sub(place, problem.what))

    def add(self, option: Option, settings: list[Setting]) -> None:
        """Note the sources of an option, in the order of precedence.

        A switch that is off, and the file on the command line, get no row.
        """
        places = [one.place for one in settings]
        if places != [option.flag]:
            self.places[option.flag] = " and ".join(places)
        if option.kind is Kind.SWITCH and not settings[0].is_set:
            return
        if option.key == FILE and places == [option.flag]:
            return
        for setting in settings:
            source = COMMAND_LINE if setting.place == option.flag else setting.place
            self.rows += [(text, source) for text in _written(option, setting)]

    def drop(self, flag: str, other: str) -> None:
        """Note that a configured option is not used; ``other`` replaces it."""
        place = self.places.pop(flag, None)
        if place is None:
            return
        self.rows = [row for row in self.rows if not row[0].startswith(f"{flag} ")]
        self.unused.append((place, other))

    def lines(self, scenario: Iterable[tuple[str, str]] = ()) -> Iterator[str]:
        """Write each setting with its source, a line each, and those that were not used.

        ``scenario`` has the rows of settings that the scenario makes.
        """
        rows = [*self.rows, *((_cut(text), source) for text, source in scenario)]
        width = max((len(text) for text, _ in rows), default=0)
        yield from (f"{text:<{width}}  {source}" for text, source in rows)
        yield from (f"not used: {place}, replaced by {other}" for place, other in self.unused)


def _written(option: Option, setting: Setting) -> Iterator[str]:
    """Write an option as it would be typed."""
    name = "" if option.key == FILE else f"{option.flag} "
    if option.kind is Kind.SWITCH:
        yield name.strip()
        return
    for text in setting.texts:
        value = _shown(option, text)
        yield _cut(f"{name}{value}")


def _cut(text: str) -> str:
    return safe(text if len(text) <= ROW_CHARS_MAX else f"{text[: ROW_CHARS_MAX - 1]}…")


def _shown(option: Option, text: str) -> str:
    """Hide a value that is a secret, or may be one."""
    if option.key in SECRET:
        return HIDDEN
    if option.key == "env":
        return f"{text.partition('=')[0]}=…"
    if option.key == "header":
        return f"{text.partition(':')[0]}: …"
    if option.key == "out":
        address, mark, query = text.partition("?")
        return f"{shown(address)}{mark}{without_values(query)}" if "://" in text else text
    return ",".join(map(shown, text.split(","))) if option.key.endswith("_url") else text


def without_values(query: str) -> str:
    """Hide the values in the query of an address, any of which may be a password."""
    parts = (part.partition("=") for part in query.split("&"))
    return "&".join(f"{name}=…" if equals else "…" for name, equals, _ in parts) if query else ""


_CURRENT = [Sources()]


def current() -> Sources:
    """Return the sources of the command that was read last."""
    return _CURRENT[-1]


def remember(sources: Sources) -> None:
    """Make these the sources of the current command."""
    _CURRENT[:] = [sources]
