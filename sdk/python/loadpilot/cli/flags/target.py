"""The target of a run.

A source that is present but empty is an error; the next source must never be used instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from ...problem import Problem, rule

FLAG = "--target"
DEFAULT = "http://localhost:8000"
DEFAULT_PLACE = "the default target"
"""Place of the default, where nothing names a target."""
RULE = "must be http://host[:port][/path] or https://host[:port][/path], without user or query"
SEGMENT = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._~!$&'()*+,;=:@%-]+")
"""A segment of the base path."""


@dataclass(frozen=True, slots=True)
class Target:
    """A target and the place that names it."""

    url: str
    place: str


def resolve(url: str | None, place: str = FLAG) -> Target:
    """Return the target that the source at ``place`` names, else the default."""
    return Target(DEFAULT, DEFAULT_PLACE) if url is None else Target(_trimmed(url), place)


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


def _without_user(url: str) -> str:
    """Hide a user and password in the target."""
    return re.sub(r"//[^/@]*@", "//…@", url)
