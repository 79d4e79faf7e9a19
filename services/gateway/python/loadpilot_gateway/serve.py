"""Serving: a socket, a server that cuts off who says or reads nothing, and its end.

Must never keep a connection for somebody who does not use it: others need its place.
"""

from __future__ import annotations

import logging
import socket
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .limits import CONNECTIONS_MAX, HEAD_SECS, STALLED_SECS

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType

    from starlette.types import ASGIApp

END_SECS = 5
"""How long answers may take to end when the gateway does."""
HEAD_BYTES_MAX = 64 << 10
"""Longest head of a request."""


class Door(H11Protocol):
    """One connection."""

    _silence: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody connects, and has to say what for."""
        super().connection_made(transport)
        self._silence = self.loop.call_later(HEAD_SECS, self._hang_up_on_silence)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        for timer in (self._silence, self._stall):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """More was sent than is read."""
        super().pause_writing()
        self._stall = self.loop.call_later(STALLED_SECS, self.transport.abort)

    def resume_writing(self) -> None:
        """It is read again."""
        if self._stall is not None:
            self._stall.cancel()
        super().resume_writing()

    def _hang_up_on_silence(self) -> None:
        if getattr(self, "cycle", None) is None:
            self.transport.abort()


class Server(uvicorn.Server):
    """A server that tells when it begins to end: live views would go on otherwise."""

    def __init__(self, config: uvicorn.Config, ending: Callable[[], None]) -> None:
        """Take what is to be told."""
        super().__init__(config)
        self._ending = ending

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Hear Ctrl-C or SIGTERM."""
        super().handle_exit(sig, frame)
        self._ending()

    def end(self) -> None:
        """End as if told to; from any thread."""
        self.should_exit = True


def bound(host: str, port: int) -> socket.socket:
    """Take a port; raises OSError."""
    family, kind, proto, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, proto)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(socket.SOMAXCONN)
    except OSError:
        listener.close()
        raise
    return listener


def server(
    app: ASGIApp, ending: Callable[[], None], tls: tuple[Path, Path] | None = None
) -> Server:
    """Make a server of an application."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    config = uvicorn.Config(
        app,
        http=Door,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS_MAX,
        timeout_graceful_shutdown=END_SECS,
        h11_max_incomplete_event_size=HEAD_BYTES_MAX,
        ssl_certfile=tls[0] if tls else None,
        ssl_keyfile=tls[1] if tls else None,
    )
    return Server(config, ending)
