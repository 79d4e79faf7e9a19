"""Keywords of ``loadpilot.run``: the flags of ``loadpilot run``, with Python's values.

A keyword is the flag's name with ``_``. Nothing is checked here but Python types: the command
checks the values, and its messages name the flags.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import get_origin

from ..problem import nearest, shown

LEFT_OUT = frozenset({"detach", "dry_run", "json", "output", "quiet", "verbose"})
"""Flags of the output of a command, and of a command that ends before the run is over."""
RENAMED = {"threshold": "thresholds", "tag": "tags"}
"""Flags whose keyword is in the plural, as in ``@scenario(…)``, since it has all values."""
STAGES = {"DURATION:RATE,...": "rate", "DURATION:USERS,...": "number of users"}
"""Types of flags that take stages, and the quantity that a stage moves to."""


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword and its flag."""

    name: str
    flag: str
    metavar: str
    """Type of the value as ``--help`` writes it; empty for a switch."""
    is_repeatable: bool
    help: str

    def written(self, value: object) -> list[str]:
        """Write a value as arguments of the command; None is no argument. Raises TypeError."""
        if value is None:
            return []
        if self.metavar == "":
            if not isinstance(value, bool):
                raise self._wrong("True or False", value)
            # A configuration may have turned it on.
            return [self.flag] if value else [f"{self.flag}=false"]
        return [f"{self.flag}={text}" for text in self._texts(value)]

    def _texts(self, value: object) -> list[str]:
        if self.metavar in STAGES and not isinstance(value, str) and isinstance(value, Sequence):
            return [",".join(self._stage(stage) for stage in value)]
        if self.is_repeatable and isinstance(value, Mapping):
            return [
                f"{key}={self._text(one)}"
                for key, values in value.items()
                for one in (values if isinstance(values, list) else [values])
            ]
        if self.is_repeatable and isinstance(value, Sequence) and not isinstance(value, str):
            return [self._text(one) for one in value]
        return [self._text(value)]

    def _stage(self, stage: object) -> str:
        if not isinstance(stage, Sequence) or isinstance(stage, str) or len(stage) != 2:
            raise self._wrong(f"pairs of a duration and a {STAGES[self.metavar]}", stage)
        return f"{self._text(stage[0])}:{self._text(stage[1])}"

    def _text(self, value: object) -> str:
        if not isinstance(value, str | int | float | os.PathLike):
            value = _builtin(value)
        if isinstance(value, bool) or not isinstance(value, str | int | float | os.PathLike):
            also = ", or a dict or list of them" if self.is_repeatable else ""
            raise self._wrong(f"text or a number{also}", value)
        return str(value)

    def _wrong(self, must: str, value: object) -> TypeError:
        return TypeError(f"run(): {self.name} must be {must} (got {shown(value)})")


def _builtin(value: object) -> object:
    """Convert a number of another package, such as numpy, to one of Python."""
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def keywords() -> dict[str, Keyword]:
    """Derive the keywords by name, in the order of the flags."""
    from ..cli.app import app  # noqa: PLC0415  (only a caller of run needs the flags)

    found = {}
    for argument in app["run"].assemble_argument_collection():
        name = argument.name.removeprefix("--").replace("-", "_")
        if not argument.name.startswith("--") or name in LEFT_OUT:
            continue
        keyword = Keyword(
            RENAMED.get(name, name),
            argument.name,
            str(argument.parameter.metavar),
            get_origin(argument.hint) is tuple,
            str(argument.parameter.help),
        )
        found[keyword.name] = keyword
    return found


def arguments(values: Mapping[str, object]) -> list[str]:
    """Write keywords as arguments of the command; raises TypeError for an unknown keyword."""
    known = keywords()
    for name in values:
        if name not in known:
            near = RENAMED.get(name) or nearest(name, known)
            hint = f"did you mean {near!r}?" if near else f"it takes {', '.join(known)}"
            raise TypeError(f"run() has no keyword {name!r}; {hint}")
    return [text for name, value in values.items() for text in known[name].written(value)]
