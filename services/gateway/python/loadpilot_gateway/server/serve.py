"""The HTTP server: uvicorn with timeouts for heads, stalled readers and TLS handshakes.

Must never keep a connection beyond these timeouts, since their number is limited.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import sys
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..limits import (
    FILES_BESIDE,
    HEAD_SECS,
    LIVE_VIEWS_DEFAULT,
    REQUEST_CONNECTIONS_MAX,
    STALLED_SECS,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType

    from starlette.types import ASGIApp

END_SECS = 5
"""Timeout for answers under way when the gateway ends."""
SWITCH_SECS = 0.0005
"""How long a thread may hold the interpreter's lock while another one waits for it: an answer
changes threads several times, and each change would wait up to 5 ms beside a busy tenant."""
HEAD_BYTES_MAX = 64 << 10
"""Maximum bytes of a request's head."""


class TimedProtocol(H11Protocol):
    """One connection, which is cut when no request begins, or no answer is read, in time."""

    _silence: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout of the first head."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timers."""
        for timer in (self._silence, self._stall):
            if timer is not None:
                timer.cancel()
        self._silence = self._stall = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; only a whole head ends its timeout, neither a part of one nor a body."""
        super().data_received(data)
        self._wait()

    def on_response_complete(self) -> None:
        """Start the timeout of the next head, which covers the rest of an unread body."""
        super().on_response_complete()
        self._wait()

    def pause_writing(self) -> None:
        """Start the timeout of a caller that does not read."""
        super().pause_writing()
        self._await_reader()

    def resume_writing(self) -> None:
        """Cancel the timeout of :meth:`pause_writing`: the caller reads again."""
        if self._stall is not None:
            self._stall.cancel()
        super().resume_writing()

    def _wait(self) -> None:
        """Run the timer of the head exactly while no request is under way."""
        is_waiting = getattr(self.cycle, "response_complete", True)
        if is_waiting and self._silence is None:
            unread = self.transport.get_write_buffer_size()
            self._silence = self.loop.call_later(HEAD_SECS, self._hang_up_on_silence, unread)
        elif not is_waiting and self._silence is not None:
            self._silence.cancel()
            self._silence = None

    def _await_reader(self) -> None:
        unread = self.transport.get_write_buffer_size()
        self._stall = self.loop.call_later(STALLED_SECS, self._hang_up_on_stall, unread)

    def _hang_up_on_silence(self, unread: int) -> None:
        self._silence = None
        if self.flow.write_paused or self._reads(unread):
            self._wait()
        else:
            self.transport.abort()

    def _hang_up_on_stall(self, unread: int) -> None:
        if self._reads(unread):
            self._await_reader()
        else:
            self.transport.abort()

    def _reads(self, unread: int) -> bool:
        """Whether the caller reads the rest of an answer: the buffer shrinks."""
        return 0 < self.transport.get_write_buffer_size() < unread


class Server(uvicorn.Server):
    """A server that calls `ending` when its end begins, so that live views end."""

    def __init__(self, config: uvicorn.Config, ending: Callable[[], None]) -> None:
        """Take the callback."""
        super().__init__(config)
        self._ending = ending

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle Ctrl-C or SIGTERM."""
        super().handle_exit(sig, frame)
        self._ending()

    def end(self) -> None:
        """End as after a signal; from any thread."""
        self.should_exit = True


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose TLS handshakes have the timeout of a head."""

    async def create_server(self, *args: Any, **named: Any) -> asyncio.Server:
        """Create the server, with the timeout where there is TLS."""
        if named.get("ssl") is not None:
            named.setdefault("ssl_handshake_timeout", HEAD_SECS)
        return await super().create_server(*args, **named)


def connections_max(views: int) -> int:
    """Return the maximum number of connections for a number of live views."""
    return REQUEST_CONNECTIONS_MAX + views


def files_lacking(views: int) -> int | None:
    """Return the hard limit of open files if it is too low for a number of live views."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    is_enough = hard == resource.RLIM_INFINITY or hard >= connections_max(views)
    return None if is_enough else hard


def server(
    app: ASGIApp,
    ending: Callable[[], None],
    tls: tuple[Path, Path] | None = None,
    views: int = LIVE_VIEWS_DEFAULT,
) -> Server:
    """Build the server of an application with so many live views, and raise the limit of open
    files.
    """  # noqa: D205
    wanted = connections_max(views) + FILES_BESIDE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    sys.setswitchinterval(SWITCH_SECS)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    config = uvicorn.Config(
        app,
        http=TimedProtocol,
        ws="none",
        loop=f"{__name__}:{Loop.__name__}",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=connections_max(views),
        timeout_graceful_shutdown=END_SECS,
        h11_max_incomplete_event_size=HEAD_BYTES_MAX,
        ssl_certfile=tls[0] if tls else None,
        ssl_keyfile=tls[1] if tls else None,
    )
    return Server(config, ending)
