"""Request headers: which may be set, and which values are secrets.

The plan holds a handle in place of a secret, whose value is kept apart. No message may quote the
value of a header, because it may be a secret.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from .encoding import EncodedBody

HeaderValue: TypeAlias = str | dict[str, str]
"""Text, or ``{"secret": handle}``."""

SECRET_STEMS = ("auth", "cookie", "passw", "secret", "session", "token")
"""Parts of words in the names of headers with secret values."""
PUBLIC_WORDS = frozenset({"author", "authority", "authors", "tokens"})
"""Words with one of these parts that do not indicate a secret."""
PUBLIC_NAMES = frozenset(
    {"idempotency-key", "sec-websocket-key", "surrogate-key", "x-idempotency-key"}
)
"""Headers whose names end in "key" although their values are not secret."""
WORDS = re.compile(r"[a-z0-9]+")

FORBIDDEN: Mapping[str, str] = {
    "content-length": "the engine counts the body itself",
    "transfer-encoding": "the engine frames the body itself",
    "connection": "the engine manages its connections itself",
    "keep-alive": "the engine manages its connections itself",
    "upgrade": "the engine speaks HTTP only",
    "te": "the engine frames the body itself",
    "trailer": "the engine sends no trailers",
    "expect": "the engine sends the body at once",
}
"""Headers that a scenario may not set, in lower case, with the reason."""

TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


@dataclass
class Secrets:
    """The secret values of a scenario by handle; equal values share one handle."""

    names: frozenset[str] = frozenset()
    """Additional names of secret headers, in lower case."""
    parameter_values: frozenset[str] = frozenset()
    """Values of secret parameters: a value that contains one is secret, too."""
    _handles: dict[str, str] = field(default_factory=dict)

    def with_names(self, more: Iterable[str]) -> Secrets:
        """Create an empty store that also treats the header names ``more`` as secret."""
        return Secrets(frozenset(name.lower() for name in more), self.parameter_values)

    def handle(self, header: str, value: str) -> str:
        """Store a value; returns its handle, made of the header's name and a number."""
        if value not in self._handles:
            self._handles[value] = f"{header.lower()}-{len(self._handles) + 1}"
        return self._handles[value]

    def found_in(self, what: object) -> bool:
        """Whether any text in a value, however nested, contains that of a secret parameter."""
        match what:
            case _ if not self.parameter_values:
                return False
            case str():
                return any(text in what for text in self.parameter_values)
            case bytes() | bytearray():
                return any(text.encode() in what for text in self.parameter_values)
            case Mapping():
                return any(self.found_in(pair) for pair in what.items())
            case list() | tuple():
                return any(map(self.found_in, what))
            case _:
                return False

    def values(self) -> dict[str, str]:
        """Return all values by handle."""
        return {handle: value for value, handle in self._handles.items()}


def is_secret_name(name: str, more: frozenset[str] = frozenset()) -> bool:
    """Whether the name of a header indicates a secret value, or is one of ``more``.

    The plan's checker has the same rule.
    """
    lower = name.lower()
    if lower in more:
        return True
    return lower not in PUBLIC_NAMES and any(
        word.endswith("key")
        or (word not in PUBLIC_WORDS and any(stem in word for stem in SECRET_STEMS))
        for word in WORDS.findall(lower)
    )


def is_secret_entry(key: str, more: frozenset[str] = frozenset()) -> bool:
    """Whether the key of a dict in code counts as the name of a secret header.

    Fields of bodies are keys of dicts, too; a key counts as a header only if it has a hyphen or is
    well known. The plan's checker has the same rule.
    """
    lower = key.lower()
    is_header = lower in {"authorization", "cookie"} or "-" in lower
    return lower in more or (is_header and is_secret_name(lower))


def with_auth(headers: object, auth: object) -> object:
    """Add the header of ``auth=(user, password)`` to the headers of a request (RFC 7617)."""
    match auth:
        case None:
            return headers
        case (str() as user, str() as password) if ":" not in user:
            credentials = b64encode(f"{user}:{password}".encode()).decode()
            return [*_pairs(headers), ("Authorization", f"Basic {credentials}")]
        case _:
            raise ValueError("auth= must be a pair of texts, (user, password)")


def with_cookies(headers: object, cookies: object) -> object:
    """Add the header of ``cookies={"name": "value"}`` to the headers of a request."""
    match cookies:
        case None:
            return headers
        case Mapping() if all(isinstance(text, str) for pair in cookies.items() for text in pair):
            pairs = "; ".join(f"{name}={value}" for name, value in cookies.items())
            return [*_pairs(headers), ("Cookie", pairs)] if pairs else headers
        case _:
            raise ValueError("cookies= must be a dict of names to text")


def plan_headers(
    written: object, body: EncodedBody | None, secrets: Secrets
) -> list[dict[str, HeaderValue]]:
    """Build the headers of a step from those that the scenario wrote, in their order.

    Raises ValueError with one line for each header that cannot be sent.
    """
    pairs = _pairs(written)
    wrong = [problem for name, value in pairs for problem in _problems(name, value)]
    names = [name.lower() for name, _ in pairs if isinstance(name, str)]
    wrong += [
        f"header {name!r} is given twice" for name in sorted(set(names)) if names.count(name) > 1
    ]
    if wrong:
        raise ValueError("\n".join(wrong))
    headers: list[dict[str, HeaderValue]] = []
    for name, value in pairs:
        secret = is_secret_name(name, secrets.names) or secrets.found_in(value)
        planned: HeaderValue = {"secret": secrets.handle(name, value)} if secret else value
        headers.append({"name": name, "value": planned})
    if body is not None and body.content_type is not None and "content-type" not in names:
        headers.append({"name": "Content-Type", "value": body.content_type})
    return headers


def _pairs(headers: object) -> list[tuple[Any, Any]]:
    if headers is None:
        return []
    if isinstance(headers, Mapping):
        return list(headers.items())
    if isinstance(headers, list | tuple) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in headers
    ):
        return [(name, value) for name, value in headers]
    raise ValueError(f"headers= must be a dict of names to text, not a {type(headers).__name__}")


def _problems(name: object, value: object) -> list[str]:  # noqa: PLR0911  (one line per rule)
    if not isinstance(name, str):
        return [f"header names must be text, not {type(name).__name__}"]
    if not TOKEN.fullmatch(name):
        return [f"header name {name!r} must consist of letters, digits and !#$%&'*+-.^_`|~"]
    why = FORBIDDEN.get(name.lower())
    if why is not None:
        return [f"header {name!r} cannot be set: {why}"]
    if not isinstance(value, str):
        return [f"header {name!r} must have text as its value, not {type(value).__name__}"]
    if any(c in value for c in "\r\n\0"):
        return [f"header {name!r} has a line break or NUL in its value"]
    if any(c != "\t" and not " " <= c <= "~" for c in value):
        return [f"header {name!r} has characters in its value that are not ASCII text"]
    if value != value.strip(" \t"):
        return [f"header {name!r} has spaces around its value"]
    return []
