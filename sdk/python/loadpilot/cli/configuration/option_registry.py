"""The options that a configuration may set: those of all commands that take every option."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from .option import PREFIX, Option, options_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from cyclopts.argument import ArgumentCollection


@dataclass(frozen=True)
class KnownOptions(Mapping[str, Option]):
    """The options by key, those of the command itself first.

    The arguments of the other commands are read when a key is not the command's own: reading them
    takes as long as the rest of the start of a command.
    """

    own: Mapping[str, Option]
    read_all: Callable[[], Iterable[ArgumentCollection]]

    def __getitem__(self, key: str) -> Option:
        """Return the option of a key."""
        return self.own[key] if key in self.own else self._all[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys of all commands."""
        return iter(self._all)

    def __len__(self) -> int:
        """Count the options of all commands."""
        return len(self._all)

    def of_variable(self, variable: str) -> Option | None:
        """Return the option that an environment variable sets; None for another variable."""
        option = self.get(variable.removeprefix(PREFIX).lower())
        return option if option is not None and option.variable == variable else None

    @cached_property
    def _all(self) -> dict[str, Option]:
        known: dict[str, Option] = {}
        for every in self.read_all():
            known = options_of(every) | known
        return known | dict(self.own)
