"""Encoding of paths, queries and bodies, the same as that of httpx.

Pure functions. They raise ``ValueError`` where httpx raises, and where httpx would silently send
something else than the scenario wrote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from ..inputs.files import File
from .multipart import field_text, multipart

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
JSON_TYPE = "application/json"
FORM_TYPE = "application/x-www-form-urlencoded"

UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
VISIBLE = frozenset(map(chr, range(0x21, 0x7F)))
QUERY_SAFE = VISIBLE - set('"#<>')
"""Characters that the query keeps: all but the WHATWG query percent-encode set."""
PATH_SAFE = QUERY_SAFE - set("?`{}")
"""Characters that the path keeps: all but the WHATWG path percent-encode set."""
ENCODED = re.compile("(%[A-Fa-f0-9]{2})")
WHOLE_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True, slots=True)
class EncodedBody:
    """A request body and the content type that it implies."""

    content: bytes
    content_type: str | None


def checked_method(name: object) -> str:
    """Return a method in upper case; raises ValueError for an unknown one."""
    if not isinstance(name, str) or name.upper() not in METHODS:
        raise ValueError(f"the method must be one of {', '.join(METHODS)}, not {name!r}")
    return name.upper()


def target_path(path: object, params: object) -> str:
    """Encode a path and its query; ``params`` are added after the query of the path."""
    if not isinstance(path, str):
        raise ValueError(  # noqa: TRY004  (every refusal here is a ValueError)
            f"the path must be text, not {type(path).__name__}"
        )
    _check_path(path)
    base, mark, query = path.partition("?")
    queries = [_quote(query, QUERY_SAFE)] if query else []
    if params:
        queries.append(_quote(encode_fields(params, "params"), QUERY_SAFE))
    encoded = _quote(base, PATH_SAFE)
    return f"{encoded}?{'&'.join(queries)}" if queries or mark else encoded


def encode_fields(fields: object, name: str) -> str:
    """Encode the fields of a query or form; a list repeats its field. ``name`` is the keyword."""
    if isinstance(fields, Mapping):
        pairs: Iterable[tuple[object, object]] = fields.items()
    elif isinstance(fields, list | tuple) and all(_is_pair(pair) for pair in fields):
        pairs = fields
    else:
        raise ValueError(f"{name}= must be a dict of fields, not {type(fields).__name__}")
    flat: list[tuple[str, str]] = []
    for key, value in pairs:
        values = value if isinstance(value, list | tuple) else [value]
        flat.extend((str(key), field_text(item, name)) for item in values)
    try:
        return urlencode(flat)
    except UnicodeEncodeError as error:
        raise ValueError(f"{name}= holds text that has no UTF-8 form") from error


def encode_body(extras: Mapping[str, object]) -> EncodedBody | None:
    """Encode the body of a request from its ``json``, ``data``, ``files`` or ``content``."""
    if extras.get("files"):
        return _multipart(extras)
    names = [name for name in ("json", "data", "content") if extras.get(name) is not None]
    if len(names) > 1:
        raise ValueError(f"a request has one body, but {' and '.join(names)} are given")
    if not names:
        return None
    (name,) = names
    value = extras[name]
    if isinstance(value, File):
        if name != "content":
            raise ValueError(f"{name}= cannot be {value!r}; write content={value!r}")
        return EncodedBody(value.content, value.content_type)
    if name == "json":
        return EncodedBody(_json(value), JSON_TYPE)
    if name == "data" and not isinstance(value, str | bytes):
        if isinstance(value, Mapping):
            return EncodedBody(encode_fields(value, "data").encode(), FORM_TYPE) if value else None
        raise ValueError(f"data= must be a dict of fields, text or bytes, not {_kind(value)}")
    if not isinstance(value, str | bytes):
        what = f"{name}= must be text, bytes or file(…), not {_kind(value)}"
        raise ValueError(what)  # noqa: TRY004  (every refusal here is a ValueError)
    content = _utf8(value, name) if isinstance(value, str) else value
    return EncodedBody(content, None) if content else None


def _multipart(extras: Mapping[str, object]) -> EncodedBody:
    others = [name for name in ("json", "content") if extras.get(name) is not None]
    if others:
        raise ValueError(f"a request has one body, but files and {' and '.join(others)} are given")
    return EncodedBody(*multipart(extras.get("data"), extras["files"]))


def _check_path(path: str) -> None:
    if WHOLE_URL.match(path):
        raise ValueError(f"{path!r} is a whole URL; paths are relative to --target, so write /…")
    if not path.startswith("/"):
        raise ValueError(f"the path {path!r} must begin with /")
    if path.startswith("//"):
        raise ValueError(f"the path {path!r} must not begin with //, which names another host")
    bad = next((c for c in path if ord(c) < 0x20 or ord(c) == 0x7F), None)
    if bad is not None:
        raise ValueError(f"the path {path!r} holds the control character {bad!r}")
    if "#" in path:
        raise ValueError(f"the path {path!r} holds a #, and what follows it is never sent")
    segments = path.split("?", 1)[0].split("/")
    if "." in segments or ".." in segments:
        raise ValueError(f"the path {path!r} holds . or .. segments; write the path that is meant")


def _quote(text: str, safe: frozenset[str]) -> str:
    """Percent-encode as httpx does: existing escapes stay."""
    keep = safe | UNRESERVED
    parts = ENCODED.split(text)
    for index in range(0, len(parts), 2):
        parts[index] = "".join(c if c in keep else _percent(c) for c in parts[index])
    return "".join(parts)


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in _utf8(character, "path"))


def _json(value: object) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"json= cannot be written as JSON: {error}") from error
    return _utf8(text, "json")


def _utf8(text: str, name: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name}= holds text that has no UTF-8 form") from error


def _is_pair(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"
