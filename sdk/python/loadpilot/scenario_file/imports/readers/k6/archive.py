"""Reads archives of ``k6 archive``: the main script and its options."""

from __future__ import annotations

import io
import json
import tarfile
from typing import TYPE_CHECKING, Any

from .javascript import SCRIPT_BYTES_MAX

if TYPE_CHECKING:
    from ...source import Source

MAGIC_AT, MAGIC = 257, b"ustar"
MEMBERS_MAX = 10_000
"""Maximum number of files of an archive."""


def is_archive(content: bytes) -> bool:
    """Whether the content is a tar archive."""
    return content[MAGIC_AT : MAGIC_AT + len(MAGIC)] == MAGIC


def read_archive(source: Source) -> tuple[str, dict[str, Any]]:
    """Return the main script and the options; raises :class:`Refused`."""
    members: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(source.content), mode="r:") as archive:
            for count, member in enumerate(archive):
                if count >= MEMBERS_MAX:
                    raise source.refuse("", f"has more than {MEMBERS_MAX:,} files")
                if member.name in {"metadata.json", "data"} and member.isreg():
                    opened = archive.extractfile(member)
                    members[member.name] = opened.read(SCRIPT_BYTES_MAX + 1) if opened else b""
    except (tarfile.TarError, ValueError, OverflowError, EOFError) as error:
        raise source.refuse("", f"is not an archive that can be read: {error}") from None
    if "data" not in members:
        raise source.refuse("", "has no member `data`: it is no archive of `k6 archive`")
    try:
        metadata = json.loads(members.get("metadata.json", b"{}"))
        script = members["data"].decode()
    except (ValueError, RecursionError):
        raise source.refuse("", "has a script or metadata.json that cannot be read") from None
    options = metadata.get("options") if isinstance(metadata, dict) else None
    return script, options if isinstance(options, dict) else {}
