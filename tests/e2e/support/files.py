"""Files below a folder, and which of them contain a text."""

from __future__ import annotations

import base64
import tarfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def files_with(text: str, files: Iterable[Path]) -> list[Path]:
    """The files that contain a text, as it is, in hexadecimal or in base64."""
    forms = {text.encode(), text.encode().hex().encode()}
    for lead in (b"", b" ", b"  "):
        # base64 has three alignments of a text; characters at its ends depend on its neighbours.
        forms.add(base64.b64encode(lead + text.encode())[4:40])
    return [file for file in files if any(form in file.read_bytes() for form in forms)]


def unpack(archive: Path, folder: Path) -> None:
    """Unpacks a tar archive of this repository below a folder."""
    with tarfile.open(archive) as opened:
        # Python before 3.11.4 has no filters.
        opened.extraction_filter = getattr(tarfile, "data_filter", None)
        opened.extractall(folder)  # noqa: S202  (made by these tests)
