"""The cookies of one user, with the rules of browsers: host, path, age and security.

Adapts requests and responses to the interface of the standard library's cookie jar.
"""

from __future__ import annotations

from email.message import Message
from http.cookiejar import Cookie, CookieJar
from typing import TYPE_CHECKING, Any
from urllib.request import Request as JarRequest

if TYPE_CHECKING:
    from .._native import Response


COOKIES_MAX = 180
"""Maximum number of cookies of a user, as browsers keep of a site; beyond it all are dropped."""


class _JarResponse:
    """A response with the interface that the jar expects."""

    def __init__(self, response: Response) -> None:
        self._message = Message()
        for line in response.headers.get_list("set-cookie"):
            self._message["Set-Cookie"] = line

    def info(self) -> Message:
        return self._message


class Cookies:
    """The cookies of one user."""

    def __init__(self, target: str) -> None:
        """Start without any; ``target`` is the origin of all requests."""
        self._target = target
        self._jar = CookieJar()
        self.is_empty = True

    def take(self, response: Response, path: str) -> None:
        """Store the cookies of the response to a request of ``path``."""
        request = self._jar_request(path)
        self._jar.extract_cookies(_JarResponse(response), request)  # type: ignore[arg-type]
        if len(self._jar) > COOKIES_MAX:  # the target sets a new one each time
            self._jar.clear()
        self.is_empty = len(self._jar) == 0

    def header(self, path: str) -> str | None:
        """Return the Cookie header of a request of ``path``; None when no cookie matches."""
        if self.is_empty:
            return None
        request = self._jar_request(path)
        self._jar.add_cookie_header(request)
        return request.get_header("Cookie")

    def state(self) -> list[dict[str, Any]]:
        """Return the cookies as JSON values."""
        return [vars(cookie) for cookie in self._jar]

    def restore(self, state: list[dict[str, Any]]) -> None:
        """Add the cookies of a :meth:`state`."""
        for fields in state:
            arguments = {("rest" if name == "_rest" else name): v for name, v in fields.items()}
            self._jar.set_cookie(Cookie(**arguments))
        self.is_empty = len(self._jar) == 0

    def _jar_request(self, path: str) -> JarRequest:
        return JarRequest(self._target + path)  # noqa: S310  (it is never opened)
