"""Builds the plan of a scenario and checks it by the rules of the coordinator.

The native checker is the code that the coordinator runs, too. Its problems are translated back to
the line or flag that caused them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _native
from ..dsl import VUser, once_of, spec_of
from ..inputs.feeds import STORED_BYTES_MAX
from ..problem import Problem, Reason, Refused, rule
from ..request.headers import Secrets
from ..scenario_file.bundle import Bundle, bundle
from ..scenario_file.feed_usage import feeds_of, plan_feeds
from .code.rows import RowsNotCompiledError, object_reference, rows_of
from .recorded.tasks import SENT, Tasks, task_names
from .scenario import replay
from .scenario import stages as stages_of
from .scenario.connections import connections
from .scenario.connections import place_of as place_of_connections
from .scenario.params import parameters, read_parameters
from .scenario.session import prepared_once, session_of
from .scenario.settings import ARRIVALS, MAX_LATENESS_US, TICK_US, Overrides, Settings
from .scenario.thresholds import Measurable
from .scenario.timeouts import time_outs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..scenario_file.load import Loaded
    from .code.program import CodeCompiler
    from .json_tensors import JsonTensors
    from .scenario.hooks import SubmitterHooks

PLAN_SCHEMA = "loadpilot.plan/1"
SECOND_SCHEMA = "loadpilot.plan/2"
"""Version of a plan with a newer shape or think time; earlier readers refuse it."""
NEWER_SHAPES = frozenset({"replay", "burst", "sine"})
NEWER_RESTS = frozenset({"exponential", "lognormal"})

FIELDS = {
    "users": "users",
    "user_stages": "user_stages",
    "rest.wait": "wait",
    "rest.pacing": "pacing",
    "rest.exponential": "wait",
    "rest.lognormal": "wait",
    "session": "session",
    "session.between": "session",
    "session.exponential": "session",
    "session.lognormal": "session",
    "max_in_flight": "max_in_flight",
    "warm_up_us": "warm_up",
    "timeout_us": "timeout",
    "timeouts": "timeout",
    "max_wait_us": "max_wait",
    "arrivals": "arrivals",
    "thresholds": "thresholds",
    "connections": "connections",
    "scenario": "the scenario's name",
    "tasks": "the tasks",
}
"""The setting behind a field of the plan."""
FLAGS = {
    "target": "the target",
    "id_header": "--id-header",
    "samples_ppm": "--samples-share",
    "parameters": "the parameters",
}
"""The flag behind a field of the plan that only flags set."""
HELD = "uses the value of a secret parameter elsewhere than in a secret header"
"""Reason for Python of code whose literals hold the value of a secret."""
STEP = re.compile(r"(tasks\[\d+\](?:\.steps\[\d+\])?)\.?(.*)")


@dataclass(frozen=True, slots=True)
class Compiled:
    """A valid plan and the data beside it."""

    plan: dict[str, Any]
    secrets: dict[str, str]
    """Secret values by handle; only agents get them."""
    replaced: tuple[str, ...] = ()
    """Settings of the scenario that a flag for a closed loop replaces."""
    ramp_cut_from_us: int | None = None
    """Duration of the ramp before it was cut to the shorter total duration; else None."""
    bodies: Mapping[str, bytes] = field(default_factory=dict)
    """Objects beside the plan, large bodies, bundles and rows, by SHA-256 in hex."""
    reasons: tuple[Problem, ...] = ()
    """Reasons why the scenario runs in Python; empty when it is compiled."""
    parts: tuple[str, ...] = ()
    """Tasks, hooks and checks that are compiled or could be: "task buy", "check_buy"."""
    files: tuple[str, ...] = ()
    """Names of the files in the bundle that agents get."""
    hooks: SubmitterHooks | None = None
    """Hooks that the submitter runs; None without any."""
    row_folder: Path | None = None
    """Folder with the files that the plan's feeds name; None without any."""
    json_tensors: tuple[JsonTensors, ...] = ()
    """Tensors that the script sends as JSON, as far as they are known before the run."""
    bundle: Bundle | None = None
    """The scenario's files, if another process may have to load it."""
    settings: tuple[tuple[str, str], ...] = ()
    """Settings that the scenario makes and no flag replaces, as text, each with its line."""

    def beside(self) -> dict[str, bytes | Path]:
        """Return the objects that the object store holds for the plan, by SHA-256 in hex."""
        beside: dict[str, bytes | Path] = dict(self.bodies)
        for file in row_files(self.plan):
            content = file["content"]
            if self.row_folder is not None and content["bytes"] <= STORED_BYTES_MAX:
                beside[content["sha256"]] = self.row_folder / file["name"]
        return beside

    def plan_json(self) -> str:
        """Write the plan as JSON."""
        return json.dumps(self.plan, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def compile_scenario(loaded: Loaded, cls: type, target: str, overrides: Overrides) -> Compiled:
    """Compile one scenario of a file; raises :class:`Refused` with all problems."""
    spec = spec_of(cls)
    assert spec is not None, "only marked classes are scenarios"  # noqa: S101
    at = loaded.file.at(loaded.file.class_line(cls.__name__))
    settings = Settings(spec, overrides, at, folder=Path(loaded.file.path).parent)
    parameter_problems = read_parameters(loaded, cls)
    values = frozenset(one.value for one in loaded.parameters.requested.values() if one.is_secret)
    secrets = Secrets(parameter_values=values).with_names(settings.secret_headers())
    tasks = Tasks(loaded.sources, secrets)
    own_reason = Reason(settings.place("compile"), "compile=False is set")
    tasks.compile(cls, at, None if settings.may_compile() else own_reason)
    plan = plan_of(cls.__name__, settings, tasks, target)
    gated = measurable(cls, runs_in_python=bool(tasks.reasons))
    plan["thresholds"] = settings.thresholds(gated)
    hold(plan, settings, gated)
    plan |= parameters(loaded.parameters, overrides.env, secrets, parameter_problems)
    hooks = submitter_hooks_of(loaded, cls, settings, at)
    if "session" in plan and hooks is not None and hooks.start is not None:
        settings.problems.append(prepared_once(settings, hooks.start, hooks.why))
    problems = [*parameter_problems, *settings.problems, *tasks.problems]
    if problems:
        raise Refused(deduplicated(problems))
    replaced = settings.replaced() if "users" in plan else ()
    compiled = Compiled(
        plan,
        secrets.values(),
        tuple(replaced),
        settings.ramp_cut_from_us,
        tasks.bodies.beside,
        hooks=hooks,
        settings=tuple(settings.own(replaced)),
    )
    if tasks.reasons:
        compiled = _with_logic(compiled, loaded, cls, settings, tasks, at)
    elif settings.sets_pool():
        settings.refuse_pool()
        raise Refused(settings.problems)
    if compiled.hooks is not None and compiled.bundle is None:
        compiled = replace(compiled, bundle=bundle(loaded))
    found = json.loads(_native.check_plan(compiled.plan_json()))
    if found:
        problems = [translated(one, settings, tasks.lines) for one in found]
        raise Refused(deduplicated(problems))
    return compiled


def _with_logic(
    compiled: Compiled, loaded: Loaded, cls: type, settings: Settings, tasks: Tasks, at: str
) -> Compiled:
    """Complete the plan of a scenario that cannot be recorded: as code, else as a script."""
    from .code.program import CodeCompiler  # noqa: PLC0415  (start-up is a promise)
    from .json_tensors import in_script  # noqa: PLC0415  (likewise)

    plan, hooks, secrets = compiled.plan, compiled.hooks, tasks.secrets
    feeds, files, problems = plan_feeds(loaded, cls, task_names(cls))
    if problems:
        raise Refused(deduplicated(problems))
    if any("file" in feed for feed in feeds):
        folder = Path(loaded.file.path).resolve().parent
        compiled = replace(compiled, row_folder=folder)
    indexes = {feed["name"]: index for index, feed in enumerate(feeds)}
    requested = loaded.parameters.requested
    compiler = CodeCompiler(cls, loaded.sources, loaded.file, secrets.names, indexes, requested)
    users = plan.get("users") or settings.pool(plan["profile"])
    more = {"users": users, **_more_secrets(secrets), **({"feeds": feeds} if feeds else {})}
    if settings.may_compile():
        compiler.reasons += _prepared_state(hooks, settings)
        if not compiler.reasons:
            compiled = _encode(compiled, compiler, more, tasks, at)
    compiled = replace(compiled, parts=tuple(compiler.compiled))
    if "code" not in plan:
        compiled = replace(compiled, reasons=tuple(compiler.reasons or tasks.reasons))
        compiled = _scripted(compiled, loaded, files, {**more, **_checked(cls)})
        found = tuple(in_script(cls, task_names(cls), loaded.sources))
        compiled = replace(compiled, json_tensors=found)
        if settings.overrides.prepares_here and "session" not in plan:
            compiled = _prepared_here(compiled, loaded, cls, settings, at)
    return compiled


def _prepared_state(hooks: SubmitterHooks | None, settings: Settings) -> list[Reason]:
    """Return the hooks whose state has to reach the users: only Python has attributes."""
    if hooks is None:
        return []
    what = "has @setup, which may set attributes for the tasks"
    reasons = [Reason(hook.place, f"{hook.name}() {what}") for hook in hooks.setups]
    if hooks.start is not None:
        own = Reason(settings.place("prepare"), 'prepare="submitter" is set')
        reasons.append(hooks.why or own)
    return reasons


def row_files(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the files that the feeds of a plan read rows from."""
    return [feed["file"] for feed in feeds_in(plan) if "file" in feed]


def feeds_in(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the feeds of a plan."""
    if "requests" in plan:
        return [plan["requests"]["rows"]]
    logic = plan.get("script") or plan.get("code") or {}
    return list(logic.get("feeds", ()))


def _encode(
    compiled: Compiled, compiler: CodeCompiler, more: dict[str, Any], tasks: Tasks, at: str
) -> Compiled:
    """Put the scenario's code into the plan, if all of it compiles and holds no secret."""
    plan = compiled.plan
    code = compiler.compile([task["name"] for task in plan["tasks"]])
    if code is None:
        return compiled
    plan["code"] = {**code, **more}
    bodies: dict[str, bytes] = {}
    if compiler.feeds:
        try:
            used = {name: feeds_of(compiler.cls)[name] for name in compiler.feeds}
            rows = rows_of(used, tasks.secrets)
        except RowsNotCompiledError as refused:
            compiler.reasons.append(Reason(refused.place or at, refused.what))
            del plan["code"]
            return compiled
        plan["code"]["rows"] = object_reference(rows)
        bodies = {plan["code"]["rows"]["sha256"]: rows}
    problem = _code_problem(compiled)
    if problem is not None:
        compiler.reasons.append(Reason(at, problem))
    compiler.reasons += _secrets_in(plan, tasks, at)
    if compiler.reasons:
        del plan["code"]
        return compiled
    return replace(compiled, bodies=bodies)


def _secrets_in(plan: dict[str, Any], tasks: Tasks, at: str) -> list[Reason]:
    """Return the reasons why code that holds the value of a secret stays in Python, by task."""
    if not tasks.secrets.found_in(plan["code"]):
        return []
    reasons = [one for one in tasks.reasons if one.what.endswith(SENT)]
    for number, task in enumerate(plan["tasks"]):
        what = f"task {task['name']}: {HELD}"
        place = tasks.lines.get(f"tasks[{number}]", at)
        known = any(one.what == f"task {task['name']}: {SENT}" for one in reasons)
        if not known and tasks.secrets.found_in(plan["code"]["tasks"][number]):
            reasons.append(Reason(place, what))
    return reasons or [Reason(at, HELD)]


def _checked(cls: type) -> dict[str, list[int]]:
    """Indexes of the tasks with a check; the report finds checks that never ran."""
    places = [place for place, name in enumerate(task_names(cls)) if _has_check(cls, name)]
    return {"checked": places} if places else {}


def _has_check(cls: type, task: str) -> bool:
    """Whether the class has a check for a task."""
    return hasattr(cls, f"check_{task}")


def _scripted(
    compiled: Compiled, loaded: Loaded, files: list[Path], more: dict[str, Any]
) -> Compiled:
    """Put a script into the plan: agents run the scenario in Python, from its bundle."""
    packed = bundle(loaded, files)
    compiled.plan["script"] = {
        "bundle": {"sha256": packed.sha256, "bytes": len(packed.content)},
        "file": packed.file,
        **more,
    }
    bodies = {packed.sha256: packed.content}
    return replace(compiled, bodies=bodies, files=packed.names, bundle=packed)


def _prepared_here(
    compiled: Compiled, loaded: Loaded, cls: type, settings: Settings, at: str
) -> Compiled:
    """Let the submitter prepare the users, unless the scenario sets ``prepare``."""
    hooks = submitter_hooks_of(loaded, cls, settings, at, here=True)
    if settings.problems:
        raise Refused(deduplicated(settings.problems))
    return replace(compiled, hooks=hooks)


def submitter_hooks_of(
    loaded: Loaded, cls: type, settings: Settings, at: str, *, here: bool = False
) -> SubmitterHooks | None:
    """Find the hooks that the submitter runs; most scenarios have none.

    ``here``: the submitter prepares users unless the scenario sets ``prepare``.
    """
    marked = any(once_of(one) for base in cls.__mro__ for one in vars(base).values())
    starts = vars(VUser)["on_start"] is not getattr(cls, "on_start", None)
    if not marked and not starts and "prepare" not in settings.spec.arguments:
        return None
    from .scenario.hooks import submitter_hooks  # noqa: PLC0415  (start-up is a promise)

    return submitter_hooks(loaded, cls, settings, at, here=here)


def _code_problem(compiled: Compiled) -> str | None:
    """Return the reason why the plan cannot hold the code; None if it can."""
    found = json.loads(_native.check_plan(compiled.plan_json()))
    for one in found:
        if one["field"] == "plan" or one["field"].startswith("code"):
            return f"its code {one['rule']} (got {one['value']})"
    return None


def _more_secrets(secrets: Secrets) -> dict[str, list[str]]:
    """Return the plan's field of additional secret headers, if there are any."""
    names = sorted(secrets.names)
    return {"secret_headers": names} if names else {}


def hold(plan: dict[str, Any], settings: Settings, gated: Measurable) -> None:
    """Add the gates that the run holds by its rate."""
    gates = settings.held_gates(gated)
    if not gates:
        return
    if "users" in plan:
        name = "user_stages" if "user_stages" in plan else "users"
        flag = settings.overrides.loop_flag()
        own = f"{name}= ({settings.places.get(name, settings.at)})"
        instead = f"leave out {flag}" if flag else f"set rps= in place of {own}"
        what = f"needs a rate to change, and a closed loop has users; {instead}"
        settings.problems.append(Problem("--hold", what))
    elif plan["profile"]["shape"] != "constant":
        what = "starts from one rate, such as --mode constant --rps 50"
        settings.problems.append(Problem("--hold", what))
    plan |= {"schema": SECOND_SCHEMA, "hold": gates}


def measurable(cls: type, *, runs_in_python: bool) -> Measurable:
    """List the subjects that gates of a scenario can name."""
    names = task_names(cls)
    checked = [name for name in names if _has_check(cls, name)]
    return Measurable(names, checked, runs_in_python)


def plan_of(scenario: str, settings: Settings, tasks: Tasks, target: str) -> dict[str, Any]:
    """Build the plan without its thresholds."""
    timeout_us, timeouts = time_outs(settings)
    arguments = settings.spec.arguments
    stages = stages_of.of_users(settings)
    users = stages_of.most(stages) if stages else settings.users()
    closed = users is not None
    rest, session = settings.rest(users), session_of(settings, users)
    staged_us = stages_of.length_us(stages) if stages else None
    profile = settings.closed_loop(staged_us) if closed else settings.profile()
    is_newer = profile["shape"] in NEWER_SHAPES or not NEWER_RESTS.isdisjoint(rest or {})
    plan: dict[str, Any] = {
        "schema": SECOND_SCHEMA if stages or session or is_newer else PLAN_SCHEMA,
        "scenario": scenario,
        "target": target,
        "profile": profile,
        **({"users": users} if closed else {}),
        **({"user_stages": stages} if stages else {}),
        **({"rest": rest} if rest else {}),
        **({"session": session} if session else {}),
        "arrivals": "uniform" if closed else settings.choice("arrivals", ARRIVALS),
        "tasks": tasks.tasks,
        "warm_up_us": settings.duration_us("warm_up"),
        "timeout_us": timeout_us,
        **({"timeouts": timeouts} if timeouts else {}),
        "max_wait_us": settings.duration_us("max_wait") if "max_wait" in arguments else timeout_us,
        "max_lateness_us": MAX_LATENESS_US,
        "tick_us": TICK_US,
    }
    if "max_in_flight" in arguments and not closed:
        plan["max_in_flight"] = settings.whole("max_in_flight", 1, 2**32 - 1)
    if settings.overrides.id_header is not None:
        plan["id_header"] = settings.overrides.id_header
    if settings.overrides.debug_requests:
        plan["debug_requests"] = settings.overrides.debug_requests
    tags = settings.tags(tasks.secrets)
    if tags:
        plan["tags"] = tags
    connection_settings = connections(settings, settings.overrides.connections, tasks.secrets)
    if connection_settings:
        plan["connections"] = connection_settings
    if settings.overrides.samples_ppm is not None:
        plan["samples_ppm"] = settings.overrides.samples_ppm
    return plan


def translated(found: dict[str, str], settings: Settings, lines: Mapping[str, str]) -> Problem:
    """Translate a problem of the plan to its line or flag; ``lines`` are those of the tasks."""
    path, must, value = found["field"], found["rule"], found["value"]
    if path in FLAGS:
        return rule(FLAGS[path], must, value)
    if path.endswith("_us") and value.removesuffix(" µs").isdecimal():
        value = f"{int(value.removesuffix(' µs')) / 1_000_000:g} s"
    step = STEP.fullmatch(path)
    if step is not None and step[1] in lines:
        field = step[2].removesuffix("_us")
        what = f"{field} {must}" if field else must
        return rule(lines[step[1]], what, value)
    root = re.split(r"[.\[]", path, maxsplit=1)[0]
    if root == "tags":
        flagged = {path.removeprefix("tags."), value} & settings.overrides.tags.keys()
        return rule("--tag" if flagged else settings.place("tags"), must, value)
    own = _own_place(root, path, settings)
    if own is not None:
        return rule(own, must, value)
    name = FIELDS.get(path, FIELDS.get(root))
    if name is None:
        return rule(f"{settings.at}: {path}", must, value)
    place = settings.place(name) if " " not in name else f"{settings.at}: {name}"
    return rule(place if path == root or path in FIELDS else f"{place} ({path})", must, value)


def _own_place(root: str, path: str, settings: Settings) -> str | None:
    """Return the place of a field of profile, connections or a flag's gates; None for others."""
    gate = path.partition(".")[2]
    if root == "hold":
        return f"--hold {gate}".strip()
    if root == "thresholds" and gate in settings.flagged_gates:
        return f"{settings.overrides.thresholds_flag} {gate}"
    if root == "profile":
        return _profile_place(path, settings)
    # The fields of TLS are contents of files, whose flags have other names.
    if root == "connections" and path != root and not path.startswith("connections.tls"):
        return place_of_connections(settings, path)
    return None


def _profile_place(path: str, settings: Settings) -> str:
    """Return the setting behind an invalid profile: a record, stages, rate or duration."""
    recorded = replay.source(settings)
    if recorded is not None:
        return settings.place(recorded)
    for name in ("user_stages", "stages"):
        if name in settings.spec.arguments or getattr(settings.overrides, name) is not None:
            return settings.place(name)
    if path.endswith((".from", ".to")):
        return settings.place("rps")
    flagged = settings.overrides.rps is not None and settings.overrides.duration is None
    return settings.place("rps" if flagged else "duration")


def deduplicated(problems: list[Problem]) -> list[Problem]:
    """Drop repetitions: two pieces of a profile break the same rule with the same value."""
    return list(dict.fromkeys(problems))
