"""Prepares imported requests: one target, headers that a scenario sets, no secret in a text."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ...request.encoding import METHODS, target_path
from ...request.headers import FORBIDDEN, TOKEN
from .bodies import form_of, media_type
from .imported_scenario import (
    FormBody,
    JsonBody,
    MultipartBody,
    Parameter,
    Text,
    joined,
    plain,
    shown,
)
from .secrets import Concealment
from .source import REQUESTS_MAX
from .urls import WrongUrlError, fields_of, split

if TYPE_CHECKING:
    from .imported_scenario import Imported, Request
    from .source import Source

SILENT = frozenset({"connection", "content-length", "keep-alive", "transfer-encoding"})
"""Headers that are dropped without a note, because the engine sets them itself."""
IMPLIED_TYPES = {
    JsonBody: "application/json",
    FormBody: "application/x-www-form-urlencoded",
    MultipartBody: "multipart/form-data",
}
"""Content types that follow from how a body is written."""
UNSENDABLE = "its path begins with // or holds control characters"
NAME_RULE = "must be constant, of letters, digits and !#$%&'*+-.^_`|~"
NOTHING = "has no request that can be carried over"


def prepare(imported: Imported, source: Source, target: str | None = None) -> Concealment:
    """Prepare all requests in place; returns the names of the parameters.

    Raises :class:`Refused` when nothing is left.
    """
    source.check()
    if len(imported.requests) > REQUESTS_MAX:
        count = f"{len(imported.requests):,}"
        raise source.refuse("", f"has {count} requests; {REQUESTS_MAX:,} are the maximum")
    values: dict[str, Text] = {
        name: (one.default,)
        for name, one in imported.variables.items()
        if isinstance(one, Parameter) and one.default is not None
    }
    unknown: dict[str, str] = {}
    origins = {id(one): _take_url(one, values, unknown, source) for one in imported.requests}
    known = Counter(origin for origin in origins.values() if origin)
    # Of several that are as frequent it is the first one.
    kept = target or next((one for one, _ in known.most_common(1)), None)
    imported.target = kept if kept not in unknown else None
    concealment = Concealment(imported, source)
    for users in imported.types:
        for step in (step for task in users.tasks for step in task.steps):
            step.requests = [
                one for one in step.requests if _is_kept(one, origins[id(one)], kept, source)
            ]
            for request in step.requests:
                if isinstance(request.body, FormBody):
                    request.body = form_of(request.body.fields)
                _headers(request, imported.target, source)
                concealment.conceal(request)
        for task in users.tasks:
            task.steps = [step for step in task.steps if step.requests]
        users.tasks = [task for task in users.tasks if task.steps]
    imported.types = [users for users in imported.types if users.tasks]
    if kept in unknown:
        what = f"the host is the variable {unknown[kept]}: name it with --target"
        source.note(next((one.place for one in imported.requests), ""), what)
    if not imported.types:
        raise source.refuse("", NOTHING)
    return concealment


def _is_kept(request: Request, origin: str | None, kept: str | None, source: Source) -> bool:
    """Whether a request is part of the scenario; else a note says why not."""
    if origin not in {None, "", kept}:
        what = f"requests to {origin} are left out: a scenario has one target"
        source.note(request.place, what)
    return origin in {"", kept} and _is_sendable(request, source)


def _take_url(
    request: Request, values: dict[str, Text], unknown: dict[str, str], source: Source
) -> str | None:
    """Split the URL; returns its origin, empty if it has none, None if it is wrong.

    Adds an origin that is not known to ``unknown``, with the variable in it.
    """
    try:
        url = split(request.url, values)
    except WrongUrlError as error:
        source.note(request.place, f"a request is left out: {error}")
        return None
    if url.origin is not None and url.unknown is not None:
        unknown[url.origin] = url.unknown
    if url.user is not None and request.auth is None:
        request.auth = ((url.user,), (url.password or "",))
    request.path = url.path
    if url.query is not None:
        fields = fields_of(url.query)
        if fields is None:
            request.path = joined(url.path, "?", url.query)
        else:
            request.query = [*fields, *request.query]
    return url.origin or ""


def _is_sendable(request: Request, source: Source) -> bool:
    """Whether a scenario can send the request; else a note says why not."""
    if request.method not in METHODS:
        source.note(request.place, f"{request.method[:20]} requests are left out: no such method")
        return False
    text = "".join(one if isinstance(one, str) else "x" for one in request.path)
    try:
        target_path(text, None)
    except ValueError:  # its text quotes the path, which may hold a secret
        source.note(request.place, f"a request is left out: {UNSENDABLE}")
        return False
    return True


def _headers(request: Request, target: str | None, source: Source) -> None:
    """Keep the headers that a scenario sets; those of one name are joined."""
    kept: dict[str, tuple[Text, Text]] = {}
    for name, value in request.headers:
        word = shown(name)
        text = plain(value)
        lower = word.lower()
        if not TOKEN.fullmatch(word):
            if not lower.startswith(":"):
                source.note(
                    request.place, f"a header is left out: the name {word!r:.60} {NAME_RULE}"
                )
        elif lower == "host" and text == (target or "").partition("//")[2]:
            continue
        elif lower in FORBIDDEN:
            if lower not in SILENT:
                source.note(request.place, f"the header {word} is left out: {FORBIDDEN[lower]}")
        elif any(isinstance(one, str) and not _is_header_text(one) for one in value):
            source.note(request.place, f"the header {word} is left out: its value is not ASCII")
        elif lower == "content-type" and _is_implied(request, text):
            continue
        elif lower in kept:
            mark = "; " if lower == "cookie" else ", "
            kept[lower] = (kept[lower][0], joined(kept[lower][1], mark, _stripped(value)))
        else:
            kept[lower] = (name, _stripped(value))
    request.headers = list(kept.values())


def _is_implied(request: Request, content_type: str | None) -> bool:
    """Whether the content type follows from the body."""
    wanted = IMPLIED_TYPES.get(type(request.body))
    if wanted is None or content_type is None or media_type(content_type) != wanted:
        return False
    _, _, parameter = content_type.partition(";")
    is_default = parameter.strip().lower() in {"", "charset=utf-8"}
    return is_default or wanted == "multipart/form-data"


def _is_header_text(text: str) -> bool:
    return all(c == "\t" or " " <= c <= "~" for c in text)


def _stripped(value: Text) -> Text:
    """Leave out blanks around a value."""
    pieces = list(value)
    if pieces and isinstance(pieces[0], str):
        pieces[0] = pieces[0].lstrip(" \t")
    if pieces and isinstance(pieces[-1], str):
        pieces[-1] = pieces[-1].rstrip(" \t")
    return joined(*pieces)
