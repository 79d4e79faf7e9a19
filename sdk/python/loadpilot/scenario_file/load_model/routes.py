"""Routes: the paths of a log, grouped by their common segments.

``/products/12`` and ``/products/7`` are of the route ``/products/{id}``. Memory is bounded: a place
in a path with many different texts becomes a parameter, and a route keeps a sample of its paths.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...request.headers import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

CHILDREN_MAX = 50
"""Maximum number of texts in one place of a path; with more, the place is a parameter."""
SEGMENTS_MAX = 16
"""Maximum number of segments of a route; a longer path ends with a parameter."""
PATHS_MAX = 100
"""Maximum number of paths that a route keeps."""
TEXT = "{text}"
PARAMETERS = (
    ("{id}", re.compile(r"\d+")),
    ("{uuid}", re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")),
    ("{hash}", re.compile(r"[0-9a-fA-F]{16,}")),
)
"""Parameters, with the patterns of their texts."""


@dataclass(slots=True)
class Route:
    """The paths of one route and method."""

    count: int = 0
    """Number of requests."""
    paths: list[str] = field(default_factory=list)
    """A random sample of the paths, so that a frequent path is in it often."""

    def add(self, path: str, random: Random) -> None:
        """Count a request; each has the same chance to be in the sample."""
        self.count += 1
        if len(self.paths) < PATHS_MAX:
            self.paths.append(path)
        elif (place := random.randrange(self.count)) < PATHS_MAX:
            self.paths[place] = path

    def merge(self, other: Route, random: Random) -> None:
        """Add the requests of another route, in proportion."""
        count = self.count + other.count
        pairs = [
            (random.random() ** (len(one.paths) / one.count), path)
            for one in (self, other)
            for path in one.paths
        ]
        # The largest keys are a weighted sample (Efraimidis and Spirakis).
        self.paths = [path for _, path in sorted(pairs, reverse=True)[:PATHS_MAX]]
        self.count = count


@dataclass(slots=True)
class _Place:
    """The texts in one place of the paths."""

    children: dict[str, _Place] = field(default_factory=dict)
    routes: dict[str, Route] = field(default_factory=dict)
    """Routes that end here, by method."""

    def merge(self, other: _Place, random: Random) -> None:
        for method, route in other.routes.items():
            if method in self.routes:
                self.routes[method].merge(route, random)
            else:
                self.routes[method] = route
        for text, child in other.children.items():
            if text in self.children:
                self.children[text].merge(child, random)
            else:
                self.children[text] = child


class Routes:
    """All routes of a log."""

    def __init__(self, random: Random) -> None:
        """Take the source of the samples."""
        self._root = _Place()
        self._random = random

    def add(self, method: str, path: str) -> None:
        """Count a request."""
        path = without_secrets(path)
        segments = path.partition("?")[0].split("/")[1:]
        if len(segments) > SEGMENTS_MAX:
            segments = [*segments[: SEGMENTS_MAX - 1], TEXT]
        place = self._root
        for segment in segments:
            place = self._child(place, _parameter(segment) or segment)
        place.routes.setdefault(method, Route()).add(path, self._random)

    def _child(self, place: _Place, text: str) -> _Place:
        """Find the next place of a path; the texts become a parameter when there are too many."""
        if text not in place.children and TEXT in place.children:
            text = TEXT
        if text not in place.children:
            place.children[text] = _Place()
            if len(place.children) > CHILDREN_MAX:
                merged = _Place()
                for child in place.children.values():
                    merged.merge(child, self._random)
                place.children = {TEXT: merged}
                text = TEXT
        return place.children[text]

    def all(self) -> Iterator[tuple[str, str, Route]]:
        """List method, route and its requests, the most frequent first."""
        found = sorted(self._below(self._root, ""), key=lambda one: (-one[2].count, one[:2]))
        yield from found

    def _below(self, place: _Place, path: str) -> Iterator[tuple[str, str, Route]]:
        for method, route in place.routes.items():
            yield method, path or "/", route
        for text, child in place.children.items():
            yield from self._below(child, f"{path}/{text}")


def without_secrets(path: str) -> str:
    """Leave out the parameters of a query whose names are those of secrets."""
    base, question, query = path.partition("?")
    kept = [one for one in query.split("&") if not is_secret_name(one.partition("=")[0].lower())]
    return base + question + "&".join(kept) if question and any(kept) else base


def route_of(path: str) -> str:
    """Return the route of a path by its looks alone: parts that look like ids are parameters."""
    return "/".join(_parameter(segment) or segment for segment in path.split("/"))


def _parameter(segment: str) -> str | None:
    """Return the parameter that a segment looks like; None for a plain text."""
    return next((name for name, form in PARAMETERS if form.fullmatch(segment)), None)
