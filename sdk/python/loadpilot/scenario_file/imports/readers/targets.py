"""Reads targets files, the lists of requests of vegeta: a task for each different request."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from ...targets.targets_file import TargetsFile
from ..bodies import body_of_bytes
from ..imported_scenario import Imported, Request, Step, Task, UserType
from ..names import class_of_file, words_of_route

if TYPE_CHECKING:
    from pathlib import Path

    from ...targets.target_request import TargetRequest
    from ..imported_scenario import Pairs
    from ..source import Source

TASKS_MAX = 100
"""Maximum number of different requests: with more, a list is clearer than a class."""


def read_targets(source: Source, folder: Path) -> Imported:
    """Read all requests; files of bodies are in ``folder``. Raises :class:`Refused`."""
    source.check_size()
    tasks: dict[tuple[object, ...], Task] = {}
    for target in TargetsFile(io.BytesIO(source.content), source.name, folder).requests():
        key = (target.method, target.origin, target.path, target.headers, target.body)
        known = tasks.get(key)
        if known is not None:
            known.weight += 1
        elif len(tasks) == TASKS_MAX:
            what = f"has more than {TASKS_MAX} different requests, a task each; send them as a list"
            raise source.refuse("", f"{what}: `loadpilot attack --targets {source.name}`")
        else:
            request = _request(target)
            name = words_of_route(request.method, (target.bare_path,))
            tasks[key] = Task(name, [Step(None, [request])])
    if len(tasks) > 1:
        source.note("", "the order of the requests is not carried over: a task is drawn each time")
    users = UserType(class_of_file(source.name, "Targets"), list(tasks.values()))
    return Imported("import targets", source.name, [users])


def _request(target: TargetRequest) -> Request:
    headers: Pairs = [((name,), (value,)) for name, value in target.headers]
    place = f"line {target.place.rpartition(':')[2]}"
    request = Request(place, target.method, (target.origin + target.path,), headers)
    kinds = [value for name, value in target.headers if name.lower() == "content-type"]
    request.body = body_of_bytes(target.body, kinds[0] if kinds else None)
    return request
