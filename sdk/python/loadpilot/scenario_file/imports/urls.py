"""URLs of requests: origin, path and query, with variables in any of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote_plus, urlencode

from .imported_scenario import Text, Variable, joined, plain, shown

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from .imported_scenario import Pairs

ABSOLUTE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#\\]*)")
WHOLE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*[/?#]|/(?!/)|[?#]")
"""Beginning of a URL with a complete host, or without a host."""
BEGUN = re.compile(r"|[A-Za-z][A-Za-z0-9+.-]*(://[^/?#]*|:?/?)|[A-Za-z0-9._-]*(:\d*)?")
"""Beginning of a URL that may end within its host."""
HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?")
DEFAULT_PORTS = {"http": ":80", "https": ":443"}
FIELDS_MAX = 200
"""Maximum number of fields of a query that are written one by one."""
RESOLVED_MAX = 20
"""Maximum number of variables that a host is made of."""


@dataclass(frozen=True, slots=True)
class Url:
    """A URL in its parts."""

    origin: str | None
    """Scheme, host and port; None for a path alone. With ``unknown`` it is as the file writes it,
    with the names of variables in braces."""
    path: Text
    query: Text | None
    """The query as it is written; None without one."""
    user: str | None = None
    password: str | None = None
    unknown: str | None = None
    """Name of a variable in the host whose value is not known."""


class WrongUrlError(ValueError):
    """A URL that no request can be sent to; the text says why."""


def split(url: Text, values: Mapping[str, Text]) -> Url:
    """Split a URL; ``values`` are those of variables that a host may be made of.

    Raises :class:`WrongUrlError`.
    """
    head, rest, unknown = _head(url, values)
    user = password = origin = None
    if unknown is not None:
        authority, rest = _authority(rest)
        scheme, mark, host = f"{head}{authority}".rpartition("://")
        path, query = path_and_query(rest)
        written = f"{scheme}{mark}{host.rpartition('@')[2]}"
        return Url(written, _normal(path), query, unknown=unknown)
    found = ABSOLUTE.match(head)
    if found is not None:
        scheme, authority = found[1].lower(), found[2]
        if scheme not in DEFAULT_PORTS:
            raise WrongUrlError(f"the scheme must be http or https, not {scheme}")
        credentials, at, host = authority.rpartition("@")
        if at:
            user, _, password = (unquote_plus(one) for one in credentials.partition(":"))
        if not HOST.fullmatch(host):
            raise WrongUrlError(f"the host {host!r} is invalid")
        origin = f"{scheme}://{host.lower().removesuffix(DEFAULT_PORTS[scheme])}"
        rest = joined(head[found.end() :], rest)
    elif head.startswith("//"):
        raise WrongUrlError("must begin with http:// or https://")
    else:
        rest = joined(head, rest)
    path, query = path_and_query(rest)
    return Url(origin, _normal(path), query, user, password)


def origin_of(url: str) -> str | None:
    """Return the origin as the others are written: in lower case, without the default port.

    None for a path alone, or a URL that no request can be sent to.
    """
    try:
        return split((url,), {}).origin
    except WrongUrlError:
        return None


def _head(url: Text, values: Mapping[str, Text]) -> tuple[str, Text, str | None]:
    """Resolve the variables of the host; returns its text, the rest, and an unknown variable.

    The rest begins with the unknown variable.
    """
    head, rest = "", list(url)
    for _ in range(RESOLVED_MAX):
        while rest and isinstance(rest[0], str):
            head += rest.pop(0)  # type: ignore[operator]
        if not rest or WHOLE.match(head) or not BEGUN.fullmatch(head):
            break
        variable = rest[0]
        name = variable.name if isinstance(variable, Variable) else ""
        if name not in values:
            return head, tuple(rest), name
        rest[:1] = values[name]
    return head, tuple(rest), None


def _authority(rest: Text) -> tuple[str, Text]:
    """Split off the rest of a host that is not known."""
    for at, piece in enumerate(rest):
        if isinstance(piece, str) and (found := re.search(r"[/?#]", piece)):
            end = found.start()
            return shown((*rest[:at], piece[:end])), (piece[end:], *rest[at + 1 :])
    return shown(rest), ()


def path_and_query(rest: Text) -> tuple[Text, Text | None]:
    """Split the part after the host at its first ? and #."""
    path: list[str | Variable] = []
    query: list[str | Variable] | None = None
    for piece in rest:
        text, hash_, _ = piece.partition("#") if isinstance(piece, str) else (piece, "", "")
        if isinstance(text, str) and query is None and "?" in text:
            before, _, after = text.partition("?")
            path.append(before)
            query = [after]
        else:
            (path if query is None else query).append(text)
        if hash_:
            break
    whole = joined(*path)
    if not (whole and isinstance(whole[0], str) and whole[0].startswith("/")):
        whole = joined("/", whole)
    return whole, None if query is None else joined(*query)


def _normal(path: Text) -> Text:
    """Resolve the segments . and .. of a constant path, as clients do (RFC 3986, 5.2.4)."""
    text = plain(path)
    if text is None:
        return path
    if not {".", ".."} & set(text.split("/")):
        return (text,)
    kept: list[str] = []
    segments = text.split("/")[1:]
    for segment in segments:
        if segment == ".." and kept:
            kept.pop()
        elif segment not in {".", ".."}:
            kept.append(segment)
    if segments[-1] in {".", ".."}:
        kept.append("")
    return ("/" + "/".join(kept),)


def fields_of(query: Text) -> Pairs | None:
    """Read the fields of a query or form; None where fields would not be sent as it is written.

    A name that holds a variable may stand for several fields.
    """
    text = plain(query)
    if text is not None:
        pairs = parse_qsl(text, keep_blank_values=True)
        if len(pairs) > FIELDS_MAX or not is_grouped(pairs) or urlencode(pairs) != text:
            return None
        return [((name,), (value,) if value else ()) for name, value in pairs]
    fields: Pairs = []
    for one in _split(query, "&"):
        name, *values = _split(one, "=")
        value = joined(*(joined("=", piece) if at else piece for at, piece in enumerate(values)))
        fields.append((_decoded(name), _decoded(value)))
    is_written = all(plain(name) for name, _ in fields) and is_grouped(fields)
    return fields if is_written else None


def is_grouped(fields: Sequence[tuple[Hashable, object]]) -> bool:
    """Whether repeated fields follow one another, so that a dict of lists keeps their order."""
    names = [name for name, _ in fields]
    changes = sum(one != before for before, one in pairwise(names))
    return changes + bool(names) == len(set(names))


def _split(text: Text, mark: str) -> list[Text]:
    """Split a text at a mark."""
    found: list[list[str | Variable]] = [[]]
    for piece in text:
        if isinstance(piece, Variable):
            found[-1].append(piece)
            continue
        first, *others = piece.split(mark)
        found[-1].append(first)
        found += [[one] for one in others]
    return [joined(*one) for one in found]


def _decoded(text: Text) -> Text:
    return joined(*(unquote_plus(one) if isinstance(one, str) else one for one in text))
