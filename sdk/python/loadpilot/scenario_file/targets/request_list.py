"""A list of requests as the calls of one task, and a file with a row for each request.

The report has figures for each call. Lists with few paths have a call for each path. In longer
lists the parts of paths that look like ids become parameters. If there are still too many calls,
there is one for each origin and method.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ...compile.recorded.body_store import BodyStore
from ...compile.recorded.tasks import step_name
from ...problem import Problem, Refused
from ...request.headers import Secrets, plan_headers
from ..load_model.routes import route_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .target_request import TargetRequest
    from .targets_file import TargetsFile

CALLS_MAX = 100
"""Maximum number of calls of a task."""
ORIGINS_MAX = 64
"""Maximum number of origins of a run."""
SECRETS_MAX = 100
"""Maximum number of different credentials that the rows of a run name."""
OTHERS = "(all paths)"
Key: TypeAlias = tuple[str, str, str]
"""Origin, method and path of a call."""
Grouping: TypeAlias = "Callable[[TargetRequest], Key]"


def _by_path(request: TargetRequest) -> Key:
    return request.origin, request.method, request.bare_path


def _by_route(request: TargetRequest) -> Key:
    return request.origin, request.method, route_of(request.bare_path)


def _by_method(request: TargetRequest) -> Key:
    return request.origin, request.method, ""


GROUPINGS: tuple[Grouping, ...] = (_by_path, _by_route, _by_method)
"""Ways to group requests into calls, the finest first."""


@dataclass(slots=True)
class Survey:
    """The facts that a first pass collects from a list of requests."""

    count: int = 0
    origins: dict[str, None] = field(default_factory=dict)
    """Origins in the order in which they come first."""
    keys: tuple[set[Key], ...] = field(default_factory=lambda: tuple(set() for _ in GROUPINGS))
    """Calls by grouping, one more than there may be at most."""

    @classmethod
    def of(cls, targets: TargetsFile) -> Survey:
        """Read all requests; raises :class:`Refused` with every mistake."""
        survey = cls()
        for request in targets.requests():
            survey.count += 1
            if len(survey.origins) <= ORIGINS_MAX:
                survey.origins.setdefault(request.origin)
            for keys, grouping in zip(survey.keys, GROUPINGS, strict=True):
                if len(keys) <= CALLS_MAX:
                    keys.add(grouping(request))
        problems = survey._problems(targets.name)
        if problems:
            raise Refused(problems)
        return survey

    @property
    def grouping(self) -> Grouping:
        """The finest grouping whose calls a task may have."""
        pairs = zip(self.keys, GROUPINGS, strict=True)
        return next(grouping for keys, grouping in pairs if len(keys) <= CALLS_MAX)

    def _problems(self, name: str) -> list[Problem]:
        if self.count == 0:
            what = "has no request; write one as `GET http://host/path`"
            return [Problem(name, what)]
        if len(self.origins) > ORIGINS_MAX:
            what = f"has requests to more than {ORIGINS_MAX} origins; split it into several runs"
            return [Problem(name, what)]
        if len(self.keys[-1]) > CALLS_MAX:
            what = f"has more than {CALLS_MAX} pairs of origin and method; split it"
            return [Problem(name, what)]
        schemes = {origin.partition(":")[0] for origin in self.origins}
        if len(schemes) > 1:
            what = "has requests to http and to https; write a file and a run for each"
            return [Problem(name, what)]
        return []


@dataclass(slots=True)
class RequestList:
    """The calls of a list of requests."""

    survey: Survey
    secrets: Secrets = field(default_factory=Secrets)
    bodies: BodyStore = field(default_factory=BodyStore)
    steps: list[dict[str, Any]] = field(default_factory=list)
    """Steps of the task: each has the values of the first request of its call."""
    _known: dict[Key, tuple[int, TargetRequest]] = field(default_factory=dict)

    def rows(self, targets: TargetsFile) -> Iterator[bytes]:
        """Write a row for each request: its step, and the values that differ from the step.

        Raises :class:`Refused`.
        """
        targets_of_origins = {origin: place for place, origin in enumerate(self.survey.origins)}
        grouping = self.survey.grouping
        for request in targets.requests():
            key = grouping(request)
            if key not in self._known:
                self._known[key] = (len(self.steps), request)
                self.steps.append(self._step(request, key, targets_of_origins[request.origin]))
            number, first = self._known[key]
            row: dict[str, Any] = {"step": number}
            if request.path != self.steps[number]["path"]:
                row["path"] = request.path
            if request.headers != first.headers:
                row["headers"] = self._headers(request)
            if request.body != first.body:
                row["body"] = _body(request.body)
            if len(self.secrets.values()) > SECRETS_MAX:
                what = f"has more than {SECRETS_MAX} different credentials in headers"
                raise Refused([Problem(request.place, what)])
            yield json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def _step(self, request: TargetRequest, key: Key, target: int) -> dict[str, Any]:
        origin, method, path = key
        shown = path or OTHERS
        if len(self.survey.origins) > 1:
            shown = f"{origin.partition('//')[2]}{shown}"
        is_route = path != request.bare_path
        step: dict[str, Any] = {
            "name": step_name(method, shown),
            "method": method,
            # The path that the table of calls shows for all requests of the call.
            "path": (path or "/") if is_route or self.survey.count > 1 else request.path,
        }
        if target:
            step["target"] = target
        headers = self._headers(request)
        if headers:
            step["headers"] = headers
        if request.body:
            self.bodies.add(step, request.body)
        return step

    def _headers(self, request: TargetRequest) -> list[dict[str, Any]]:
        # One by one: the same name may come twice.
        pairs = [plan_headers([pair], None, self.secrets) for pair in request.headers]
        return [header for headers in pairs for header in headers]


def _body(content: bytes) -> dict[str, str]:
    """Write a body as the plan has it; an empty text is none."""
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}
