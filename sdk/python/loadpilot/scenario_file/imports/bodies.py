"""Bodies of requests: JSON, form, multipart or text, by their content type."""

from __future__ import annotations

import json
import re
from email.message import Message
from typing import Any
from urllib.parse import parse_qsl, quote_plus

from .imported_scenario import (
    Body,
    FormBody,
    JsonBody,
    MultipartBody,
    Pairs,
    Part,
    RawBody,
    Text,
    Variable,
    joined,
)
from .imported_scenario import plain as plain_text
from .source import DEPTH_MAX, utf8
from .urls import fields_of, is_grouped

FORM_TYPE = "application/x-www-form-urlencoded"
INTEGER_MAX = 2**63
"""Integers from here on are sent as they are written."""
OPEN, CLOSE = "\ue000", "\ue001"
"""Private-use characters around the number of a variable, while a text is searched or parsed."""
MARK = re.compile(f"{OPEN}(\\d+){CLOSE}")
DISPOSITION = re.compile(r'[;\s](name|filename)="((?:[^"\\]|\\.)*)"')


def body_of(content: Text, content_type: str | None) -> Body | None:
    """Read a body; None for an empty one."""
    if not content:
        return None
    kind = media_type(content_type)
    if kind == "application/json" or kind.endswith("+json"):
        return _json(content)
    if kind == FORM_TYPE:
        return _form(content)
    if kind == "multipart/form-data":
        return _multipart(content, content_type or "")
    return RawBody(content)


def body_of_bytes(content: bytes, content_type: str | None) -> Body | None:
    """Read a body as it was sent; None for an empty one."""
    try:
        return body_of((content.decode(),) if content else (), content_type)
    except UnicodeDecodeError:
        return RawBody(content)


def media_type(content_type: str | None) -> str:
    """Return the type without its parameters, in lower case; empty for none."""
    return (content_type or "").partition(";")[0].strip().lower()


def form_of(fields: Pairs) -> Body:
    """Make a form; one whose repeated fields do not follow one another is a text."""
    if is_grouped(fields):
        return FormBody(fields)
    pieces: list[Text | str] = []
    for at, (name, value) in enumerate(fields):
        pieces += ["&" if at else "", _encoded(name), "=", _encoded(value)]
    return RawBody(joined(*pieces))


def _encoded(text: Text) -> Text:
    return joined(*(quote_plus(one) if isinstance(one, str) else one for one in text))


def _form(content: Text) -> Body:
    """Read a form; a text of JSON or XML that is sent as one stays as it is."""
    text = plain_text(content)
    if isinstance(content[0], str) and content[0].lstrip().startswith(("{", "[", "<")):
        return RawBody(content)
    if text is None:
        fields = fields_of(content)
        return FormBody(fields) if fields else RawBody(content)
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True, max_num_fields=1_000)
    except ValueError:
        return RawBody(content)
    if not is_grouped(pairs):
        return RawBody(content)
    return FormBody([((utf8(name),), (utf8(value),) if value else ()) for name, value in pairs])


def _json(content: Text) -> Body:
    """Read JSON that can be sent as a value; else the text is sent as it is."""
    try:
        text, variables = marked(content)
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
        value = _with_variables(value, variables, 0)
    except (ValueError, RecursionError):
        return RawBody(content)
    return RawBody(content) if value is None else JsonBody(value)


def marked(content: Text) -> tuple[str, list[Variable]]:
    """Write a text with marks in place of its variables; raises ValueError if it holds marks."""
    if any(isinstance(one, str) and (OPEN in one or CLOSE in one) for one in content):
        raise ValueError("holds a mark")
    variables = [one for one in content if isinstance(one, Variable)]
    numbers = iter(range(len(variables)))
    pieces = (one if isinstance(one, str) else f"{OPEN}{next(numbers)}{CLOSE}" for one in content)
    return "".join(pieces), variables


def unmarked(text: str, variables: list[Variable]) -> Text:
    """Put variables back in place of their marks."""
    pieces = MARK.split(text)
    return joined(*(variables[int(p)] if at % 2 else p for at, p in enumerate(pieces)))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) != len({name for name, _ in pairs}):
        raise ValueError("a name is repeated")
    return dict(pairs)


def _no_number(name: str) -> None:
    raise ValueError(name)


def _with_variables(value: Any, variables: list[Variable], depth: int) -> Any:
    """Put variables back into texts; raises ValueError for values that Python changes."""
    if depth > DEPTH_MAX:
        raise ValueError("nested too deep")
    if isinstance(value, dict):
        if any(MARK.search(name) or utf8(name) != name for name in value):
            raise ValueError("a name holds a variable")
        return {name: _with_variables(one, variables, depth + 1) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_variables(one, variables, depth + 1) for one in value]
    if isinstance(value, str):
        if utf8(value) != value:
            raise ValueError("no UTF-8")
        return unmarked(value, variables) if MARK.search(value) else value
    if isinstance(value, int) and abs(value) >= INTEGER_MAX:
        raise ValueError("a large number")
    if isinstance(value, float) and abs(value) == float("inf"):
        raise ValueError("a large number")
    return value


def _multipart(content: Text, content_type: str) -> Body:
    """Read fields and files of a multipart body; else the text is sent as it is."""
    header = Message()
    header["Content-Type"] = content_type.replace("\r", " ").replace("\n", " ")
    boundary = header.get_param("boundary")
    text = plain_text(content)
    if text is None or not isinstance(boundary, str) or not boundary:
        return RawBody(content)
    fields: Pairs = []
    parts: list[Part] = []
    end = "\r\n" if f"--{boundary}\r\n" in text else "\n"
    pieces = text.split(f"--{boundary}")[1:]
    if not pieces or not pieces[-1].startswith("--"):
        return RawBody(content)
    for piece in pieces[:-1]:
        head, blank, value = piece.removeprefix(end).partition(end * 2)
        named = dict(DISPOSITION.findall(head))
        if not blank or "name" not in named:
            return RawBody(content)
        value = value.removesuffix(end)
        kind = re.search(r"(?im)^content-type:\s*(.+)$", head)
        if "filename" in named:
            part_type = kind[1].strip() if kind else None
            parts.append(Part(named["name"], named["filename"], value, part_type))
        elif kind:
            parts.append(Part(named["name"], None, (value,) if value else (), kind[1].strip()))
        else:
            fields.append(((named["name"],), (value,) if value else ()))
    return MultipartBody(fields, parts)
