"""The HTTP session of one user: encoding of its requests, its cookies and its redirects.

Arguments have the meaning that they have in httpx. An invalid one raises at the line of the call.
The native client calls this module when a request needs encoding, cookies or redirects.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urljoin, urlsplit

from .._native import Request
from ..errors import RedirectError
from ..inputs.units import duration_us
from ..request.encoding import checked_method, encode_body, target_path
from ..request.headers import with_auth, with_cookies
from ..request.kwargs import EXTRAS, unknown_keyword
from ..request.streams import stream_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._native import Client, Response
    from ..client import InBatch
    from .cookies import Cookies

HOPS_MAX = 20
"""Maximum number of redirects of one request, as with httpx."""
REDIRECTS = frozenset({301, 302, 303, 307, 308})
TOO_MANY_HOPS = f"more than {HOPS_MAX} redirects, the last one to {{}}"

_plain_path = lru_cache(maxsize=4096)(lambda path: target_path(path, None))


class Conversation:
    """Builds the requests of one user, and holds its cookies and steps."""

    def __init__(self, target: str) -> None:
        """Start without cookies; ``target`` is the base URL of all requests."""
        self.origin, self.base = split(target)
        self.cookies: Cookies | None = None
        """None until the target sets one: most set none, and the jar is slow to import."""
        self.steps = ""
        """The names of the current steps, each followed by `` / ``."""

    @property
    def has_cookies(self) -> bool:
        """Whether the target has set any."""
        return self.cookies is not None and not self.cookies.is_empty

    def state(self) -> list[dict[str, Any]]:
        """Return the cookies as JSON values."""
        return [] if self.cookies is None else self.cookies.state()

    def restore(self, cookies: list[dict[str, Any]]) -> None:
        """Restore the cookies of a prepared user."""
        if cookies:
            self._own_cookies().restore(cookies)

    def follow(self, client: Client, made: Request) -> Response:
        """Send a request and follow its redirects."""
        for _ in range(HOPS_MAX):
            response: Response = client.send(made)
            following = self.next_request(made, response)
            if following is None:
                return response
            made = following
        raise RedirectError(TOO_MANY_HOPS.format(made.path))

    async def follow_awaited(self, client: Client, made: Request) -> Response:
        """Send a request and follow its redirects, in a coroutine."""
        for _ in range(HOPS_MAX):
            response: Response = await client.send(made)
            following = self.next_request(made, response)
            if following is None:
                return response
            made = following
        raise RedirectError(TOO_MANY_HOPS.format(made.path))

    def next_request(self, made: Request, response: Response) -> Request | None:
        """Return the request that a redirect leads to; None for any other response."""
        location = response.headers.get("location")
        if response.status_code not in REDIRECTS or location is None:
            return None
        return self._redirected(made, response.status_code, location)

    def cookie(self, path: str, own: Any) -> str | None:
        """Return the Cookie header of a request: the user's cookies and the request's ``own``."""
        stored = None if self.cookies is None else self.cookies.header(self._full(path))
        extra = dict(_headers(with_cookies(None, own))).get("Cookie")
        both = "; ".join(pairs for pairs in (stored, extra) if pairs)
        return both or None

    def keep_cookies(self, response: Response, path: str) -> bool:
        """Store the cookies of a response; returns whether the user has any now."""
        self._own_cookies().take(response, self._full(path))
        return self.has_cookies

    def _own_cookies(self) -> Cookies:
        if self.cookies is None:
            from .cookies import Cookies  # noqa: PLC0415  (start-up is a promise)

            self.cookies = Cookies(self.origin)
        return self.cookies

    def _full(self, path: str) -> str:
        """Return the path on the wire of one relative to the target."""
        return path[1:] if self.base and path.startswith("//") else self.base + path

    def _relative(self, full: str) -> str:
        """Return a path of the origin relative to the target.

        One outside of the base path gets a second slash in front; encoding refuses this form, so
        no scenario can write it.
        """
        rest = full.removeprefix(self.base)
        is_below = not self.base or (rest != full and rest[:1] == "/" != rest[1:2])
        return rest if is_below else f"/{full}"

    @staticmethod
    def method(name: object) -> str:
        """Return a method in upper case; raises ValueError for an unknown one."""
        return checked_method(name)

    @contextmanager
    def step(self, client: Client, name: object) -> Iterator[None]:
        """Group the requests of a ``with`` block under a name."""
        if not isinstance(name, str) or not name:
            raise TypeError(f"client.step() takes a name, not {name!r}")
        around, self.steps = self.steps, f"{self.steps}{name} / "
        client.is_in_step = True
        try:
            yield
        finally:
            self.steps = around
            client.is_in_step = bool(around)

    def in_batch(self, one: InBatch) -> Request:
        """Build one request of a batch."""
        if "path" not in one:
            raise TypeError('client.batch() takes dicts such as {"method": "GET", "path": "/a"}')
        extras = {name: value for name, value in one.items() if name not in {"method", "path"}}
        return self.request(one.get("method", "GET"), one["path"], extras)

    def request(self, verb: str, path: Any, extras: Mapping[str, Any]) -> Request:
        """Build a request from its arguments; raises TypeError or ValueError for invalid ones."""
        verb = checked_method(verb)
        for name in extras:
            if name not in EXTRAS:
                raise TypeError(unknown_keyword(f"client.{verb.lower()}()", name))
        encoded = encode_body(extras)
        where = _path(path, extras.get("params"))
        headers = _headers(with_auth(extras.get("headers"), extras.get("auth")))
        names = {name.lower() for name, _ in headers}
        cookie = self.cookie(where, extras.get("cookies"))
        if cookie is not None and "cookie" not in names:
            headers.append(("Cookie", cookie))
        if encoded is not None and encoded.content_type and "content-type" not in names:
            headers.append(("Content-Type", encoded.content_type))
        timeout, called = extras.get("timeout"), extras.get("name")
        if called is not None and not isinstance(called, str):
            raise TypeError(f"name= must be text, not {type(called).__name__}")
        if self.steps:
            called = self.steps + (called or f"{verb} {where.partition('?')[0]}")
        content = None if encoded is None else encoded.content
        timeout_us = None if timeout is None else duration_us("timeout", timeout)
        return Request(verb, where, headers, content, timeout_us, called, **stream_options(extras))

    def _redirected(self, made: Request, status: int, location: str) -> Request:
        """Build the request of a redirect (RFC 9110, section 15.4, as browsers do it)."""
        where = urlsplit(urljoin(self.origin + self._full(made.path), location))
        if _origin(where) != _origin(urlsplit(self.origin)):
            # Path and query are left out: they may hold a secret.
            elsewhere = f"{where.scheme}://{where.hostname}"
            raise RedirectError(f"the answer leads to {elsewhere}, which is not the target")
        path = where.path or "/"
        path = self._relative(_path(f"{path}?{where.query}" if where.query else path, None))
        verb, content = made.method, made.body
        if (status in {302, 303} and verb != "HEAD") or (status == 301 and verb == "POST"):
            verb, content = "GET", None
        headers = [(name, value) for name, value in made.headers if name.lower() != "cookie"]
        cookie = self.cookie(path, None)
        headers += [("Cookie", cookie)] if cookie else []
        return made.led_to(verb, path, headers, content)


def split(target: str) -> tuple[str, str]:
    """Split a target into its origin and its base path, which may be empty."""
    end = target.find("/", target.find("://") + 3)
    return (target, "") if end < 0 else (target[:end], target[end:])


def _origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port of a URL, the default port written out."""
    ports = {"http": 80, "https": 443}
    return url.scheme, url.hostname, url.port or ports.get(url.scheme)


def _path(path: Any, params: Any) -> str:
    if isinstance(path, str) and not path.startswith("/") and "://" not in path:
        path = f"/{path}"
    encoded: str = target_path(path, params) if params else _plain_path(path)
    return encoded


def _headers(written: Any) -> list[tuple[str, str]]:
    if written is None:
        return []
    pairs = list(written.items() if isinstance(written, Mapping) else written)
    for pair in pairs:
        if not all(isinstance(text, str) for text in pair):
            raise TypeError(f"header {pair[0]!r} must have text as its value")
    return pairs
