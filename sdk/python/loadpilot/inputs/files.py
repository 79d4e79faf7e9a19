"""A request body from a file: ``client.post("/infer", content=file("image.jpg"))``.

``file()`` only records the path; the compiler reads the file, once. The result depends on the
file's content and name, not on the machine: equal files make equal plans.
"""

from __future__ import annotations

import os
import stat
import sys
from functools import cached_property
from pathlib import Path

FILE_BYTES_MAX = 64 * 1024 * 1024
"""Maximum size of a file, in bytes: that of the largest body of a plan."""


class File:
    """A file that serves as a body or a tensor."""

    def __init__(self, path: object, folder: Path) -> None:
        """Take the path as written, and the folder of relative paths."""
        self.path = path
        self.folder = folder

    def __repr__(self) -> str:
        return f"file({self.path!r})"

    @cached_property
    def content(self) -> bytes:
        """The bytes of the file; raises ValueError when it cannot be read."""
        if not isinstance(self.path, str | os.PathLike):
            raise ValueError(  # noqa: TRY004  (every refusal of a body is a ValueError)
                f"{self!r}: file() takes a path, not {type(self.path).__name__}"
            )
        if "\0" in os.fspath(self.path):
            raise ValueError(f"{self!r}: a path cannot hold NUL")
        path = self.folder / self.path
        try:
            mode = path.stat().st_mode
            if stat.S_ISDIR(mode):
                raise ValueError(f"{self!r}: {path} is a directory; name a file")
            if not stat.S_ISREG(mode):  # a pipe or device may never end, or differ each time
                raise ValueError(f"{self!r}: {path} is not a regular file")
            with path.open("rb") as opened:
                content = opened.read(FILE_BYTES_MAX + 1)
        except FileNotFoundError:
            raise ValueError(f"{self!r}: there is no file {path}") from None
        except OSError as error:
            raise ValueError(f"{self!r}: {path} cannot be read: {error.strerror}") from None
        if len(content) > FILE_BYTES_MAX:
            limit = f"{FILE_BYTES_MAX // 1024 // 1024} MiB"
            raise ValueError(f"{self!r}: {path} is larger than {limit}, the largest body")
        return content

    @property
    def content_type(self) -> str | None:
        """The media type that follows from the file's name; None when it is unknown."""
        from mimetypes import MimeTypes  # noqa: PLC0415  (start-up is a promise)

        # Without the machine's own tables: they differ, and so would the plans.
        kind, coding = MimeTypes().guess_type(os.fspath(self.path))  # type: ignore[call-overload]
        return kind if coding is None else CODED.get(coding)


CODED = {"gzip": "application/gzip"}
"""Media types of compressed files, by their encoding: the compressed bytes are sent."""


def file(path: str | os.PathLike[str]) -> File:
    """Name a file as a request body: ``content=file("image.jpg")``.

    A relative path starts from the folder of the file that contains the call. The file is read
    once, when the scenario is compiled, and all agents send the same bytes. A request without a
    ``Content-Type`` gets the one of the file's name, if that is known.
    """
    written_in = sys._getframe(1).f_code.co_filename  # noqa: SLF001  (CPython's documented door)
    folder = Path(written_in).parent
    key = (repr(path), str(folder))
    if key not in _named:
        _named[key] = File(path, folder.resolve())
    return _named[key]


_named: dict[tuple[str, str], File] = {}
"""All files, one entry each: a task that runs in Python calls ``file()`` at every arrival."""


def named_files() -> list[File]:
    """List the files named by calls of :func:`file` so far.

    They are part of the bundle of a scenario that runs in Python.
    """
    return list(_named.values())
