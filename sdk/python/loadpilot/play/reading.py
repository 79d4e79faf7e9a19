"""The textual parts of an answer: its headers, its text, what its status means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import TYPE_CHECKING

from ..errors import HTTPStatusError

if TYPE_CHECKING:
    from .._native import Response


class Headers(Mapping[str, str]):
    """The header lines of an answer; names in any case, several lines of one joined by a comma."""

    def __init__(self, head: bytes) -> None:
        """Read a head as it came."""
        self._lines: list[tuple[str, str]] = []
        for ended in head.decode("latin-1").split("\n")[1:]:
            line = ended.removesuffix("\r")
            if line[:1] in " \t" and self._lines and line.strip():
                name, value = self._lines.pop()
                self._lines.append((name, f"{value} {line.strip()}"))
            elif ":" in line:
                name, _, value = line.partition(":")
                self._lines.append((name.strip().lower(), value.strip()))

    def __getitem__(self, name: str) -> str:
        values = self.get_list(name)
        if not values:
            raise KeyError(name)
        return ", ".join(values)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name for name, _ in self._lines))

    def __len__(self) -> int:
        return len({name for name, _ in self._lines})

    def get_list(self, name: str) -> list[str]:
        """List the values of all lines of one name, in order."""
        return [value for known, value in self._lines if known == name.lower()]

    def __repr__(self) -> str:
        return f"Headers({self._lines!r})"


@dataclass(frozen=True, slots=True)
class Event:
    """A server-sent event (WHATWG HTML, section 9.2.6)."""

    data: str
    """Its lines of data, joined."""
    event: str = "message"
    """Its type."""
    id: str = ""
    """The last id that the stream has named."""


def events(stream: str) -> Iterator[Event]:
    """Read the events of a stream; what it breaks off in the middle of is none."""
    data: list[str] = []
    kind = last_id = ""
    whole = stream.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    for line in whole.split("\n")[:-1]:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                yield Event("\n".join(data), kind or "message", last_id)
            data, kind = [], ""
        elif field == "data":
            data.append(value)
        elif field == "event":
            kind = value
        elif field == "id" and "\0" not in value:
            last_id = value


def text(content: bytes, headers: Headers) -> str:
    """Decode a body by the charset of its content type, UTF-8 unless it names one."""
    message = Message()
    message["content-type"] = headers.get("content-type", "")
    charset = message.get_param("charset")
    name = charset if isinstance(charset, str) else "utf-8"
    try:
        return content.decode(name, errors="replace")
    except LookupError:
        return content.decode("utf-8", errors="replace")


def refuse(response: Response) -> None:
    """Raise what a status of 400 or more stands for."""
    raise HTTPStatusError(response)
