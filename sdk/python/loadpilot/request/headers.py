"""Request headers: what may be sent, and which values are secrets.

A secret's value never enters a plan; a handle does, and the value is kept apart. Must never put a
value into a message, because it may be one.
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
"""Parts of a word that say that the value of its header is a secret."""
PUBLIC_WORDS = frozenset({"author", "authority", "authors", "tokens"})
"""Words that hold one of them and say no such thing."""
PUBLIC_NAMES = frozenset(
    {"idempotency-key", "sec-websocket-key", "surrogate-key", "x-idempotency-key"}
)
"""Headers that are named after a key and hold no secret."""
WORDS = re.compile(r"[a-z0-9]+")

FORBIDDEN: Mapping[str, str] = {
    "content-length": "the engine counts the body itself",
    "transfer-encoding": "the engine frames the body itself",
    "connection": "the engine keeps its connections open itself",
    "keep-alive": "the engine keeps its connections open itself",
    "upgrade": "the engine speaks HTTP only",
    "te": "the engine frames the body itself",
    "trailer": "the engine sends no trailers",
    "expect": "the engine sends the body at once",
}
"""Headers that a scenario may not set, in lower case, and why."""

TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


@dataclass
class Secrets:
    """The secret values of a scenario under their handles; equal values share one."""

    names: frozenset[str] = frozenset()
    """Header names that are secret though they do not say so, in lower case."""
    parameter_values: frozenset[str] = frozenset()
    """Values of secret parameters: whatever holds one is secret too."""
    _handles: dict[str, str] = field(default_factory=dict)

    def with_names(self, more: Iterable[str]) -> Secrets:
        """Build an empty store that treats ``more`` header names as secret too."""
        return Secrets(frozenset(name.lower() for name in more), self.parameter_values)

    def handle(self, header: str, value: str) -> str:
        """Keep a value; its handle names the header and a number, never the value."""
        if value not in self._handles:
            self._handles[value] = f"{header.lower()}-{len(self._handles) + 1}"
        return self._handles[value]

    def found_in(self, what: object) -> bool:
        """Whether the value of a secret parameter stands anywhere in what a request says."""
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
        """All values by handle."""
        return {handle: value for value, handle in self._handles.items()}


def is_secret_name(name: str, more: frozenset[str] = frozenset()) -> bool:
    """Whether the name of a header says that its value is a secret, or is one of ``more``.

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
    """Whether the key of a dict in code is taken for the name of such a header.

    The fields of bodies stand in dicts as well, and names of headers have hyphens. The plan's
    checker has the same rule.
    """
    lower = key.lower()
    is_header = lower in {"authorization", "cookie"} or "-" in lower
    return lower in more or (is_header and is_secret_name(lower))


def with_auth(given: object, auth: object) -> object:
    """Add the header of ``auth=(user, password)`` to the headers of a request (RFC 7617)."""
    match auth:
        case None:
            return given
        case (str() as user, str() as password) if ":" not in user:
            credentials = b64encode(f"{user}:{password}".encode()).decode()
            return [*_pairs(given), ("Authorization", f"Basic {credentials}")]
        case _:
            raise ValueError("auth= must be a pair of texts, (user, password)")


def with_cookies(given: object, cookies: object) -> object:
    """Add the header of ``cookies={"name": "value"}`` to the headers of a request."""
    match cookies:
        case None:
            return given
        case Mapping() if all(isinstance(text, str) for pair in cookies.items() for text in pair):
            pairs = "; ".join(f"{name}={value}" for name, value in cookies.items())
            return [*_pairs(given), ("Cookie", pairs)] if pairs else given
        case _:
            raise ValueError("cookies= must be a dict of names to text")


def plan_headers(
    given: object, body: EncodedBody | None, secrets: Secrets
) -> list[dict[str, HeaderValue]]:
    """Build the headers of a step in the order in which they are sent.

    Raises ValueError with a sentence per line for whatever cannot be sent.
    """
    pairs = _pairs(given)
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
        kept: HeaderValue = {"secret": secrets.handle(name, value)} if secret else value
        headers.append({"name": name, "value": kept})
    if body is not None and body.content_type is not None and "content-type" not in names:
        headers.append({"name": "Content-Type", "value": body.content_type})
    return headers


def _pairs(given: object) -> list[tuple[Any, Any]]:
    if given is None:
        return []
    if isinstance(given, Mapping):
        return list(given.items())
    if isinstance(given, list | tuple) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in given
    ):
        return [(name, value) for name, value in given]
    raise ValueError(f"headers= must be a dict of names to text, not a {type(given).__name__}")


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
