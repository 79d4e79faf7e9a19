"""The code of a mix: that of each user type, with the tasks and feeds of all in one list.

Users of all types are played alike, so that a type of constant requests is code where another type
examines responses. A type that needs Python is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...problem import Problem
from ...scenario_file.feed_usage import feeds_of, plan_feeds
from ..recorded.tasks import task_names
from .program import CodeCompiler
from .rows import RowsNotCompiledError, object_reference, rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...inputs.feeds import Feed
    from ...problem import Reason
    from ...request.headers import Secrets
    from ..mix_part import Part
    from ..scenario.settings import Settings

OWN = ("file", "constants", "on_start", "on_stop", "lines")
"""Fields of the code of one scenario that its user type has in a mix."""


@dataclass(slots=True)
class MixCode:
    """The data beside the plan for the code of a mix."""

    bodies: dict[str, bytes] = field(default_factory=dict)
    row_folder: Path | None = None
    problems: list[Problem] = field(default_factory=list)


def code_of(
    parts: Sequence[Part], plan: dict[str, Any], common: Settings, secrets: Secrets
) -> MixCode:
    """Put the code of all types into the plan; problems name what cannot be compiled."""
    made = MixCode()
    feeds: list[dict[str, Any]] = []
    taken: dict[str, Feed] = {}
    codes: list[dict[str, Any]] = []
    for part in parts:
        own, problems = _feeds(part, made)
        made.problems += problems
        cls, loaded = part.type.cls, part.type.loaded
        indexes = {feed["name"]: len(feeds) + place for place, feed in enumerate(own)}
        requested = loaded.parameters.requested
        compiler = CodeCompiler(cls, loaded.sources, loaded.file, secrets.names, indexes, requested)
        code = compiler.compile(task_names(cls)) if part.settings.may_compile() else None
        if code is None:
            made.problems.append(_needs_python(part, [*compiler.reasons, *part.tasks.reasons]))
            continue
        codes.append(code)
        taken |= {part.task(feed["name"]): feeds_of(cls)[feed["name"]] for feed in own}
        feeds += [feed | {"name": part.task(feed["name"])} for feed in own]
    if made.problems:
        return made
    users = plan.get("users") or common.pool(plan["profile"])
    names = sorted(secrets.names)
    plan["code"] = {
        "file": codes[0]["file"],
        "python_minor": codes[0]["python_minor"],
        "users": users,
        **({"secret_headers": names} if names else {}),
        **({"feeds": feeds} if feeds else {}),
        "tasks": [task for code in codes for task in code["tasks"]],
        "types": [{name: code[name] for name in OWN if name in code} for code in codes],
    }
    _add_rows(plan, taken, secrets, made, common.at)
    if secrets.found_in(plan["code"]):
        what = "code of scenarios that run together would hold the value of a secret"
        made.problems.append(Problem(common.at, what))
    return made


def _feeds(part: Part, made: MixCode) -> tuple[list[dict[str, Any]], list[Problem]]:
    """Return the feeds of a type, with the indexes of its tasks in the plan."""
    loaded, cls = part.type.loaded, part.type.cls
    feeds, _, problems = plan_feeds(loaded, cls, task_names(cls))
    for feed in feeds:
        feed["tasks"] = [part.tasks.first + task for task in feed["tasks"]]
        if "file" not in feed:
            continue
        folder = Path(loaded.file.path).resolve().parent
        if made.row_folder not in (None, folder):
            what = f"{feed['file']['name']}: large files of rows must lie in one folder"
            problems.append(Problem(part.type.at, what))
        made.row_folder = folder
    return feeds, problems


def _needs_python(part: Part, reasons: Sequence[Reason]) -> Problem:
    what = f"{reasons[0].what}: {part.name} needs Python, and scenarios that run together are"
    return Problem(reasons[0].place, f"{what} compiled; run it alone with --scenario {part.name}")


def _add_rows(
    plan: dict[str, Any], taken: dict[str, Feed], secrets: Secrets, made: MixCode, at: str
) -> None:
    if not taken:
        return
    try:
        rows = rows_of(taken, secrets)
    except RowsNotCompiledError as refused:
        made.problems.append(Problem(refused.place or at, refused.what))
        return
    reference = object_reference(rows)
    plan["code"]["rows"] = reference
    made.bodies[reference["sha256"]] = rows
