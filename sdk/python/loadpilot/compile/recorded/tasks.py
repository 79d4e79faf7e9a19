"""The tasks of a scenario class: found, checked, recorded and turned into steps.

Attributes follow Python's method resolution order: mixins work, and an override keeps the position
of the overridden task.
"""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from dataclasses import dataclass, field
from traceback import extract_tb
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ...dsl import VUser, attribute_names, task_of
from ...inputs.params import ParameterError
from ...inputs.units import Wrong, duration_us
from ...problem import Problem, Reason, rule
from ...request.encoding import checked_method, encode_body, target_path
from ...request.headers import Secrets, plan_headers, with_auth, with_cookies
from ...request.kwargs import EXTRAS, unknown_keyword
from ...request.streams import stream_options
from .body_store import BodyStore
from .constant_check import check_constant
from .locust_settings import ignored_attributes
from .record import Recorded, record

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from ...scenario_file.source import SourceFile, Sources

NAME_BYTES_MAX = 128
"""Maximum length of a name in a plan, in bytes."""
STEPS_MAX = 100
"""Maximum number of recorded calls of a task; a task of more is code, or runs in Python."""
CALLS_MAX = 2_000
"""Maximum number of recorded calls of all tasks."""
HOOKS = ("on_start", "on_stop")
SENT = "sends the value of a secret elsewhere than in a header"
"""Reason for Python of a request that holds the value of a secret."""
KEPT_APART = frozenset({"headers", "auth", "cookies"})
"""Keywords whose secret values are kept apart from the plan."""


@dataclass
class Tasks:
    """Compiles the tasks of one scenario."""

    sources: Sources
    secrets: Secrets
    bodies: BodyStore = field(default_factory=BodyStore)
    tasks: list[dict[str, Any]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)
    """Reasons why the tasks cannot be recorded; with any, no task has steps."""
    first: int = 0
    """Index in the plan of the first task."""
    lines: dict[str, str] = field(default_factory=dict)
    """Places of tasks and steps by field of the plan, ``tasks[0].steps[1]``."""

    def compile(self, cls: type, at: str, own_reason: Reason | None = None) -> None:
        """Compile every task of a class; ``at`` is the place of the class.

        ``own_reason`` is the author's reason for Python, ``compile=False``.
        """
        names = task_names(cls)
        self.reasons += [own_reason] if own_reason else []
        self.note(self.hooks(cls, names, at))
        self.problems += ignored_attributes(cls, self.sources, at)
        if not names:
            what = f"scenario {cls.__name__} has no task; mark at least one method with @task"
            self.problems.append(Problem(at, what))
        for name in names:
            self.task(name, inspect.getattr_static(cls, name), at)
        count = sum(len(task["steps"]) for task in self.tasks)
        if count > CALLS_MAX:
            what = f"{count:,} constant calls are more than {CALLS_MAX:,}"
            self.reasons.append(Reason(at, what))
        if self.reasons:
            self.bodies = BodyStore()
            for task in self.tasks:
                task["steps"] = []
        self.bodies.move_largest_beside()

    def note(self, problems: list[Problem]) -> None:
        """Add mistakes to the problems, and reasons for Python to the reasons."""
        self.reasons += [one for one in problems if isinstance(one, Reason)]
        self.problems += [one for one in problems if not isinstance(one, Reason)]

    def hooks(self, cls: type, names: list[str], at: str) -> list[Problem]:
        """Find hooks and checks, which cannot be recorded."""
        problems: list[Problem] = []
        for name in attribute_names(cls):
            what = f"{cls.__name__} defines {name}()"
            line = self.sources.place_of(getattr(cls, name), at)
            is_check = name.startswith("check_")
            if is_check and name.removeprefix("check_") not in names:
                what += "; it belongs to no task, so it would never be called"
                problems.append(Problem(line, what))
            elif is_check or (
                name in HOOKS and getattr(cls, name) is not getattr(VUser, name, None)
            ):
                flaw = _flaw(name, getattr(cls, name))
                problems.append(Reason(line, what) if flaw is None else Problem(line, flaw))
        return problems

    def task(self, name: str, function: object, at: str) -> None:
        """Compile one task."""
        place = f"tasks[{self.first + len(self.tasks)}]"
        if not isinstance(function, FunctionType):
            what = f"task {name}: must be a plain method, not {type(function).__name__}"
            self.problems.append(Problem(at, what))
            return
        if hasattr(function, "__wrapped__"):
            self.wrapped(name, function, self.sources.place_of(inspect.unwrap(function), at))
            return
        file = self.sources.of(function)
        node = file.function(function) if file else None
        if file is None or node is None:
            where = function.__code__.co_filename
            what = f"task {name}: its source was not found in {where}; define it in a file"
            self.problems.append(Problem(at, what))
            return
        self.lines[place] = file.at(node)
        checked = check_constant(function, node, file)
        weight = self.weight(name, function, file.at(node))
        if checked.problems:
            self.note(checked.problems)
            self.tasks.append({"name": name, "weight": weight, "steps": []})
            return
        steps = self.steps(name, function, checked.calls, file, place)
        if len(steps) > STEPS_MAX:
            what = f"task {name}: {len(steps):,} constant calls are more than {STEPS_MAX}"
            self.reasons.append(Reason(file.at(node), what))
        self.tasks.append({"name": name, "weight": weight, "steps": steps})

    def wrapped(self, name: str, function: FunctionType, at: str) -> None:
        """Note a task in a wrapper of ``functools.wraps``, which is played in Python."""
        if any(map(inspect.iscoroutinefunction, (function, inspect.unwrap(function)))):
            what = "has a decorator that wraps a coroutine; leave it out, or make it a plain def"
            self.problems.append(Problem(at, f"task {name}: {what}"))
            return
        self.reasons.append(Reason(at, f"task {name}: is wrapped by a decorator"))
        self.lines[f"tasks[{self.first + len(self.tasks)}]"] = at
        weight = self.weight(name, function, at)
        self.tasks.append({"name": name, "weight": weight, "steps": []})

    def weight(self, name: str, function: FunctionType, at: str) -> int:
        """Read a task's weight; returns 1 for an invalid one and adds a problem."""
        spec = task_of(function)
        weight = spec.weight if spec is not None else None
        if isinstance(weight, bool) or not isinstance(weight, int) or not 1 <= weight < 2**32:
            must = "weight must be a whole number of at least 1"
            self.problems.append(rule(at, f"task {name}: {must}", weight))
            return 1
        return weight

    def steps(
        self,
        name: str,
        function: FunctionType,
        calls: list[ast.Call],
        file: SourceFile,
        place: str,
    ) -> list[dict[str, Any]]:
        """Record a checked task and turn its requests into steps."""
        try:
            requests = record(function)
        except Exception as error:  # noqa: BLE001  (user code: any error is the user's)
            what = f"task {name}: {type(error).__name__} while its arguments were read: {error}"
            if isinstance(error, ParameterError):
                what = str(error)
            own = [f for f in extract_tb(error.__traceback__) if f.filename == file.path]
            line = own[-1].lineno if own else None
            self.problems.append(Problem(file.at(line or function.__code__.co_firstlineno), what))
            return []
        assert len(requests) == len(calls), "a checked body makes exactly the calls in its source"  # noqa: S101
        steps = []
        for number, (request, call) in enumerate(zip(requests, calls, strict=True)):
            self.lines[f"{place}.steps[{number}]"] = file.at(call)
            shown = [v for k, v in request.extras.items() if k not in KEPT_APART]
            if self.secrets.found_in([request.path, *shown]):
                what = f"task {name}: {SENT}"
                self.reasons.append(Reason(file.at(call), what))
            steps.append(self.step(name, request, file.at(call)))
        return steps

    def step(self, name: str, request: Recorded, at: str) -> dict[str, Any]:
        """Turn one request into a step; its mistakes are added to the problems."""
        step: dict[str, Any] = {"method": request.method}
        with self._noting(name, at):
            step["method"] = checked_method(request.method)
        for extra in request.extras:
            if extra not in EXTRAS:
                self.problems.append(
                    Problem(at, f"task {name}: {unknown_keyword('a request', extra)}")
                )
        encoded = None
        with self._noting(name, at):
            encoded = encode_body(request.extras)
        with self._noting(name, at):
            step["path"] = target_path(request.path, request.extras.get("params"))
        with self._noting(name, at):
            written = with_auth(request.extras.get("headers"), request.extras.get("auth"))
            written = with_cookies(written, request.extras.get("cookies"))
            headers = plan_headers(written, encoded, self.secrets)
            if headers:
                step["headers"] = headers
        if "timeout" in request.extras:
            try:
                step["timeout_us"] = duration_us(
                    f"{at}: task {name}: timeout", request.extras["timeout"]
                )
            except Wrong as wrong:
                self.problems.append(wrong.problem)
        with self._noting(name, at):
            step |= stream_options(request.extras)
        name_ = request.extras.get("name")
        if name_ is not None and not isinstance(name_, str):
            must = "name must be text"
            self.problems.append(rule(at, f"task {name}: {must}", name_))
            name_ = None
        step = {"name": name_ or step_name(step["method"], request.path)} | step
        if encoded is not None:
            self.bodies.add(step, encoded.content)
        return step

    @contextmanager
    def _noting(self, name: str, at: str) -> Iterator[None]:
        """Turn the lines of a ValueError into problems of one request, and continue."""
        try:
            yield
        except ValueError as error:
            lines = str(error).splitlines()
            self.problems += [Problem(at, f"task {name}: {line}") for line in lines]


