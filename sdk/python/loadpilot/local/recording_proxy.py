"""A reverse proxy on loopback that records the exchanges that pass through it.

It serves ``loadpilot record``. It sends each request on unchanged, except for the parts that name
the proxy itself, and records request and response for the scenario. Bodies of requests are recorded
without their content coding, so that secrets in them are found. Bodies of responses are passed on
piece by piece and not kept.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..library.tables.extras import extra
from ..scenario_file.imports.bodies import body_of_bytes
from ..scenario_file.imports.imported_scenario import Request
from ..scenario_file.imports.recorded_exchanges import Exchange
from ..scenario_file.imports.source import FILE_BYTES_MAX, REQUESTS_MAX
from ..scenario_file.imports.urls import ABSOLUTE, origin_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from ssl import SSLContext

    from aiohttp import ClientResponse, ClientSession, web
    from multidict import CIMultiDict, CIMultiDictProxy

    from ..scenario_file.imports.imported_scenario import Pairs


LOOPBACK = "127.0.0.1"
POLL_SECS = 0.1
"""Maximum delay until an interruption is seen."""
END_SECS = 5.0
"""Timeout of the requests in flight when the recording ends."""
BODY_BYTES_MAX = 16 << 20
"""Maximum size of the body of a request, in bytes."""
HOP_BY_HOP = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te"),
        *("proxy-connection", "trailer", "transfer-encoding", "upgrade"),
        "expect",  # the proxy answers it: it has the whole body before it sends
    }
)
"""Headers of one connection, which are not sent on."""
CODINGS = frozenset({"br", "compress", "deflate", "gzip", "x-gzip", "zstd"})
"""Content codings; a body is recorded without them."""
ZLIB_OR_GZIP = 47
"""Window bits with which zlib detects which of the two a body is."""
UNKEPT = re.compile(r"(?i)secure|samesite=none|domain=.*")
"""Attributes with which a client does not keep a cookie for http on loopback."""
NAMED_FOR_TLS = re.compile(r"(?i)__(?:host|http|secure)-")
"""Beginning of the names of cookies that clients keep with Secure only."""
RENAMED = "recorded"
"""Prefix of such a name between client and proxy."""
RENAMED_COOKIE = re.compile(rf"(?i)(^|;\s*){RENAMED}(?=__(?:host|http|secure)-)")


@dataclass(slots=True)
class RecordingProxy:
    """Records the requests that pass from a port on loopback to a target. Needs aiohttp."""

    port: int
    """Port to listen on; 0 for a free one, which is then set."""
    target: str
    """Scheme, host and port of the target."""
    tell: Callable[[str], None]
    """Shows a line to the user."""
    tls: SSLContext
    """What is checked of the certificate of an https target."""
    exchanges: list[Exchange] = field(default_factory=list)
    """The recorded exchanges, in the order in which the requests came."""
    bodies_bytes: int = 0
    unrecorded: int = 0
    """Number of requests that are not recorded: beyond the limits, or not to be read."""

    @property
    def origin(self) -> str:
        """Scheme, host and port of the proxy."""
        return f"http://{LOOPBACK}:{self.port}"

    async def record(self, is_over: Callable[[], bool], started: Callable[[], None]) -> None:
        """Record until ``is_over``; ``started`` is called when the proxy listens.

        Raises OSError where the port is taken, and MissingPackage without aiohttp.
        """
        aiohttp = extra("aiohttp", "record")
        from aiohttp import web  # noqa: PLC0415  (an optional package)

        # Responses are passed on unchanged: their coding, cookies and redirects.
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=self.tls),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=30),
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        ) as client:

            async def handle(request: web.Request) -> web.StreamResponse:
                return await self._handle(request, client)

            app = web.Application(client_max_size=BODY_BYTES_MAX)
            app.router.add_route("*", "/{path:.*}", handle)
            runner = web.AppRunner(
                app, access_log=None, shutdown_timeout=END_SECS, auto_decompress=False
            )
            await runner.setup()
            try:
                site = web.TCPSite(runner, LOOPBACK, self.port)
                await site.start()
                self.port = runner.addresses[0][1]
                started()
                while not is_over():  # noqa: ASYNC110  (signals are counted, not awaited)
                    await asyncio.sleep(POLL_SECS)
            finally:
                await runner.cleanup()

    async def _handle(self, request: web.Request, client: ClientSession) -> web.StreamResponse:
        from aiohttp import ClientError, web  # noqa: PLC0415  (an optional package)
        from yarl import URL  # noqa: PLC0415

        # Other upgrades are offers, such as that of HTTP/2 without TLS: HTTP/1.1 may answer.
        if "websocket" in request.headers.get("Upgrade", "").lower():
            self.tell(f"{request.method} {request.path}: WebSockets are not recorded")
            return web.Response(status=501, text="loadpilot record does not pass on WebSockets\n")
        try:
            content = await request.read()
        except web.HTTPRequestEntityTooLarge:
            what = f"a body of more than {BODY_BYTES_MAX >> 20} MiB is not passed on"
            self.tell(f"{request.method} {request.path}: {what}")
            self.unrecorded += 1
            return web.Response(status=413, text=f"{what}\n")
        plain = self._plain(request, content)
        exchange = self._exchange(request, plain or b"")
        exchange.started_s = asyncio.get_running_loop().time()
        url = URL(self.target + request.raw_path, encoded=True)
        headers = _passed_on(request.headers)
        headers["Host"] = URL(self.target).authority
        if "Cookie" in headers:
            headers["Cookie"] = _of_target("; ".join(headers.getall("Cookie")))
        for name in ("Origin", "Referer"):
            if name in headers:
                headers[name] = headers[name].replace(_seen_origin(request), self.target, 1)
        try:
            answer = await client.request(
                request.method, url, headers=headers, data=content or None, allow_redirects=False
            )
        except (ClientError, TimeoutError, OSError) as error:
            self.tell(f"{request.method} {request.path}: the target does not answer: {error}")
            return web.Response(status=502, text=f"the target does not answer: {error}\n")
        try:
            async with answer:
                exchange.status = answer.status
                exchange.resource = answer.headers.get("Content-Type", "")
                exchange.set_cookies = frozenset(answer.cookies)
                self._keep(exchange, plain)
                return await self._pass_back(request, answer)
        finally:  # also where the client ends the response
            exchange.ended_s = asyncio.get_running_loop().time()

    async def _pass_back(self, request: web.Request, answer: ClientResponse) -> web.StreamResponse:
        """Send the response of the target to the client."""
        from aiohttp import web  # noqa: PLC0415  (an optional package)

        headers = _passed_on(answer.headers)
        location = headers.get("Location", "")
        absolute = ABSOLUTE.match(location)
        if absolute is not None and origin_of(absolute[0]) == self.target:
            headers["Location"] = _seen_origin(request) + location[absolute.end() :]
        cookies = [_of_loopback(line) for line in headers.popall("Set-Cookie", [])]
        headers.extend([("Set-Cookie", line) for line in cookies])
        passed = web.StreamResponse(status=answer.status, reason=answer.reason, headers=headers)
        await passed.prepare(request)
        async for piece in answer.content.iter_any():
            await passed.write(piece)
        await passed.write_eof()
        return passed

    def _plain(self, request: web.Request, content: bytes) -> bytes | None:
        """Return a body without its content coding; None where that cannot be read."""
        if not content or not _is_coded(request):
            return content
        reader = zlib.decompressobj(ZLIB_OR_GZIP)
        try:
            plain = reader.decompress(content, BODY_BYTES_MAX)
        except zlib.error:
            plain = b""
        if reader.eof and not reader.unused_data:
            return plain
        coding = request.headers["Content-Encoding"]
        what = f"is not recorded: its content coding, {coding}, cannot be read"
        self.tell(f"{request.method} {request.path}: {what}")
        return None

    def _exchange(self, request: web.Request, content: bytes) -> Exchange:
        left_out = _hop_by_hop(request.headers)
        if _is_coded(request):
            left_out.add("content-encoding")
        decoded = (
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in request.raw_headers
        )
        headers: Pairs = [
            ((name,), (_of_target(value) if name.lower() == "cookie" else value,))
            for name, value in decoded
            if name.lower() not in left_out
        ]
        recorded = Request("", request.method, (self.target + request.raw_path,), headers)
        recorded.body = body_of_bytes(content, request.headers.get("Content-Type"))
        return Exchange(recorded, 0.0, 0.0)

    def _keep(self, exchange: Exchange, content: bytes | None) -> None:
        size = self.bodies_bytes + len(content or b"")
        if content is None or len(self.exchanges) >= REQUESTS_MAX or size > FILE_BYTES_MAX:
            self.unrecorded += 1
            return
        self.bodies_bytes = size
        self.exchanges.append(exchange)
        exchange.request.place = f"request {len(self.exchanges)}"


def _seen_origin(request: web.Request) -> str:
    """Return the origin by which the client knows the proxy, such as http://localhost:9000."""
    return f"http://{request.host}"


