"""Builds the plan of a mix: several scenarios that run together as user types.

Settings of the load apply to the whole run, whichever scenario sets them. Think times and gates
apply to the type. Features that a mix does not support are refused here, before anything starts.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _native
from ..dsl import ScenarioSpec, spec_of
from ..problem import Problem, Reason, Refused, rule
from ..request.headers import Secrets
from .code.user_types import code_of
from .mix_part import Part
from .plan import (
    SECOND_SCHEMA,
    Compiled,
    deduplicated,
    hold,
    measurable,
    plan_of,
    submitter_hooks_of,
    translated,
)
from .recorded.tasks import NAME_BYTES_MAX, Tasks
from .scenario.params import parameters, read_parameters
from .scenario.session import session_of
from .scenario.settings import Overrides, Settings
from .scenario.thresholds import Measurable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..scenario_file.user_types import UserType

OF_TYPE = frozenset(
    {"share", "wait", "pacing", "session", "thresholds", "secret_headers", "compile", "prepare"}
)
"""Settings of a scenario that are those of its user type, not of the run."""
FIELD = re.compile(r"types\[(\d+)\](?:\.(\w+))?")
ALONE = "run it alone with --scenario"
TOGETHER = "scenarios that run together cannot have"


def compile_together(types: Sequence[UserType], target: str, overrides: Overrides) -> Compiled:
    """Compile scenarios that run together; raises :class:`Refused` with all problems."""
    problems: list[Problem] = []
    settings = [_settings(one, overrides) for one in types]
    for one in types:
        problems += read_parameters(one.loaded, one.cls)
    source = types[0].loaded.parameters
    values = frozenset(one.value for one in source.requested.values() if one.is_secret)
    names = [name for one in settings for name in one.secret_headers()]
    secrets = Secrets(parameter_values=values).with_names(names)
    parts: list[Part] = []
    for one, own in zip(types, settings, strict=True):
        part = _part(one, own, secrets, parts)
        parts.append(part)
        problems += [*_unsupported(part), *own.problems, *part.tasks.problems]
        own.problems.clear()
    common = _common(parts, overrides)
    plan = _plan(parts, common, target)
    plan |= parameters(source, overrides.env, secrets, problems)
    bodies: dict[str, bytes] = parts[0].tasks.bodies.beside
    row_folder = None
    if _is_code(parts):
        made = code_of(parts, plan, common, secrets)
        bodies, row_folder = made.bodies, made.row_folder
        problems += made.problems
    elif common.sets_pool():
        common.refuse_pool()
    problems += [*common.problems, *(found for one in settings for found in one.problems)]
    if problems:
        raise Refused(deduplicated(problems))
    replaced = tuple(common.replaced()) if "users" in plan else ()
    compiled = Compiled(
        plan,
        secrets.values(),
        replaced,
        common.ramp_cut_from_us,
        bodies,
        row_folder=row_folder,
        settings=(*common.own(replaced), *_own_settings(parts)),
    )
    lines = {place: line for part in parts for place, line in part.tasks.lines.items()}
    found = json.loads(_native.check_plan(compiled.plan_json()))
    if found:
        raise Refused(deduplicated([_translated(one, parts, common, lines) for one in found]))
    return compiled


def _settings(one: UserType, overrides: Overrides) -> Settings:
    spec = spec_of(one.cls)
    assert spec is not None, "only marked classes are scenarios"  # noqa: S101
    return Settings(spec, overrides, one.at, folder=Path(one.loaded.file.path).parent)


def _part(one: UserType, settings: Settings, secrets: Secrets, before: Sequence[Part]) -> Part:
    """Compile the tasks of a type; their bodies are kept with those of the types before."""
    tasks = Tasks(one.loaded.sources, secrets, first=sum(len(part.tasks.tasks) for part in before))
    if before:
        tasks.bodies = before[0].tasks.bodies
    own_reason = Reason(settings.place("compile"), "compile=False is set")
    tasks.compile(one.cls, one.at, None if settings.may_compile() else own_reason)
    return Part(one, settings, tasks)


def _unsupported(part: Part) -> list[Problem]:
    """List the features of a scenario that a mix does not support."""
    hooks = submitter_hooks_of(part.type.loaded, part.type.cls, part.settings, part.type.at)
    if hooks is None:
        return []
    found = [*hooks.setups, *hooks.teardowns]
    problems = [
        Problem(hook.place, f"{hook.name}() runs once per run, which {TOGETHER}; {ALONE}")
        for hook in found
    ]
    if hooks.start is not None:
        place = hooks.start.place if hooks.why is None else hooks.why.place
        what = f"users of {part.name} are prepared by this command, which {TOGETHER}; {ALONE}"
        problems.append(Problem(place, what))
    return problems


def _common(parts: Sequence[Part], overrides: Overrides) -> Settings:
    """Join the settings of the run, which no two types may set differently."""
    joined: dict[str, Any] = {}
    places: dict[str, str] = {}
    makers: dict[str, str] = {}
    problems = []
    for part in parts:
        for name, value in part.settings.spec.arguments.items():
            if name in OF_TYPE:
                continue
            if name not in joined:
                joined[name], places[name], makers[name] = value, part.type.at, part.name
            elif joined[name] != value and getattr(overrides, name, None) is None:
                what = (
                    f"must be that of {makers[name]}, {joined[name]!r}: scenarios that run "
                    f"together have one load; set it in one of them"
                )
                problems.append(rule(f"{part.type.at}: {name}", what, value))
    first = parts[0]
    settings = Settings(
        ScenarioSpec(joined),
        overrides,
        first.type.at,
        problems,
        first.settings.folder,
        places=places,
    )
    recorded = places.get("replay_curve")
    for part in parts:
        if recorded == part.type.at:
            settings.folder = part.settings.folder
    return settings


def _plan(parts: Sequence[Part], common: Settings, target: str) -> dict[str, Any]:
    """Build the plan of all types."""
    plan = plan_of(_name(parts), common, parts[0].tasks, target)
    plan.pop("rest", None)
    plan.pop("session", None)
    plan["schema"] = SECOND_SCHEMA
    users = plan.get("users")
    plan["types"] = [_type(part, users) for part in parts]
    steps: dict[str, Any] = {"steps": []} if _is_code(parts) else {}
    plan["tasks"] = [
        {**task, "name": part.task(task["name"]), **steps}
        for part in parts
        for task in part.tasks.tasks
    ]
    own, gated = _gates(parts)
    plan["thresholds"] = common.with_flagged(own, gated)
    hold(plan, common, gated)
    return plan


def _is_code(parts: Sequence[Part]) -> bool:
    """Whether a type does more than send constant requests: then all are played as code."""
    return any(part.tasks.reasons for part in parts)


def _type(part: Part, users: int | None) -> dict[str, Any]:
    rest, session = part.settings.rest(users), session_of(part.settings, users)
    return {
        "name": part.name,
        "share": part.type.share,
        "tasks": len(part.tasks.tasks),
        **({"rest": rest} if rest else {}),
        **({"session": session} if session else {}),
    }


def _gates(parts: Sequence[Part]) -> tuple[list[dict[str, Any]], Measurable]:
    """Join the gates of the types, each with the name of its type, and the names for gates."""
    own: list[dict[str, Any]] = []
    named: list[str] = []
    checked: list[str] = []
    for part in parts:
        gated = measurable(part.type.cls, runs_in_python=_is_code(parts))
        own += [
            one | {"task": part.task(one["task"]) if "task" in one else part.name}
            for one in part.settings.own_thresholds(gated)
        ]
        named += [part.name, *map(part.task, gated.tasks)]
        checked += [*([part.name] if gated.checked else []), *map(part.task, gated.checked)]
    return own, Measurable(named, checked, _is_code(parts))


def _own_settings(parts: Sequence[Part]) -> list[tuple[str, str]]:
    """Write the settings of each type that no flag replaces, each with its line."""
    written = (part.settings.own(()) for part in parts)
    return [(text, at) for own in written for text, at in own if text.partition("=")[0] in OF_TYPE]


def _name(parts: Sequence[Part]) -> str:
    """Return the name of the run's scenario: ``Browse+Buy``."""
    name = "+".join(part.name for part in parts)
    encoded = name.encode()
    if len(encoded) <= NAME_BYTES_MAX:
        return name
    return encoded[: NAME_BYTES_MAX - 3].decode(errors="ignore") + "…"


def _translated(
    found: dict[str, str], parts: Sequence[Part], common: Settings, lines: dict[str, str]
) -> Problem:
    """Translate a problem of the plan to its line or flag."""
    of_type = FIELD.match(found["field"])
    if of_type is None and found["field"] != "types":
        return translated(found, common, lines)
    part = parts[int(of_type[1])] if of_type else parts[0]
    match of_type[2] if of_type else None:
        case "rest":
            pacing = found["field"].endswith("pacing")
            place = part.settings.place("pacing" if pacing else "wait")
        case "session":
            place = part.settings.place("session")
        case "name" | "tasks":
            place = f"{part.type.at}: {part.name}"
        case _:
            place = part.type.share_place
    return rule(place, found["rule"], found["value"])
