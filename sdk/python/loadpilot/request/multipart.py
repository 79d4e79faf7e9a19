"""Multipart bodies, encoded as httpx encodes them (RFC 7578).

The boundary is a hash of the parts, so that equal scenarios have equal plans.
"""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from ..inputs.files import File

UNNAMED = "upload"
"""Filename of a file without one."""


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
    for name, values in data.items():
        for value in values if isinstance(values, list | tuple) else [values]:
            head = f'Content-Disposition: form-data; name="{_quoted(name)}"'
            yield (
                head.encode(),
                value if isinstance(value, bytes) else field_text(value, "data").encode(),
            )


def _files(files: object) -> Iterable[tuple[bytes, bytes]]:
    pairs = list(files.items()) if isinstance(files, Mapping) else files
    if not isinstance(pairs, list | tuple) or not all(len(pair) == 2 for pair in pairs):
        raise ValueError("files= must be a dict of names to files, or a list of such pairs")
    for name, file in pairs:
        yield _file(name, file)


def _file(name: Any, file: Any) -> tuple[bytes, bytes]:
    filename, content, kind, headers = _file_parts(file)
    if isinstance(content, File):
        content = content.content
    elif hasattr(content, "read"):
        content = content.read()
    disposition = f'Content-Disposition: form-data; name="{_quoted(name)}"'
    if filename:
        disposition += f'; filename="{_quoted(filename)}"'
        kind = kind or mimetypes.guess_type(filename)[0] or "application/octet-stream"
    lines = [disposition, *(f"{key}: {value}" for key, value in headers.items())]
    if kind and not any(key.lower() == "content-type" for key in headers):
        lines.append(f"Content-Type: {kind}")
    return "\r\n".join(lines).encode(), _bytes(content)


def _file_parts(file: Any) -> tuple[str | None, Any, str | None, Mapping[str, str]]:
    """Return filename, content, media type and headers of a file, in any of its forms."""
    match file:
        case (filename, content):
            return filename, content, None, {}
        case (filename, content, kind):
            return filename, content, kind, {}
        case (filename, content, kind, headers):
            return filename, content, kind, headers
        case File():
            return PurePath(str(file.path)).name, file, None, {}
        case _:
            return PurePath(str(getattr(file, "name", UNNAMED))).name, file, None, {}


def _quoted(name: Any) -> str:
    """Escape a name as browsers do (WHATWG HTML, section 4.10.21.8)."""
    if not isinstance(name, str):
        raise ValueError(f"a field's name must be text, not {type(name).__name__}")  # noqa: TRY004
    escapes = {'"': "%22", "\r": "%0D", "\n": "%0A"}
    return "".join(escapes.get(character, character) for character in name)


def field_text(value: object, keyword: str) -> str:
    """Return the text of a field of a query or form, as httpx writes it."""
    match value:
        case True:
            return "true"
        case False:
            return "false"
        case None:
            return ""
        case str() | int() | float():
            return str(value)
        case _:
            kind = type(value).__name__
            raise ValueError(f"{keyword}= holds a {kind}; fields are text, numbers or booleans")


def _bytes(content: Any) -> bytes:
    match content:
        case str():
            return content.encode()
        case bytes():
            return content
        case _:
            raise ValueError(f"files= holds a {type(content).__name__}; give bytes, text or a file")
