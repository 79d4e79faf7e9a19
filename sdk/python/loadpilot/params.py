"""Parameters of a scenario: ``env("NAME", "default")``.

They are read once, where a run is submitted, and travel with its plan: agents get what was read
there, and their own environment does not matter. Must never show the value of a secret.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
NAME_RULE = "must be a name of letters, digits and _, 128 at most"
VALUE_BYTES_MAX = 16 * 1024
"""Longest value, in bytes: what a header can carry."""


class ParameterError(ValueError):
    """A parameter cannot be had; for whoever wrote the scenario or started the run."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a scenario asked for by name, and what it was given."""

    value: str
    is_secret: bool
    place: str
    """The line that asked first, ``shop.py:7``."""


@dataclass
class ParameterSource:
    """Where parameters come from, and which were asked for so far."""

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    flags: Mapping[str, str] = field(default_factory=dict)
    """What ``--env`` says; it goes before the environment."""
    is_playing: bool = False
    """On an agent ``environ`` is what the plan says, and there is nothing else."""
    requested: dict[str, Parameter] = field(default_factory=dict)

    def read(self, name: object, default: object, *, secret: bool, place: str) -> str:
        """Read one; raises ParameterError with a sentence."""
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ParameterError(f"env({name!r}): {NAME_RULE}")
        if self.is_playing:
            if name not in self.environ:
                raise ParameterError(f"env({name!r}): {UNRECORDED}")
            return self.environ[name]
        value = self._lookup(name, default, secret=secret)
        before = self.requested.setdefault(name, Parameter(value, secret, place))
        if before.is_secret != secret:
            one = "a secret" if before.is_secret else "no secret"
            raise ParameterError(f"env({name!r}): is {one} at {before.place}; say it the same way")
        if before.value != value:
            raise ParameterError(
                f"env({name!r}): has another default at {before.place}; a name has one value"
            )
        return value

    def _lookup(self, name: str, default: object, *, secret: bool) -> str:
        if default is not None and not isinstance(default, str):
            number = type(default).__name__
            raise ParameterError(
                f"env({name!r}): a value is text, and so is a default (got {default!r}); "
                f"write {number}(env({name!r}, {str(default)!r}))"
            )
        if secret and name in self.flags:
            raise ParameterError(
                f"env({name!r}): is a secret, which --env cannot give: others see command lines; "
                "set it in the environment"
            )
        value = self.flags.get(name, self.environ.get(name, default))
        if value is None:
            flag = "" if secret else f", as --env {name}=…"
            raise ParameterError(
                f"env({name!r}): is not set and has no default; set it in the environment{flag}, "
                f"or give a default: env({name!r}, default)"
            )
        assert isinstance(value, str), "a default is text"  # noqa: S101
        if secret and not value:
            raise ParameterError(f"env({name!r}): is a secret and is empty")
        try:
            size = len(value.encode())
        except UnicodeEncodeError:
            raise ParameterError(f"env({name!r}): its value is not text (UTF-8)") from None
        if size > VALUE_BYTES_MAX or "\0" in value:
            raise ParameterError(
                f"env({name!r}): its value must be at most {VALUE_BYTES_MAX:,} bytes without NUL "
                f"(it has {size:,})"
            )
        return value

    def masked(self, text: str) -> str:
        """Take the values of secrets out of a text."""
        return masked(text, (one.value for one in self.requested.values() if one.is_secret))


def masked(text: str, secrets: Iterable[str]) -> str:
    """Take secrets out of a text: as they are, percent-encoded, with their quotes escaped.

    Agents do the same (``fire/masks.rs``).
    """
    longest_first = sorted(filter(None, secrets), key=len, reverse=True)
    forms = ["".join(map(_written, secret)) for secret in longest_first]
    return re.sub("|".join(forms), MASK, text) if forms else text


def _written(sign: str) -> str:
    """Give the pattern of one character in whatever form."""
    plain = re.escape(sign)
    encoded = "".join(f"%{byte:02x}" for byte in sign.encode())
    more = {" ": "|[+]", "\\": r"|\\\\", "'": r"|\\'", '"': r'|\\"'}.get(sign, "")
    return f"(?:{plain}|(?i:{encoded}){more})"


UNRECORDED = (
    "was not asked for before the run, so that the plan does not hold it; ask for it at the top "
    "level of the file"
)
MASK = "***"
"""What is shown instead of a secret, as agents do."""

_source = ParameterSource()


def env(name: str, default: str | None = None, *, secret: bool = False) -> str:
    """Ask for a parameter of the scenario.

    ``BASE = env("BASE", "/api")``

    The value is that of ``--env NAME=VALUE``, else of the environment in which the run is
    submitted, else ``default``; with none of them nothing starts. It is always text. Plan and
    report show it, unless it is a secret: of that they have the name alone, and ``--env`` cannot
    give it. In a function the arguments must be literals, so that they are known before the run.
    """
    caller = sys._getframe(1)  # noqa: SLF001  (CPython's documented door)
    place = f"{os.path.basename(caller.f_code.co_filename)}:{caller.f_lineno}"  # noqa: PTH119
    return _source.read(name, default, secret=secret, place=place)


def parameter_source() -> ParameterSource:
    """Look up where parameters come from now."""
    return _source


def use_parameters_of(source: ParameterSource) -> None:
    """From now on parameters come from there; nothing was asked for yet."""
    global _source  # noqa: PLW0603  (a scenario file asks a function, which has nowhere else to look)
    _source = source
