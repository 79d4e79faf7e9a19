"""Random values in the place of secrets, and a search for them in all places that must not contain
them.

    canaries = Canaries("nats", "proxy")
    …
    canaries.assert_nowhere(files_below(folder), {"stdout": finished.stdout})

A search that finds nothing at all must never pass: each test also searches for a value that is
stored.
"""

from __future__ import annotations

import base64
import secrets
import zipfile
from typing import TYPE_CHECKING
from urllib.parse import quote

from tests.e2e.support.processes import PROC, command_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

PIECE = slice(4, 40)
"""The part of the base64 text that does not depend on the neighbours of a value."""


class Canaries:
    """Random values by name, and values from elsewhere."""

    def __init__(self, *names: str, **values: str) -> None:
        self.values = {name: secrets.token_hex(24) for name in names} | values

    def __getitem__(self, name: str) -> str:
        return self.values[name]

    def found(self, name: str, content: bytes) -> bool:
        """Whether a value is contained: as it is, in hexadecimal, in base64, quoted or reversed."""
        return any(form in content for form in forms(self.values[name]))

    def stored(self, name: str, files: Iterable[Path]) -> list[Path]:
        """Files that contain a value."""
        return [file for file in files if self.found(name, _content(file))]

    def leaks(self, files: Iterable[Path], texts: Mapping[str, str | bytes]) -> list[str]:
        """Every place that contains a value, as `NAME in PLACE`."""
        places = {str(file): _content(file) for file in files}
        places |= {
            name: text if isinstance(text, bytes) else text.encode() for name, text in texts.items()
        }
        return [
            f"{name} in {place}"
            for place, content in places.items()
            for name in self.values
            if self.found(name, content)
        ]

    def assert_nowhere(self, files: Iterable[Path], texts: Mapping[str, str | bytes]) -> None:
        """Asserts that no value is in any of these files and texts."""
        found = self.leaks(files, texts)
        assert found == [], "\n".join(found)


def forms(text: str) -> set[bytes]:
    """The forms in which a value may be written."""
    content = text.encode()
    found = {content, content.hex().encode(), quote(text, safe="").encode(), content[::-1]}
    for lead in (b"", b" ", b"  "):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            found.add(encode(lead + content)[PIECE])
    return found


def command_lines() -> str:
    """The command lines of all processes of the machine."""
    return "\n".join(command_line(int(one.name)) for one in PROC.iterdir() if one.name.isdigit())


def _content(file: Path) -> bytes:
    """Bytes of a file, and those of the members of an archive."""
    try:
        content = file.read_bytes()
    except OSError:  # a socket, or a file that has been removed
        return b""
    if not zipfile.is_zipfile(file):
        return content
    with zipfile.ZipFile(file) as archive:
        return content + b"".join(archive.read(one) for one in archive.namelist())
