"""One request of a targets file, and how its URL is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from ...problem import without_user
from ...request.encoding import METHODS, target_path
from ...request.headers import Secrets, plan_headers, with_auth

HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
"""Host and port of a URL."""

URL_RULE = "must be a URL such as http://host:port/path?query"


class Invalid(ValueError):
    """A part of a request that cannot be sent: what is wrong, and where in its text."""

    def __init__(self, what: str, part: str = "", column: int | None = None) -> None:
        """Take the mistake, and the invalid part of the line or its column, from 1."""
        super().__init__(what)
        self.part = part
        self.column = column


class Url(NamedTuple):
    """A URL as it is sent."""

    origin: str
    """Scheme, host and port."""
    path: str
    """Path with query."""
    headers: tuple[tuple[str, str], ...]
    """The credentials of the URL, as a header."""


@dataclass(frozen=True, slots=True)
class TargetRequest:
    """One request."""

    method: str
    origin: str
    """Scheme, host and port, ``http://host:8080``."""
    path: str
    """Path with query."""
    headers: tuple[tuple[str, str], ...] = ()
    """Names and values in their order; a name may come twice."""
    body: bytes = b""
    """Body; empty for none."""
    place: str = ""
    """File and line."""

    @property
    def bare_path(self) -> str:
        """The path without its query."""
        return self.path.partition("?")[0]


def checked_method(method: str) -> str:
    """Check a method; raises Invalid."""
    if method in METHODS:
        return method
    hint = f"; write {method.upper()}" if method.upper() in METHODS else ""
    shown = without_user(method)
    raise Invalid(f"the method must be one of {', '.join(METHODS)}{hint} (got {shown!r})", method)


def read_url(text: str) -> Url:
    """Read the URL of a request; raises Invalid, which shows no password."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise _invalid_url(text, error) from None
    host = parts.netloc.rpartition("@")[2]
    if parts.scheme not in {"http", "https"} or not HOST.fullmatch(host) or port == 0:
        raise Invalid(f"{URL_RULE} (got {without_user(text)!r})", text)
    headers: tuple[tuple[str, str], ...] = ()
    try:
        query = f"?{parts.query}" if parts.query else ""
        path = target_path((parts.path or "/") + query, None)
        if parts.username is not None:
            user = (unquote(parts.username), unquote(parts.password or ""))
            pairs = with_auth(None, user)
            assert isinstance(pairs, list)  # noqa: S101  (of no headers and a pair)
            headers = tuple(pairs)
    except ValueError as error:
        raise _invalid_url(text, error) from None
    return Url(f"{parts.scheme}://{host}", path, headers)


def _invalid_url(text: str, error: ValueError) -> Invalid:
    """Build the error of a URL; the error of the parser may quote a part of a password."""
    shown = without_user(text)
    why = f": {error}" if shown == text else "; in a password / is written %2F, and ? %3F"
    return Invalid(f"{URL_RULE}{why} (got {shown!r})", text)


def read_header(text: str) -> tuple[str, str]:
    """Read a header line, ``Name: value``; raises Invalid, which does not show the value."""
    name, colon, value = text.partition(":")
    name, value = name.strip(), value.strip()
    if not colon or not name or not value:
        raise Invalid("must be a header such as `Name: value`", text)
    check_header(name, value)
    return name, value


def check_header(name: object, value: object) -> None:
    """Check that a header can be sent; raises Invalid, which does not show the value."""
    try:
        plan_headers([(name, value)], None, Secrets())
    except ValueError as error:
        hint = "; a blank line ends a target" if " " in str(name) else ""
        raise Invalid(f"{error}{hint}", str(name)) from None
