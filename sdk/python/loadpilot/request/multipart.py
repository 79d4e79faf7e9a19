"""Multipart bodies, encoded as httpx encodes them (RFC 7578).

Pure: the boundary follows from what it bounds, so that equal scenarios have equal plans.
"""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from ..files import File

UNNAMED = "upload"
"""The name of a file that has none."""


def multipart(data: object, files: object) -> tuple[bytes, str]:
    """Encode fields and files; returns the body and its content type."""
    parts = [*_fields(data), *_files(files)]
    content = hashlib.sha256()
    for head, body in parts:
        content.update(head)
        content.update(body)
    boundary = content.hexdigest()[:32].encode()
    lines = [b"--%b\r\n%b\r\n\r\n%b\r\n" % (boundary, head, body) for head, body in parts]
    closed = b"".join([*lines, b"--%b--\r\n" % boundary])
    return closed, f"multipart/form-data; boundary={boundary.decode()}"


def _fields(data: object) -> Iterable[tuple[bytes, bytes]]:
    if data is None:
        return
    if not isinstance(data, Mapping):
        raise ValueError(  # noqa: TRY004  (every refusal of a body is a ValueError)
            f"data= beside files= must be a dict of fields, not {type(data).__name__}"
        )
    for name, given in data.items():
        for value in given if isinstance(given, list | tuple) else [given]:
            head = f'Content-Disposition: form-data; name="{_quoted(name)}"'
            yield head.encode(), _bytes(_text(value))


def _files(files: object) -> Iterable[tuple[bytes, bytes]]:
    pairs = list(files.items()) if isinstance(files, Mapping) else files
    if not isinstance(pairs, list | tuple) or not all(len(pair) == 2 for pair in pairs):
        raise ValueError("files= must be a dict of names to files, or a list of such pairs")
    for name, given in pairs:
        yield _file(name, given)


def _file(name: Any, given: Any) -> tuple[bytes, bytes]:
    filename, content, kind, headers = _spread(given)
    if isinstance(content, File):
        content = content.content
    elif hasattr(content, "read"):
        content = content.read()
    said = f'Content-Disposition: form-data; name="{_quoted(name)}"'
    if filename:
        said += f'; filename="{_quoted(filename)}"'
        kind = kind or mimetypes.guess_type(filename)[0] or "application/octet-stream"
    lines = [said, *(f"{key}: {value}" for key, value in headers.items())]
    if kind and not any(key.lower() == "content-type" for key in headers):
        lines.append(f"Content-Type: {kind}")
    return "\r\n".join(lines).encode(), _bytes(content)


def _spread(given: Any) -> tuple[str | None, Any, str | None, Mapping[str, str]]:
    """Spread what was given for a file over its filename, content, type and headers."""
    match given:
        case (filename, content):
            return filename, content, None, {}
        case (filename, content, kind):
            return filename, content, kind, {}
        case (filename, content, kind, headers):
            return filename, content, kind, headers
        case File():
            return PurePath(str(given.path)).name, given, None, {}
        case _:
            return PurePath(str(getattr(given, "name", UNNAMED))).name, given, None, {}


def _quoted(name: Any) -> str:
    """Write a name as browsers do (WHATWG HTML, section 4.10.21.8)."""
    if not isinstance(name, str):
        raise ValueError(f"a field's name must be text, not {type(name).__name__}")  # noqa: TRY004
    escapes = {'"': "%22", "\r": "%0D", "\n": "%0A"}
    return "".join(escapes.get(character, character) for character in name)


def _text(value: object) -> str | bytes:
    match value:
        case bytes() | str():
            return value
        case True:
            return "true"
        case False:
            return "false"
        case None:
            return ""
        case int() | float():
            return str(value)
        case _:
            raise ValueError(f"data= holds a {type(value).__name__}; fields are text or numbers")


def _bytes(content: Any) -> bytes:
    match content:
        case str():
            return content.encode()
        case bytes():
            return content
        case _:
            raise ValueError(f"files= holds a {type(content).__name__}; give bytes, text or a file")
