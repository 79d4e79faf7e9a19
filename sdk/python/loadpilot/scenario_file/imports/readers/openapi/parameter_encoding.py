"""Values of parameters as text, by their styles (OpenAPI 3.1.1, 4.8.12.4; RFC 6570)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

MARKS = {"label": (".", "."), "matrix": (";", ";")}
"""Prefix of a segment of a path, and separator of exploded members; otherwise a comma separates."""
DELIMITERS = {"spaceDelimited": " ", "pipeDelimited": "|"}
"""Separator of the members of a field of a query; a comma otherwise."""


def field_text(value: Any) -> str:
    """Write a value as a field of a query or form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)


def as_fields(name: str, value: Any, style: str, *, explode: bool) -> list[tuple[str, str]]:
    """Write a value as fields of its name, or of the names of its members."""
    if isinstance(value, dict) and style == "deepObject":
        return [(f"{name}[{key}]", field_text(one)) for key, one in value.items()]
    if explode and isinstance(value, list):
        return [(name, field_text(one)) for one in value]
    if explode and isinstance(value, dict):
        return [(str(key), field_text(one)) for key, one in value.items()]
    return [(name, DELIMITERS.get(style, ",").join(_members(value)))]


def as_text(
    name: str,
    value: Any,
    style: str,
    *,
    explode: bool,
    encode: Callable[[str], str] = lambda text: text,
) -> str:
    """Write a value as a segment of a path, or as a header; ``encode`` encodes each part."""
    begin, mark = MARKS.get(style, ("", ","))
    parts = [encode(one) for one in _members(value)]
    if explode and isinstance(value, dict):
        pairs = zip(parts[::2], parts[1::2], strict=True)
        return begin + mark.join(f"{key}={one}" for key, one in pairs)
    if not explode or not isinstance(value, list):
        parts, mark = [",".join(parts)], ""
    if style == "matrix":
        parts = [f"{name}={one}" if one else name for one in parts]
    return begin + mark.join(parts)


def _members(value: Any) -> list[str]:
    """List the members of a list, the names and values of an object, or the value."""
    if isinstance(value, dict):
        return [text for key, one in value.items() for text in (str(key), field_text(one))]
    return [field_text(one) for one in value] if isinstance(value, list) else [field_text(value)]
