"""The client of a user while its scenario runs: turns what a task wrote into requests.

Arguments mean what they mean to httpx. What cannot be sent is an error at the line that wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from .._native import Request
from ..client import LoadClient
from ..compile.durations import duration_us
from ..compile.encode import body, method, target_path
from ..compile.extras import EXTRAS, STREAMS, unknown
from ..compile.headers import with_auth, with_cookies
from ..errors import RedirectError
from .cookies import Cookies
from .inside import understood

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from .._native import Response
    from ..client import InBatch
    from .inside import Playing, Wish

HOPS_MAX = 20
"""Most redirects that one request follows, as with httpx."""
REDIRECTS = frozenset({301, 302, 303, 307, 308})

_plain_path = lru_cache(maxsize=4096)(lambda path: target_path(path, None))


class Conversation:
    """What the clients of one user have in common: its cookies, and where answers lead it."""

    def __init__(self, target: str) -> None:
        """Start with no cookies; ``target`` is where all requests go."""
        self.target = target
        self.cookies = Cookies(target)
        self.follows = False
        """Whether redirects are followed unless a request says."""
        self.last: Response | None = None
        """The answer to the last request, unless that got none."""

    def talk(
        self, verb: str, path: Any, extras: Mapping[str, Any]
    ) -> Generator[Wish, tuple[int, Any], Response]:
        """Make a request, and those that its answers lead to."""
        self.last = None
        made = self.request(verb, path, extras)
        response = self.heard(understood(*(yield made)), made)
        if not extras.get("follow_redirects", self.follows):
            return response
        for _ in range(HOPS_MAX):
            location = response.headers.get("location")
            if response.status_code not in REDIRECTS or location is None:
                return response
            made = self.redirected(made, response.status_code, location)
            self.last = None
            response = self.heard(understood(*(yield made)), made)
        raise RedirectError(f"more than {HOPS_MAX} redirects, the last one to {location!r}")

    def talk_at_once(
        self, requests: Sequence[InBatch]
    ) -> Generator[Wish, tuple[int, Any], list[Response]]:
        """Make several requests at a time."""
        self.last = None
        made = [self.in_batch(one) for one in requests]
        answers = understood(*(yield made))
        heard: list[Response] = []
        error: Exception | None = None
        for one, said in zip(made, answers, strict=True):
            try:
                heard.append(self.heard(understood(*said), one))
            except Exception as failed:  # noqa: BLE001  (the first of them is raised)
                error = error or failed
        if error is not None:
            self.last = None
            raise error
        return heard

    def in_batch(self, one: InBatch) -> Request:
        """Make one request of a batch."""
        if not isinstance(one, Mapping) or "path" not in one:  # type: ignore[redundant-expr]
            raise TypeError('client.batch() takes dicts such as {"method": "GET", "path": "/a"}')
        extras = {name: value for name, value in one.items() if name not in {"method", "path"}}
        return self.request(one.get("method", "GET"), one["path"], extras)

    def heard(self, response: Response, made: Request) -> Response:
        """Keep what an answer leaves behind."""
        self.last = response
        if response._brings_cookies:  # noqa: SLF001  (the native side of the same thing)
            self.cookies.take(response, made.path)
        return response

    def request(self, verb: str, path: Any, extras: Mapping[str, Any]) -> Request:
        """Make a request of what a task wrote; raises TypeError or ValueError with a sentence."""
        verb = method(verb)
        if not extras and self.cookies.is_empty:
            return Request(verb, _path(path, None), [])
        for name in extras:
            if name not in EXTRAS:
                raise TypeError(unknown(f"client.{verb.lower()}()", name))
        encoded = body(extras)
        where = _path(path, extras.get("params"))
        given = with_auth(extras.get("headers"), extras.get("auth"))
        headers = _headers(with_cookies(given, extras.get("cookies")))
        names = {name.lower() for name, _ in headers}
        if encoded is not None and encoded.content_type and "content-type" not in names:
            headers.append(("Content-Type", encoded.content_type))
        if not self.cookies.is_empty and "cookie" not in names:
            cookie = self.cookies.header(where)
            headers += [("Cookie", cookie)] if cookie else []
        timeout, called = extras.get("timeout"), extras.get("name")
        if called is not None and not isinstance(called, str):
            raise TypeError(f"name= must be text, not {type(called).__name__}")
        stream = extras.get("stream")
        if stream is not None and stream not in STREAMS:
            raise ValueError(f"stream= must be one of {', '.join(STREAMS)}, not {stream!r}")
        content = None if encoded is None else encoded.content
        timeout_us = None if timeout is None else duration_us("timeout", timeout)
        return Request(verb, where, headers, content, timeout_us, called, stream)

    def redirected(self, made: Request, status: int, location: str) -> Request:
        """Make the request that an answer leads to (RFC 9110, section 15.4, as browsers do it)."""
        where = urlsplit(urljoin(self.target + made.path, location))
        home = urlsplit(self.target)
        if (where.scheme, where.netloc) != (home.scheme, home.netloc):
            raise RedirectError(f"the answer leads to {location!r}, which is not the target")
        path = where.path or "/"
        path += f"?{where.query}" if where.query else ""
        verb, content = made.method, made.body
        is_seen_elsewhere = status in {302, 303} and verb != "HEAD"
        if is_seen_elsewhere or (status == 301 and verb == "POST"):
            verb, content = "GET", None
        headers = [(name, value) for name, value in made.headers if name.lower() != "cookie"]
        cookie = None if self.cookies.is_empty else self.cookies.header(path)
        headers += [("Cookie", cookie)] if cookie else []
        return Request(verb, path, headers, content, made.timeout_us)


def _path(path: Any, params: Any) -> str:
    if isinstance(path, str) and not path.startswith("/") and "://" not in path:
        path = f"/{path}"
    encoded: str = target_path(path, params) if params else _plain_path(path)
    return encoded


def _headers(given: Any) -> list[tuple[str, str]]:
    if given is None:
        return []
    pairs = list(given.items() if isinstance(given, Mapping) else given)
    for pair in pairs:
        if not all(isinstance(text, str) for text in pair):
            raise TypeError(f"header {pair[0]!r} must have text as its value")
    return pairs


class PlainClient(LoadClient):
    """For plain functions: a request returns when it was answered."""

    def __init__(self, conversation: Conversation, playing: Playing) -> None:
        """Take what the user has to say, and the stack from which it says it."""
        self._conversation = conversation
        self._playing = playing

    def _request(self, verb: str, path: str, extras: Mapping[str, Any]) -> Response:
        conversation = self._conversation
        if extras.get("follow_redirects", conversation.follows):
            answer: Response = self._hold(conversation.talk(verb, path, extras))
            return answer
        conversation.last = None
        made = conversation.request(verb, path, extras)
        return conversation.heard(self._playing.ask(made), made)

    def batch(self, requests: Sequence[InBatch]) -> list[Response]:
        """Make several requests at a time."""
        answers: list[Response] = self._hold(self._conversation.talk_at_once(requests))
        return answers

    def _hold(self, talk: Generator[Wish, tuple[int, Any], Any]) -> Any:
        """Hold a conversation to its end."""
        said = None
        while True:
            try:
                wish = talk.send(said)  # type: ignore[arg-type]
            except StopIteration as end:
                return end.value
            said = self._playing.asked(wish)


class AwaitedClient(LoadClient):
    """For coroutines: a request is sent when it is awaited."""

    def __init__(self, conversation: Conversation) -> None:
        """Take what the user has to say."""
        self._conversation = conversation
        self.forgotten: set[Call] = set()
        """What was never awaited, and so never sent."""

    def _request(  # type: ignore[override]
        self, verb: str, path: str, extras: Mapping[str, Any]
    ) -> Call:
        return Call(self._conversation.talk(verb, path, extras), self.forgotten)

    def batch(self, requests: Sequence[InBatch]) -> Call:  # type: ignore[override]
        """Make several requests at a time."""
        return Call(self._conversation.talk_at_once(requests), self.forgotten)


class Call:
    """Requests of a coroutine that are sent when they are awaited."""

    __slots__ = ("_forgotten", "_talk")

    def __init__(self, talk: Generator[Wish, tuple[int, Any], Any], forgotten: set[Call]) -> None:
        """Take the conversation, and where those that nobody holds are noted."""
        self._talk = talk
        self._forgotten = forgotten
        forgotten.add(self)

    def __await__(self) -> Generator[Wish, tuple[int, Any], Any]:
        self._forgotten.discard(self)
        return self._talk
