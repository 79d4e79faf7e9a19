"""Reads the requests of a targets file one at a time, in either format of vegeta.

The text format has a line with method and URL, then header lines, then a line ``@FILE`` with the
body; a blank line ends a target. The JSON format has an object on each line. Every mistake is
named with its line and column. Memory must never grow with the file.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ...problem import Problem, Refused, nearest
from .target_request import (
    Invalid,
    TargetRequest,
    check_header,
    checked_method,
    read_header,
    read_url,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

Form: TypeAlias = Literal["text", "json"]
FORMS: tuple[Form, ...] = ("text", "json")
LINE_BYTES_MAX = 12 * 1024 * 1024
"""Maximum length of a line, in bytes: a row of a run has 16 MiB, with its body in base64."""
BODY_BYTES_MAX = 8 * 1024 * 1024
"""Maximum size of the body of a request of a list, in bytes."""
PROBLEMS_MAX = 20
"""Maximum number of mistakes that are named."""
FIELDS = ("method", "url", "header", "body")
"""Fields of a target in JSON."""
TARGET_LINE = re.compile(r"[A-Z]+\s")
"""How the first line of a target begins."""


@dataclass(slots=True)
class Line:
    """A line of the file without surrounding blanks."""

    number: int
    text: str
    indent: int
    """Number of blanks before the text."""

    def column_of(self, invalid: Invalid) -> int:
        """Return the column of the invalid part; that of the whole text if all of it is invalid."""
        place = self.text.find(invalid.part) + 1 if invalid.column is None else invalid.column
        return self.indent + max(1, place)


@dataclass(slots=True)
class TargetsFile:
    """An open targets file and the settings that its requests share."""

    file: BinaryIO
    name: str
    """Name in messages."""
    folder: Path
    """Folder of the bodies."""
    form: Form | None = None
    """Format; None to recognise it."""
    headers: tuple[tuple[str, str], ...] = ()
    """Headers of all requests, before their own."""
    body: bytes = b""
    """Body of the requests without one of their own."""
    problems: list[Problem] = field(default_factory=list)
    """Mistakes found so far."""

    def requests(self) -> Iterator[TargetRequest]:
        """Read the file from its begin; raises Refused with all its mistakes after the last line.

        Requests before a mistake were handed over by then.
        """
        self.file.seek(0)
        self.problems = []
        lines = self._lines()
        first = next((line for line in lines if not _is_skipped(line)), None)
        form = self.form or ("json" if first is not None and first.text[0] == "{" else "text")
        if first is not None:
            yield from self._json(first, lines) if form == "json" else self._text(first, lines)
        if self.problems:
            raise Refused(self.problems)

    def _lines(self) -> Iterator[Line]:
        number = 0
        while content := self.file.readline(LINE_BYTES_MAX + 1):
            number += 1
            if len(content) > LINE_BYTES_MAX:
                what = f"the line is longer than {LINE_BYTES_MAX // 2**20} MiB"
                self._note(Line(number, "", 0), Invalid(what))
                return
            try:
                whole = content.decode()
            except UnicodeDecodeError as error:
                what = f"must be UTF-8 (got the byte 0x{content[error.start]:02x})"
                self._note(Line(number, "", 0), Invalid(what, column=error.start + 1))
                if self._is_full():
                    return
                continue
            if number == 1:
                whole = whole.removeprefix("\ufeff")
            text = whole.strip()
            yield Line(number, text, len(whole) - len(whole.lstrip()))
            if self._is_full():
                return

    def _text(self, first: Line, lines: Iterator[Line]) -> Iterator[TargetRequest]:
        line: Line | None = first
        while line is not None:
            if _is_skipped(line):
                line = next(lines, None)
                continue
            head = line
            following: list[Line] = []
            line = next(lines, None)
            while line is not None and line.text:
                has_more = any(not _is_skipped(one) for one in following)
                if not has_more and TARGET_LINE.match(line.text):
                    break
                following.append(line)
                line = next(lines, None)
                if following[-1].text.startswith("@"):
                    break
            request = self._target(head, following)
            if request is not None:
                yield request

    def _target(self, head: Line, following: list[Line]) -> TargetRequest | None:
        """Read one target; adds its mistakes to the problems and returns None for one with any."""
        before = len(self.problems)
        method, origin, path = "", "", ""
        headers = list(self.headers)
        body = self.body
        try:
            method, text = _target_line(head.text)
            url = read_url(text)
            origin, path = url.origin, url.path
            headers += url.headers
        except Invalid as invalid:
            self._note(head, invalid)
        for line in following:
            if line.text.startswith("#"):
                continue
            try:
                if line.text.startswith("@"):
                    body = self._body(line.text[1:])
                else:
                    headers.append(read_header(line.text))
            except Invalid as invalid:
                self._note(line, invalid)
        if len(self.problems) > before:
            return None
        place = f"{self.name}:{head.number}"
        return TargetRequest(method, origin, path, tuple(headers), body, place)

    def _body(self, name: str) -> bytes:
        """Read the file of a body; raises Invalid."""
        try:
            folder = self.folder.resolve()
            path = (folder / name).resolve()
            if not name or not path.is_relative_to(folder):
                raise Invalid(f"the body must be a file in the folder {self.folder}", name)
            if not path.is_file():
                raise Invalid(f"there is no file {name} in the folder {self.folder}", name)
            if path.stat().st_size > BODY_BYTES_MAX:
                raise Invalid(f"the body must be at most {BODY_BYTES_MAX // 2**20} MiB", name)
            return path.read_bytes()
        except (OSError, ValueError, RuntimeError) as error:
            if isinstance(error, Invalid):
                raise
            why = getattr(error, "strerror", None) or error
            raise Invalid(f"the body cannot be read: {why}", name) from None

    def _json(self, first: Line, lines: Iterator[Line]) -> Iterator[TargetRequest]:
        line: Line | None = first
        while line is not None:
            if line.text:
                try:
                    yield self._object(line)
                except Invalid as invalid:
                    self._note(line, invalid)
            line = next(lines, None)

    def _object(self, line: Line) -> TargetRequest:
        """Read a target in JSON; raises Invalid with the first mistake."""
        try:
            found: Any = json.loads(line.text)
        except json.JSONDecodeError as error:
            raise Invalid(f"must be JSON: {error.msg}", column=error.colno) from None
        except (RecursionError, ValueError) as error:
            raise Invalid(f"must be JSON: {error}") from None
        if not isinstance(found, dict):
            raise Invalid('must be an object such as {"method": "GET", "url": "http://host/"}')
        return self._object_of(found, line)

    def _object_of(self, found: dict[str, Any], line: Line) -> TargetRequest:
        for name in found:
            if name not in FIELDS:
                near = nearest(name, FIELDS)
                hint = f"; did you mean {near}?" if near is not None else ""
                raise Invalid(f"has the field {name!r}; known are {', '.join(FIELDS)}{hint}", name)
        for name in ("method", "url"):
            if not isinstance(found.get(name), str) or not found[name]:
                raise Invalid(f"must have the field {name} with a text", name)
        method = checked_method(found["method"])
        url = read_url(found["url"])
        own = [(name, value) for name, values in _headers(found) for value in values]
        for name, value in own:
            check_header(name, value)
        body = _decoded(found.get("body")) or self.body
        headers = (*self.headers, *url.headers, *own)
        place = f"{self.name}:{line.number}"
        return TargetRequest(method, url.origin, url.path, headers, body, place)

    def _note(self, line: Line, invalid: Invalid) -> None:
        if not self._is_full():
            place = f"{self.name}:{line.number}:{line.column_of(invalid)}"
            self.problems.append(Problem(place, str(invalid)))

    def _is_full(self) -> bool:
        return len(self.problems) >= PROBLEMS_MAX


def _target_line(text: str) -> tuple[str, str]:
    """Split the first line of a target into method and URL; raises Invalid."""
    method, _, url = text.partition(" ")
    if not url.strip():
        raise Invalid("must be a method and a URL, such as `GET http://host/path`", method)
    return checked_method(method), url.strip()


def _is_skipped(line: Line) -> bool:
    """Whether a line is blank or a comment."""
    return not line.text or line.text.startswith("#")


def _headers(found: dict[str, Any]) -> list[tuple[str, list[Any]]]:
    """Return the headers of a target in JSON with their values; raises Invalid."""
    headers = found.get("header")
    if headers is None:
        return []
    is_sound = isinstance(headers, dict) and all(
        isinstance(values, list) for values in headers.values()
    )
    if not is_sound:
        raise Invalid('header must be an object such as {"Name": ["value"]}', "header")
    return list(headers.items())


def _decoded(body: object) -> bytes:
    """Decode the body of a target in JSON; raises Invalid."""
    if body is None:
        return b""
    try:
        if isinstance(body, str):
            decoded = base64.b64decode(body, validate=True)
            if len(decoded) > BODY_BYTES_MAX:
                raise Invalid(f"the body must be at most {BODY_BYTES_MAX // 2**20} MiB", "body")
            return decoded
    except (binascii.Error, ValueError) as error:
        if isinstance(error, Invalid):
            raise
    raise Invalid("the body must be text in base64, such as `base64 -w0 FILE` prints", "body")


def read_targets(path: Path, form: Form | None = None) -> list[TargetRequest]:
    """Read all requests of a targets file; raises :class:`Refused`, OSError."""
    with path.open("rb") as file:
        return list(TargetsFile(file, str(path), path.parent, form).requests())
