"""Access logs in the common and the combined format, line by line.

``host ident user [26/Nov/2026:10:00:00 +0000] "GET /path HTTP/1.1" 200 512 "referer" "agent"``.
Never holds more than a line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import IO, TYPE_CHECKING

from ...problem import Problem, Refused, rule

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LINE_BYTES_MAX = 64 * 1024
"""Maximum length of a line, in bytes."""
TIME = "a time in brackets, such as [26/Nov/2026:10:00:00 +0000]"
QUOTED = r'"((?:[^"\\]|\\.)*)"'
FIELDS = (
    ("a host", re.compile(r"(\S+) ")),
    ("an identity", re.compile(r"\S+ ")),
    (
        "a user before a time in brackets, such as ann [26/Nov/2026:10:00:00 +0000]",
        re.compile(r"(.*?) (?=\[)"),
    ),
    ("a time in brackets, such as [26/Nov/2026:10:00:00 +0000]", re.compile(r"\[([^\]]*)\] ")),
    ("a request in quotation marks", re.compile(rf"{QUOTED} ")),
    ("a status of three digits", re.compile(r"(\d{3})(?= |$)")),
)
"""The fields that each line begins with: description and pattern."""
LINE = re.compile(
    "".join(pattern.pattern for _, pattern in FIELDS) + rf"(?: \S+ {QUOTED} {QUOTED})?"
)
REQUEST = re.compile(r"([A-Z]+) (/\S*)(?: HTTP/\d(?:\.\d)?)?")


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of a log."""

    second: int
    """Second of the Unix epoch."""
    client: str
    """Client that sent it: host, user and user agent."""
    method: str
    path: str
    """Path and query."""
    status: int


class AccessLog:
    """A log that is read once."""

    def __init__(self, path: Path) -> None:
        """Take its path."""
        self.path = path
        self.malformed = 0
        """Number of lines whose request is not HTTP, such as those of port scanners."""
        self._minutes: dict[str, int] = {}

    def visits(self) -> Iterator[Visit]:
        """Read the requests in the order of the log; raises :class:`Refused`."""
        try:
            with self.path.open("rb") as file:
                yield from self._visits(file)
        except OSError as error:
            raise Refused([Problem(str(self.path), str(error.strerror or error))]) from None

    def _visits(self, file: IO[bytes]) -> Iterator[Visit]:
        number = 0
        while line := file.readline(LINE_BYTES_MAX + 1):
            number += 1
            place = f"{self.path}, line {number}"
            if len(line) > LINE_BYTES_MAX:
                raise Refused([Problem(place, f"is longer than {LINE_BYTES_MAX // 1024} KiB")])
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            if text.strip():
                visit = self._visit(text, place)
                if visit is not None:
                    yield visit

    def _visit(self, text: str, place: str) -> Visit | None:
        found = LINE.match(text)
        if found is None:
            raise Refused([_misread(text, place)])
        host, user, time, request, status, _, agent = found.groups()
        second = self._second(time)
        if second is None:
            column = found.start(3) + 1
            must = "must be a time such as 26/Nov/2026:10:00:00 +0000"
            raise Refused([rule(f"{place}, column {column}", must, time)])
        parts = REQUEST.fullmatch(request)
        if parts is None:
            self.malformed += 1
            return None
        client = f"{host} {user} {agent or ''}"
        return Visit(second, client, parts[1], parts[2], int(status))

    def _second(self, time: str) -> int | None:
        """Read a time; the minutes of the log are computed once each."""
        minute, second, offset = time[:17], time[17:20], time[20:]
        if minute + offset not in self._minutes:
            try:
                whole = datetime.strptime(f"{minute}:00{offset}", "%d/%b/%Y:%H:%M:%S %z")
            except ValueError:
                return None
            if len(self._minutes) > 1_000:
                self._minutes.clear()
            self._minutes[minute + offset] = int(whole.timestamp())
        if not re.fullmatch(r":[0-5]\d", second):
            return None
        return self._minutes[minute + offset] + int(second[1:])


def _misread(text: str, place: str) -> Problem:
    """Name the first field of a line that is missing."""
    at = 0
    for what, pattern in FIELDS:
        found = pattern.match(text, at)
        if found is None:
            return rule(f"{place}, column {at + 1}", f"must be {what}", text[at:])
        at = found.end()
    return rule(place, "must be a line of an access log in the common or combined format", text)
