"""Compression of answers and of the files of the web UI, for callers that accept gzip.

Must never touch an event stream: a live view would wait until a block of the compressor is full.

The length of a compressed answer shows how much of an attacker's text in it is equal to a secret.
There is no secret in any answer: tokens and session cookies are in headers only, secrets of runs
are in no log, and the guard rejects requests of other origins, so that no page can repeat them.
"""

from __future__ import annotations

import gzip
import mimetypes
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import ASGIApp, Receive, Scope, Send

COMPRESSED_BYTES_MIN = 1_000
"""Minimum length of an answer that is compressed: below that, a packet holds it anyway."""
ANSWER_LEVEL = 6
"""Level for answers: higher ones cost twice the time for one percent."""
FILE_LEVEL = 9
"""Level for files, which are compressed once."""


class Compressed:
    """ASGI middleware around the application."""

    def __init__(self, app: ASGIApp, static: Path) -> None:
        """Take the application, and the built web UI, whose assets are compressed here."""
        # Starlette's middleware leaves text/event-stream and compressed answers as they are.
        self._app = GZipMiddleware(app, COMPRESSED_BYTES_MIN, ANSWER_LEVEL)
        self._assets = {
            f"/{file.relative_to(static).as_posix()}": asset(file)
            for file in static.glob("assets/*")
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with a compressed asset, or pass the request on."""
        found = self._assets.get(scope["path"]) if scope["type"] == "http" else None
        is_read = found is not None and scope["method"] in {"GET", "HEAD"}
        if (
            found is not None
            and is_read
            and "gzip" in Headers(scope=scope).get("accept-encoding", "")
        ):
            await found(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def asset(file: Path) -> Response:
    """Build the answer with a file whose name holds a hash of its content."""
    kind = mimetypes.guess_type(file.name)[0]
    headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    content = gzip.compress(file.read_bytes(), FILE_LEVEL, mtime=0)
    return Response(content, headers=headers, media_type=kind)