def _is_coded(request: web.Request) -> bool:
    """Whether the body has a content coding; other texts in that header are none."""
    coding = request.headers.get("Content-Encoding", "").lower()
    return not CODINGS.isdisjoint(re.split(r"[\s,]+", coding))


def _passed_on(headers: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """Return the headers without those of one connection."""
    kept = headers.copy()
    for name in _hop_by_hop(headers):
        kept.popall(name, None)
    return kept


def _hop_by_hop(headers: CIMultiDictProxy[str]) -> set[str]:
    """Return the names of the headers of one connection, in lower case."""
    named = {name.strip().lower() for name in headers.get("Connection", "").split(",")}
    return {*HOP_BY_HOP, *named} - {""}


def _of_loopback(cookie: str) -> str:
    """Return a Set-Cookie line that a client keeps for http on loopback."""
    pair, *attributes = cookie.split(";")
    # Without Secure a client refuses a cookie for all sites, SameSite=None.
    kept = [one for one in attributes if not UNKEPT.fullmatch(one.strip())]
    pair = pair.lstrip()
    return ";".join([f"{RENAMED}{pair}" if NAMED_FOR_TLS.match(pair) else pair, *kept])


def _of_target(cookies: str) -> str:
    """Return a Cookie header with the names that the target gave."""
    return RENAMED_COOKIE.sub(r"\1", cookies)
