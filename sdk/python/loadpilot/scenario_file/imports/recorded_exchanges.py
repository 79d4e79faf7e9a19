"""Recorded exchanges of a browser or another client as one task: pages, think times, cookies.

Requests and headers that a client adds by itself, such as those of assets, are left out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..load_model.log_summary import ASSETS
from .imported_scenario import Imported, Step, Task, UserType, plain
from .names import class_of_file, report_name, route
from .urls import WrongUrlError, split

if TYPE_CHECKING:
    from .imported_scenario import Pairs, Request
    from .source import Source

BROWSER_HEADERS = frozenset(
    {
        *("accept-charset", "accept-encoding", "accept-language", "alt-used", "cache-control"),
        *("connection", "content-length", "dnt", "host", "if-modified-since", "if-none-match"),
        *("keep-alive", "origin", "pragma", "priority", "proxy-connection", "referer", "te"),
        *("transfer-encoding", "upgrade-insecure-requests", "user-agent", "x-client-data"),
    }
)
"""Headers that browsers add by themselves."""
ASSET_TYPES = frozenset({"font", "image", "manifest", "media", "script", "stylesheet", "texttrack"})
"""Chromium's types of resources that a page loads by itself."""
STATUS_ERROR_MIN = 400
"""Status from which on a request failed: its cookies are not those of a login."""
PAUSE_MIN_S = 1.0
"""Silence from which on recorded requests without pages belong to different pages."""
PAUSE_SHOWN_MIN_S = 0.1
"""Think times below are left out."""
PAUSE_MAX_S = 60.0
"""Maximum think time that is carried over: a longer one is taken for a break."""


@dataclass(slots=True)
class Exchange:
    """One request with the known facts about its response."""

    request: Request
    started_s: float
    ended_s: float
    page: str | None = None
    """The page that it belongs to; None where the recording has no pages."""
    title: str = ""
    """Title of that page."""
    status: int = 0
    """Status of the response; 0 without one."""
    resource: str = ""
    """Type of the resource, as Chromium names it, or the media type of the response."""
    set_cookies: frozenset[str] = frozenset()
    """Names of the cookies that the response sets."""


def of_recording(
    command: str, exchanges: list[Exchange], source: Source, *, with_assets: bool
) -> Imported:
    """Make the scenario of a recording."""
    kept = [one for one in exchanges if _is_kept(one, source, with_assets=with_assets)]
    kept.sort(key=lambda one: one.started_s)
    left_out: Counter[str] = Counter()
    for one in kept:
        one.request.headers = _own_headers(one.request.headers, left_out)
    if left_out:
        names = ", ".join(sorted(left_out))
        source.note("", f"headers that clients set by themselves are left out: {names}")
    _leave_cookies_to_the_target(kept, source)
    steps = _steps(kept, source)
    users = UserType(class_of_file(source.name, "Recorded"), [Task("journey", steps)])
    return Imported(command, source.name, [users])


def _is_kept(one: Exchange, source: Source, *, with_assets: bool) -> bool:
    place, method = one.request.place, one.request.method
    url = plain(one.request.url) or ""
    if not url.lower().startswith(("http://", "https://")):
        scheme = url.partition(":")[0][:20]
        source.note(place, f"{scheme}: requests are left out: a scenario sends HTTP")
        return False
    names = {(plain(name) or "").lower() for name, _ in one.request.headers}
    if method == "OPTIONS" and "access-control-request-method" in names:
        source.note(place, "preflight requests of browsers are left out")
        return False
    if not with_assets and method == "GET" and _is_asset(one.resource, url):
        source.note(
            place, "scripts, styles, fonts and images are left out; --with-assets keeps them"
        )
        return False
    return True


def _is_asset(resource: str, url: str) -> bool:
    if resource in {"document", "fetch", "xhr"}:
        return False
    kind = resource.partition(";")[0].strip().lower()
    if kind in ASSET_TYPES or kind.partition("/")[0] in {"audio", "font", "image", "video"}:
        return True
    if kind in {"text/css", "text/javascript", "application/javascript"}:
        return True
    try:
        path = urlsplit(url).path
    except ValueError:
        return False
    return PurePosixPath(path).suffix.lower() in ASSETS


def _own_headers(headers: Pairs, left_out: Counter[str]) -> Pairs:
    """Keep the headers that the page or program itself set."""
    kept = []
    for name, value in headers:
        lower = (plain(name) or "").lower()
        is_default = lower == "accept" and "*/*" in (plain(value) or "")
        if lower in BROWSER_HEADERS or lower.startswith((":", "sec-")) or is_default:
            if not lower.startswith(":"):
                left_out["sec-*" if lower.startswith("sec-") else lower] += 1
        else:
            kept.append((name, value))
    return kept


def _leave_cookies_to_the_target(exchanges: list[Exchange], source: Source) -> None:
    """Leave out cookies that the same origin set before: each user keeps its own.

    An explicit header would take the place of those, so the others are cookies of the request.
    """
    known: dict[tuple[str | None, str], Exchange] = {}
    for one in exchanges:
        origin = _origin(one.request)
        headers = []
        for name, value in one.request.headers:
            if (plain(name) or "").lower() != "cookie":
                headers.append((name, value))
                continue
            pairs = [pair.strip() for pair in (plain(value) or "").split(";")]
            for word, _, content in (pair.partition("=") for pair in pairs if pair):
                setter = known.get((origin, word))
                if setter is None:
                    one.request.cookies.append(((word,), (content,) if content else ()))
                    continue
                setter.request.sets_cookies = True
                what = "cookies that the target sets are left to each user, which keeps its own"
                source.note(one.request.place, what)
        one.request.headers = headers
        if one.status < STATUS_ERROR_MIN:
            known |= dict.fromkeys(((origin, word) for word in one.set_cookies), one)


def _origin(request: Request) -> str | None:
    try:
        return split(request.url, {}).origin
    except WrongUrlError:
        return None


def _steps(exchanges: list[Exchange], source: Source) -> list[Step]:
    """Group exchanges by page, with the think time between two pages."""
    steps: list[Step] = []
    last: Exchange | None = None
    end_s = 0.0
    for one in exchanges:
        gap_s = one.started_s - end_s if last is not None else 0.0
        has_pages = one.page is not None and last is not None and last.page is not None
        is_new = last is None or (one.page != last.page if has_pages else gap_s >= PAUSE_MIN_S)
        if is_new:
            if steps and gap_s >= PAUSE_SHOWN_MIN_S:
                steps[-1].pause_after_s = _think_time(gap_s, one, source)
            steps.append(Step(_step_name(one)))
        steps[-1].requests.append(one.request)
        last, end_s = one, max(end_s, one.ended_s)
    if len(steps) == 1:
        steps[0].name = None
    return steps


def _think_time(gap_s: float, one: Exchange, source: Source) -> tuple[float, float]:
    if gap_s > PAUSE_MAX_S:
        what = f"think times of more than {PAUSE_MAX_S:.0f} s are shortened to that"
        source.note(one.request.place, what)
    pause_s = min(round(gap_s, 1), PAUSE_MAX_S)
    return pause_s, pause_s


def _step_name(one: Exchange) -> str:
    """Name a page by its title, or by the path of its first request."""
    title = report_name(one.title)
    if title and "://" not in title:
        return title
    try:
        path = urlsplit(plain(one.request.url) or "").path
    except ValueError:
        path = ""
    return report_name(route((path or "/",)))
