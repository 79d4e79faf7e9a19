"""Parsing of responses: headers, text and server-sent events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import TYPE_CHECKING

from ..errors import HTTPStatusError

if TYPE_CHECKING:
    from .._native import Response


class Headers(Mapping[str, str]):
    """The headers of a response; names in any case, several lines of a name joined by a comma."""

    def __init__(self, head: bytes) -> None:
        """Parse the head of a response: status line and header lines."""
        self._lines: list[tuple[str, str]] = []
        for raw_line in head.decode("latin-1").split("\n")[1:]:
            line = raw_line.removesuffix("\r")
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
        """Return the values of all lines of a name, in order."""
        return [value for known, value in self._lines if known == name.lower()]

    def __repr__(self) -> str:
        return f"Headers({self._lines!r})"


@dataclass(frozen=True, slots=True)
class Event:
    """A server-sent event (WHATWG HTML, section 9.2.6)."""

    data: str
    """The lines of data, joined."""
    event: str = "message"
    """The type of the event."""
    id: str = ""
    """The last event id of the stream."""


def events(stream: str) -> Iterator[Event]:
    """Parse the events of a stream; an incomplete event at its end is dropped."""
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
    """Decode a body by the charset of its content type; default UTF-8."""
    message = Message()
    message["content-type"] = headers.get("content-type", "")
    charset = message.get_param("charset")
    name = charset if isinstance(charset, str) else "utf-8"
    try:
        return content.decode(name, errors="replace")
    except LookupError:
        return content.decode("utf-8", errors="replace")


def refuse(response: Response) -> None:
    """Raise HTTPStatusError for a response."""
    raise HTTPStatusError(response)
