"""The target of a run: from the flag, the environment, the ``.env`` file, or the default.

A source that is present but empty is an error; the next source must never be used instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ...problem import Problem, rule

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

VARIABLE = "LOADPILOT_TARGET"
DEFAULT = "http://localhost:8000"
DEFAULT_PLACE = "the default target"
"""Place of the default, where nothing names a target."""
RULE = "must be http://host[:port][/path] or https://host[:port][/path], without user or query"
SEGMENT = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._~!$&'()*+,;=:@%-]+")
"""A segment of the base path."""
LINE = re.compile(rf"\s*(?:export\s+)?{VARIABLE}\s*=(.*)")


@dataclass(frozen=True, slots=True)
class Target:
    """A target and the place that names it."""

    url: str
    place: str


def resolve(flag: str | None, environ: Mapping[str, str], folder: Path) -> Target:
    """Find the target: flag, then environment, then ``.env`` in ``folder``, then the default."""
    if flag is not None:
        return written(flag)
    if VARIABLE in environ:
        return Target(_trimmed(environ[VARIABLE]), VARIABLE)
    line = _from_file(folder / ".env")
    if line is not None:
        return Target(_trimmed(line), f".env: {VARIABLE}")
    return Target(DEFAULT, DEFAULT_PLACE)


def written(url: str) -> Target:
    """Take a target as a user wrote it."""
    return Target(_trimmed(url), "--target")


def problems(target: Target) -> list[Problem]:
    """Check a target: it must be an origin, optionally with a base path."""
    url = target.url
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return [rule(target.place, RULE, url)]
    is_valid = (
        parts.scheme in {"http", "https"}
        and parts.hostname
        and all(SEGMENT.fullmatch(segment) for segment in parts.path.split("/")[1:])
        and "@" not in parts.netloc
        and not any(mark in url for mark in "?#\\")
        and url.isascii()
        and url.isprintable()
        and " " not in url
    )
    return [] if is_valid else [rule(target.place, RULE, _without_user(url))]


def _trimmed(url: str) -> str:
    """Drop blanks and one slash at the end: paths of calls begin with their own slash."""
    url = url.strip()
    return url[:-1] if url.endswith("/") and not url.endswith("//") else url


def _from_file(path: Path) -> str | None:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    found = [match[1].strip() for line in lines if (match := LINE.fullmatch(line))]
    return _unquoted(found[-1]) if found else None


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text.split(" #", 1)[0].strip()


def _without_user(url: str) -> str:
    """Hide a user and password in the target."""
    return re.sub(r"//[^/@]*@", "//…@", url)
