"""The cookies of one user, kept as a browser keeps them: by host, path, age and security.

The standard library's jar does the keeping; here its idea of requests and answers is met.
"""

from __future__ import annotations

from email.message import Message
from http.cookiejar import Cookie, CookieJar
from typing import TYPE_CHECKING, Any
from urllib.request import Request as Asked

if TYPE_CHECKING:
    from .._native import Response


COOKIES_MAX = 180
"""Most cookies of a user, as many as browsers keep of a site; beyond them all are forgotten."""


class _Heard:
    """An answer as the jar wants to see it."""

    def __init__(self, response: Response) -> None:
        self._message = Message()
        for line in response.headers.get_list("set-cookie"):
            self._message["Set-Cookie"] = line

    def info(self) -> Message:
        return self._message


class Cookies:
    """The cookies of one user."""

    def __init__(self, target: str) -> None:
        """Start with none; ``target`` is where all requests go."""
        self._target = target
        self._jar = CookieJar()
        self.is_empty = True

    def take(self, response: Response, path: str) -> None:
        """Keep what an answer to a request of ``path`` brings."""
        self._jar.extract_cookies(_Heard(response), self._asked(path))  # type: ignore[arg-type]
        if len(self._jar) > COOKIES_MAX:  # a target that sets another one each time
            self._jar.clear()
        self.is_empty = len(self._jar) == 0

    def header(self, path: str) -> str | None:
        """Write the header of a request of ``path``; None when no cookie is meant for it."""
        if self.is_empty:
            return None
        asked = self._asked(path)
        self._jar.add_cookie_header(asked)
        return asked.get_header("Cookie")

    def state(self) -> list[dict[str, Any]]:
        """Write them as JSON."""
        return [vars(cookie) for cookie in self._jar]

    def restore(self, state: list[dict[str, Any]]) -> None:
        """Take what :meth:`state` wrote elsewhere."""
        for written in state:
            own = {("rest" if name == "_rest" else name): one for name, one in written.items()}
            self._jar.set_cookie(Cookie(**own))
        self.is_empty = len(self._jar) == 0

    def _asked(self, path: str) -> Asked:
        return Asked(self._target + path)  # noqa: S310  (it is never opened)