def task_names(cls: type) -> list[str]:
    """Return the tasks of a class in the order of the first definitions of their names."""
    names = attribute_names(cls)
    return [name for name in names if _is_marked(inspect.getattr_static(cls, name))]


def _flaw(name: str, function: Any) -> str | None:
    """Return the mistake of a hook or check with which each of its calls would fail, or None."""
    is_check = name.startswith("check_")
    if not callable(function):
        return f"{name} must be a method, not {type(function).__name__}"
    if is_check and inspect.iscoroutinefunction(function):
        return f"{name}() must be a plain def, not an async def"
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return f"{name}() contains a yield, so that calling it does nothing"
    try:
        count = len(inspect.signature(function).parameters)
        # A decorator may take other arguments than the function that it wraps.
        signature = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):
        return None
    takes, must = ["self", "client"], "(self, client)"
    if is_check:
        # The player chooses the arguments of a check by the same count.
        takes = ["self", "response"] if count == 2 else ["self", "status_code", "body"]
        must = "(self, status_code, body) or (self, response)"
    try:
        signature.bind(*takes)
    except TypeError:
        return f"{name}() must take {must} (got {signature})"
    return None


def step_name(sent: str, path: object) -> str:
    """Name a step: method and path without the query, cut to the limit of a plan."""
    name = f"{sent} {str(path).partition('?')[0]}"
    encoded = name.encode(errors="replace")
    if len(encoded) <= NAME_BYTES_MAX:
        return name
    return encoded[: NAME_BYTES_MAX - 3].decode(errors="ignore") + "…"


def _is_marked(attribute: object) -> bool:
    """Whether an attribute, or the function inside a static or class method, is marked."""
    inner = getattr(attribute, "__func__", None)
    return task_of(attribute) is not None or task_of(inner) is not None
