"""The guard: rejects requests before they reach a route, and adds headers for browsers.

Requests with a foreign Origin are rejected on every path. On loopback, which any page in a local
browser reaches, Host must name loopback, against DNS rebinding.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from http import HTTPStatus
from time import monotonic
from typing import TYPE_CHECKING

from ..limits import ADJUST_BYTES_MAX, BODY_BYTES_MAX, BODY_SECS, POST_BYTES_MAX
from ..problem import CONTENT_TOO_LARGE, ApiError, Code
from .auth import NoRule
from .identity import METRICS_READER
from .listen import site_of
from .permissions import permit
from .request_limit import tokens_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ..tenants import Tenants
    from .auth import Authenticator
    from .identity import Identity

API = "/api/"
METRICS = "/metrics"
OTHER_ROUTE = "other"
"""Name under which answers to paths without a route are counted, such as files of the web UI."""
ASSETS = "/assets/"
"""Files of the web UI whose names hold a hash of their content."""
PROBES = frozenset({"/healthz", "/readyz"})
"""Paths that probes reach by address, without a proxy."""
OPEN = PROBES | {"/api/v1/session"}
"""Paths without authentication: probes and sign-in. Files of the web UI need none either."""
POSTED = {
    "/api/v1/runs": POST_BYTES_MAX,
    "/api/v1/plans/check": POST_BYTES_MAX,
    "/api/v1/plans/adjust": ADJUST_BYTES_MAX,
}
"""Paths that take large bodies, and the maximum bytes of each."""
SCHEMES = frozenset({"http", "https"})
CLOSE = {"Connection": "close"}
POLICY = (
    "default-src 'self'; base-uri 'none'; object-src 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"x-frame-options", b"DENY"),
)
KEPT = (b"cache-control", b"public, max-age=31536000, immutable")
FRESH = (b"cache-control", b"no-cache")
LASTING = (b"strict-transport-security", b"max-age=31536000")
HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:(?P<port>\d{1,5}))?")


class Guard:
    """ASGI middleware in front of the application."""

    def __init__(
        self,
        app: ASGIApp,
        authenticator: Authenticator,
        tenants: Tenants,
        *,
        is_loopback: bool,
        now: Callable[[], float] = monotonic,
    ) -> None:
        """Take the application, the tenants, which count answers, and whether the
        gateway listens on loopback only; and the clock of limits, in seconds.
        """  # noqa: D205
        self._app = app
        self._tenants = tenants
        self._authenticator = authenticator
        self._is_loopback = is_loopback
        self._now = now
        self._once = {"host", "origin", "authorization", authenticator.group_header or "host"}
        if authenticator.proxy is not None:
            self._once.add(authenticator.proxy.header)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer with an error."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = getattr(scope.get("route"), "path", OTHER_ROUTE)
                self._count(scope, (route, message["status"]))
                more = [LASTING] if self._authenticator.is_secure else []
                if not scope["path"].startswith(API):
                    named = scope["path"].startswith(ASSETS) and message["status"] == HTTPStatus.OK
                    more.append(KEPT if named else FRESH)
                message["headers"] = [*message.get("headers", []), *HEADERS, *more]
            await send(message)

        try:
            self._admit(scope)
            limited = within(scope, receive)
        except ApiError as error:
            await error.response()(scope, receive, guarded)
            return
        await self._app(scope, limited, guarded)

    def _count(self, scope: Scope, answer: tuple[str, int]) -> None:
        """Count an answer for its tenant, and for all."""
        self._tenants.requests[answer] += 1
        scope["state"]["gateway"].requests[answer] += 1

    def _admit(self, scope: Scope) -> None:
        """Store the caller and the gateway of its tenant; raises ApiError for one without either.

        A path that is open to all has the first tenant's gateway.
        """
        state = scope.setdefault("state", {})
        state["caller"], state["gateway"] = None, self._tenants.first
        try:
            caller = self._caller(scope)
        except ApiError:
            self._limit_address(scope)
            raise
        except NoRule as unmapped:
            self._limit_address(scope)
            path: str = scope["path"]
            if path in OPEN or (not path.startswith(API) and path != METRICS):
                return
            why = f"no rule of the proxy admits {unmapped}"
            has_keys = self._authenticator.keys is not None
            raise (unauthorized(f"{why}; show a key") if has_keys else forbidden(why)) from None
        state["caller"] = caller
        if caller is None or caller is METRICS_READER or scope["path"] in PROBES:
            self._limit_address(scope)
            return
        gateway = self._tenants.of(caller.tenant)
        if gateway is None:
            self._limit_address(scope)
            raise forbidden(f"this gateway does not serve the tenant {caller.tenant}")
        state["gateway"] = gateway
        if gateway.buckets is not None:
            method, path = scope["method"], scope["path"]
            tokens = tokens_of(method, path, scope["headers"])
            gateway.buckets.admit(caller.tenant, method, path, tokens, self._now())
        if scope["path"] not in OPEN:
            permit(caller, scope["method"], scope["path"])

    def _limit_address(self, scope: Scope) -> None:
        """Count a request without a valid key for its address; raises ApiError above the limit.

        The address of the proxy is that of many callers, and is not limited.
        """
        peer = (scope.get("client") or ("", 0))[0]
        proxy = self._authenticator.proxy
        if self._tenants.addresses is None or not peer or (proxy and proxy.is_at(peer)):
            return
        tokens = tokens_of(scope["method"], scope["path"], scope["headers"])
        is_probe = scope["path"] in PROBES or scope["state"]["caller"] is METRICS_READER
        self._tenants.addresses.admit(site_of(peer), tokens, self._now(), is_probe=is_probe)

    def _caller(self, scope: Scope) -> Identity | None:
        """Find the name of the caller; raises ApiError for a request that is rejected."""
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            key, text = name.decode("latin-1"), value.decode("latin-1")
            if key in headers and key in self._once:
                raise forbidden(f"the header {key} is repeated")
            headers[key] = f"{headers[key]}; {text}" if key in headers else text
        host = HOST.fullmatch(headers.get("host", ""))
        if host is None:
            raise forbidden("Host must be host or host:port")
        proxy = self._authenticator.proxy
        path: str = scope["path"]
        if proxy is None:
            if self._is_loopback and not is_loopback(host["name"]):
                raise forbidden("Host must be localhost or a loopback address")
        elif proxy.names and path not in PROBES and host["name"].lower() not in proxy.names:
            raise forbidden("Host must be one of LOADPILOT_GATEWAY_PUBLIC_NAMES")
        scheme = None if proxy is not None else "https" if self._authenticator.is_tls else "http"
        if "origin" in headers and not is_same(headers["origin"], scheme, headers["host"]):
            raise forbidden("requests of other origins are rejected")
        peer = (scope.get("client") or ("", 0))[0]
        caller = self._authenticator.caller(headers, peer)
        if path == METRICS and caller is None and self._authenticator.reads_metrics(headers, peer):
            return METRICS_READER
        is_open = not path.startswith(API) and path != METRICS
        if caller is None and not is_open and path not in OPEN:
            how = "authenticate by Authorization: Bearer TOKEN, or open the printed link"
            raise unauthorized(how)
        return caller


def is_loopback(name: str) -> bool:
    """Whether a host is `localhost` or a loopback address."""
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def is_same(origin: str, scheme: str | None, host: str) -> bool:
    """Whether an origin is this server; behind a proxy, which may end TLS, by host only."""
    kind, _, rest = origin.partition("://")
    return rest.lower() == host.lower() and (kind == scheme if scheme else kind in SCHEMES)


def unauthorized(how: str) -> ApiError:
    """Build the answer for a caller that has to authenticate."""
    challenge = {"WWW-Authenticate": "Bearer"}
    return ApiError(HTTPStatus.UNAUTHORIZED, Code.UNAUTHORIZED, how, headers=challenge)


def forbidden(why: str) -> ApiError:
    """Build the answer for a request that is rejected."""
    return ApiError(HTTPStatus.FORBIDDEN, Code.FORBIDDEN, why)


def within(scope: Scope, receive: Receive) -> Receive:
    """Limit size and time of a request's body; raises ApiError at once or from `receive`."""
    if scope["method"] != "POST":
        return receive
    most = POSTED.get(scope["path"], BODY_BYTES_MAX)
    length = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    if length.isdigit() and int(length[:20]) > most:
        raise too_large(most)
    deadline: float | None = None
    size = 0
    whole = False

    async def received() -> Message:
        nonlocal deadline, size, whole
        if whole:
            # After the body only the end of the connection comes: without a timeout.
            return await receive()
        deadline = deadline or asyncio.get_running_loop().time() + BODY_SECS
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError:
            late = f"the body must come within {BODY_SECS:.0f} s"
            raise ApiError(HTTPStatus.REQUEST_TIMEOUT, Code.TOO_SLOW, late, headers=CLOSE) from None
        size += len(message.get("body", b""))
        if size > most:
            raise too_large(most)
        whole = not message.get("more_body", False)
        return message

    return received


def too_large(most: int) -> ApiError:
    """Build the answer for a body that is too large, the rest of which is not read."""
    detail = f"the body must be at most {most} bytes"
    return ApiError(CONTENT_TOO_LARGE, Code.TOO_LARGE, detail, headers=CLOSE)
