"""Parameters of a scenario: ``env("NAME", "default")``.

The submitter of a run reads them once, and they travel with the plan: an agent uses these values
and ignores its own environment. Must never show the value of a secret.
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
"""Maximum size of a value, in bytes: a header can carry it."""


class ParameterError(ValueError):
    """A parameter is invalid or absent; the author or the submitter can fix it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that the scenario requested, with its value."""

    value: str
    is_secret: bool
    place: str
    """The line of the first request, ``shop.py:7``."""


@dataclass
class ParameterSource:
    """The source of parameter values, and the parameters requested so far."""

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    flags: Mapping[str, str] = field(default_factory=dict)
    """Values of ``--env``; they take precedence over the environment."""
    is_playing: bool = False
    """Whether this is an agent: then ``environ`` holds the values of the plan, and no other
    source is read."""
    requested: dict[str, Parameter] = field(default_factory=dict)

    def read(self, name: object, default: object, *, secret: bool, place: str) -> str:
        """Return the value of a parameter; raises ParameterError."""
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ParameterError(f"env({name!r}): {NAME_RULE}")
        if self.is_playing:
            if name not in self.environ:
                raise ParameterError(f"env({name!r}): {UNRECORDED}")
            return self.environ[name]
        value = self._lookup(name, default, secret=secret)
        before = self.requested.setdefault(name, Parameter(value, secret, place))
        if before.is_secret != secret:
            one = "a secret" if before.is_secret else "not a secret"
            raise ParameterError(
                f"env({name!r}): is {one} at {before.place}; declare it the same way"
            )
        if before.value != value:
            raise ParameterError(
                f"env({name!r}): has another default at {before.place}; a name has one value"
            )
        return value

    def _lookup(self, name: str, default: object, *, secret: bool) -> str:
        if default is not None and not isinstance(default, str):
            number = type(default).__name__
            raise ParameterError(
                f"env({name!r}): a default must be text, as values are (got {default!r}); "
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
        """Replace the values of secrets in a text with ``***``."""
        return masked(text, (one.value for one in self.requested.values() if one.is_secret))


def masked(text: str, secrets: Iterable[str]) -> str:
    """Replace secrets in a text with ``***``: plain, percent-encoded or with escaped quotes.

    The agent masks in the same way.
    """
    longest_first = sorted(filter(None, secrets), key=len, reverse=True)
    forms = ["".join(map(_pattern, secret)) for secret in longest_first]
    return re.sub("|".join(forms), MASK, text) if forms else text


def _pattern(char: str) -> str:
    """Return the pattern that matches one character in each of these forms."""
    plain = re.escape(char)
    encoded = "".join(f"%{byte:02x}" for byte in char.encode())
    more = {" ": "|[+]", "\\": r"|\\\\", "'": r"|\\'", '"': r'|\\"'}.get(char, "")
    return f"(?:{plain}|(?i:{encoded}){more})"


UNRECORDED = (
    "was not requested before the run, so the plan does not hold it; call env() at the top "
    "level of the file"
)
MASK = "***"
"""Replacement of a secret, the same as on agents."""

_source = ParameterSource()


def env(name: str, default: str | None = None, *, secret: bool = False) -> str:
    """Return the value of a parameter of the scenario.

    ``BASE = env("BASE", "/api")``

    The value is that of ``--env NAME=VALUE``, else that of the submitter's environment, else
    ``default``; without any of them the run does not start. It is always text. Plan and report
    show it, except for a secret: they hold only its name, and ``--env`` cannot set it. In a
    function the arguments must be literals, so that they are known before the run.
    """
    caller = sys._getframe(1)  # noqa: SLF001  (CPython's documented door)
    place = f"{os.path.basename(caller.f_code.co_filename)}:{caller.f_lineno}"  # noqa: PTH119
    return _source.read(name, default, secret=secret, place=place)


def parameter_source() -> ParameterSource:
    """Return the source that :func:`env` reads from."""
    return _source


def use_parameters_of(source: ParameterSource) -> None:
    """Make :func:`env` read from ``source``."""
    global _source  # noqa: PLW0603  (a scenario file asks a function, which has nowhere else to look)
    _source = source
