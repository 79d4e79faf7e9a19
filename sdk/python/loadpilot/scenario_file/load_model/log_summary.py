"""Derives a load model from an access log: sessions, think times, and the mix of actions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePosixPath
from random import Random
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from ...compile.recorded.tasks import step_name
from ...problem import Problem, Refused
from ...request.encoding import target_path
from .access_log import AccessLog
from .python_source import quoted
from .routes import Routes
from .sessions import Sessions, fit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .access_log import Visit
    from .routes import Route
    from .sessions import Fit

METHODS = frozenset({"GET", "HEAD"})
"""Methods whose requests are in a log completely, since they have no body."""
STATUS_OK = range(200, 400)
ASSETS = (
    *(".css", ".js", ".map", ".mjs"),
    *(".eot", ".otf", ".ttf", ".woff", ".woff2"),
    *(".avif", ".bmp", ".gif", ".ico", ".jpeg", ".jpg", ".png", ".svg", ".webp"),
    *(".mp4", ".webm"),
)
"""Endings of assets, which a browser loads by itself along with a page."""
ACTIONS_MAX = 100
"""Maximum number of actions of a model."""
PATH_LINES: Any = {
    "width": 98,
    "initial_indent": "  ",
    "subsequent_indent": "  ",
    "break_long_words": False,
    "break_on_hyphens": False,
}
"""Layout of a list of paths."""
STAY_MAX_S = 24 * 3_600
"""Maximum length of sessions at the 99th percentile, in seconds."""
SAMPLE_SEED = 1
"""Seed of the sample of paths: the same log makes the same model."""


@dataclass(slots=True)
class Derived:
    """The model that was derived from a log, and the requests left out."""

    log: str
    sessions: Sessions
    routes: list[tuple[str, str, Route]]
    """Method, route and requests of each action."""
    wait: Fit
    stay: Fit | None
    """Lengths of sessions of several requests; None without any, or if a run cannot have them."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Requests that are not in the model, by the reason."""

    @property
    def users(self) -> int:
        """Number of users whose requests come as often as those of the log.

        Each session begins with a request, and each think time ends with one.
        """
        rate = sum(route.count for _, _, route in self.routes) / self.sessions.span_s
        begins = 1 / self.stay.mean_s if self.stay is not None else 0.0
        return max(1, round(rate / (1 / self.wait.mean_s + begins)))

    def toml(self) -> str:
        """Write the model as a file."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        sessions, wait = self.sessions, self.wait
        yield f"# A load model, derived from {quoted(self.log)} by `loadpilot model from-log`."
        yield f"# Requests: {sessions.requests:,} of {sessions.count:,} sessions,"
        yield f"# from {_instant(sessions.first)} to {_instant(sessions.last)}."
        for reason, count in self.left_out.most_common():
            yield f"# Left out: {count:,} {reason}."
        yield ""
        yield "model = 1"
        yield "# The users that make as many requests per second as the log has on average."
        yield f"users = {self.users}"
        yield 'duration = "10m"'
        yield "# Multiplies the users: 1.4 is 40 % more load than in the log."
        yield "scale = 1.0"
        yield ""
        yield "[[type]]"
        yield 'name = "Visitor"'
        yield f"# Kolmogorov-Smirnov distance to the log: {wait.distance:.2f}."
        yield f"wait = {quoted(wait.text())}"
        if self.stay is not None:
            yield f"# Sessions of several requests: the distance is {self.stay.distance:.2f}."
            yield f"session = {quoted(self.stay.text())}"
        elif sessions.lengths.total:
            yield "# No session: of those of the log more than one of 100 is longer than a day."
        names: Counter[str] = Counter()
        for method, path, route in self.routes:
            name = step_name(method, path)
            names[name] += 1
            yield ""
            yield "[[type.action]]"
            yield f"name = {quoted(name if names[name] == 1 else f'{name} {names[name]}')}"
            yield f"share = {route.count}"
            if method != "GET":
                yield f"method = {quoted(method)}"
            if len(set(route.paths)) == 1:
                yield f"path = {quoted(route.paths[0])}"
            else:
                yield "paths = ["
                yield from wrap(", ".join(map(quoted, sorted(route.paths))), **PATH_LINES)
                yield "]"


def derive(path: Path, timeout_s: int, *, with_assets: bool) -> Derived:
    """Derive a model; raises :class:`Refused` for a log with too little data.

    ``timeout_s``: the silence in seconds after which a client begins a new session.
    """
    log, sessions, routes = AccessLog(path), Sessions(timeout_s), Routes(Random(SAMPLE_SEED))  # noqa: S311
    left_out: Counter[str] = Counter()
    for visit in log.visits():
        reason = _reason_to_leave_out(visit, with_assets=with_assets)
        if reason is not None:
            left_out[reason] += 1
            continue
        sessions.add(visit.client, visit.second)
        routes.add(visit.method, visit.path)
    sessions.end()
    if log.malformed:
        left_out["lines whose request is not HTTP"] = log.malformed
    if not sessions.gaps.total:
        what = (
            f"has {sessions.requests:,} requests of {sessions.count:,} clients, and no client with "
            "two: think times cannot be derived; `loadpilot run --replay-curve` replays its rates"
        )
        raise Refused([Problem(str(path), what)])
    found = []
    for method, name, route in routes.all():
        route.paths = [one for one in route.paths if _is_sendable(one)]
        if route.paths:
            found.append((method, name, route))
        else:
            left_out["requests of paths that no client may send"] += route.count
    rare = sum(route.count for _, _, route in found[ACTIONS_MAX:])
    if rare:
        left_out[f"requests of {len(found) - ACTIONS_MAX:,} rare routes"] = rare
    stay = fit(sessions.lengths) if sessions.lengths.total else None
    if stay is not None and stay.p99_s > STAY_MAX_S:
        stay = None
    return Derived(path.name, sessions, found[:ACTIONS_MAX], fit(sessions.gaps), stay, left_out)


def _reason_to_leave_out(visit: Visit, *, with_assets: bool) -> str | None:
    if visit.method not in METHODS:
        return f"{visit.method} requests: a log has no bodies; add actions with json ="
    if visit.status not in STATUS_OK:
        return "requests that failed"
    ending = PurePosixPath(visit.path.partition("?")[0]).suffix.lower()
    if not with_assets and ending in ASSETS:
        return "requests of scripts, styles, fonts and images (--with-assets keeps them)"
    return None


def _is_sendable(path: str) -> bool:
    try:
        target_path(path, None)
    except ValueError:
        return False
    return True


def _instant(second: float) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
