"""The target of a run.

A source that is present but empty is an error; the next source must never be used instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ...problem import Problem, rule, without_user

if TYPE_CHECKING:
    from collections.abc import Sequence

FLAG = "--target"
DEFAULT = "http://localhost:8000"
DEFAULT_PLACE = "the default target"
"""Place of the default, where nothing names a target."""
RULE = "must be http://host[:port][/path] or https://host[:port][/path], without user or query"
SEGMENT = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._~!$&'()*+,;=:@%-]+")
"""A segment of the base path."""


@dataclass(frozen=True, slots=True)
class Target:
    """A target, those that take turns with it, and the place that names them."""

    url: str
    place: str
    others: tuple[str, ...] = ()


def resolve(urls: Sequence[str], place: str = FLAG) -> Target:
    """Return the targets that the source at ``place`` names, else the default."""
    if not urls:
        return Target(DEFAULT, DEFAULT_PLACE)
    first, *others = map(_trimmed, urls)
    return Target(first, place, tuple(others))


def problems(target: Target) -> list[Problem]:
    """Check targets: each must be an origin, optionally with a base path."""
    urls = (target.url, *target.others)
    return [one for url in urls for one in _problems(replace(target, url=url))]


def _problems(target: Target) -> list[Problem]:
    url = target.url
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return [rule(target.place, RULE, without_user(url))]
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
    return [] if is_valid else [rule(target.place, RULE, without_user(url))]


def _trimmed(url: str) -> str:
    """Drop blanks and one slash at the end: paths of calls begin with their own slash."""
    url = url.strip()
    return url[:-1] if url.endswith("/") and not url.endswith("//") else url
