"""Compiles a whole scenario to code, so that any agent can execute it without Python.

Either all parts become code or none, because tasks, hooks and checks share the state of a user.
Each reason for Python names its line. A part compiles only if its meaning depends neither on the
time nor on the machine.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from dataclasses import dataclass, field
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ...dsl import VUser
from ...problem import Reason
from ...scenario_file.constants import literal_parts
from .builtins import ambiguous_metrics
from .expressions import ScenarioContext
from .import_safety import import_effects
from .literals import NotCompiledError, literal
from .secret_flow import exposed_header, holds_literal_text, literal_attributes
from .signatures import root
from .statements import routine

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from ...inputs.params import Parameter
    from ...scenario_file.source import SourceFile, Sources

CODE_BYTES_MAX = 256 * 1024
"""Maximum size of the code as JSON, in bytes; the plan that holds it has a limit, too."""


@dataclass
class CodeCompiler:
    """Compiles one scenario."""

    cls: type
    sources: Sources
    file: SourceFile
    """The scenario's own file, which must hold all of its parts."""
    secret_headers: frozenset[str]
    feeds: dict[str, int]
    """Indexes of the feeds in the plan, by name."""
    parameters: Mapping[str, Parameter]
    """Parameters requested with ``env()``, by name."""
    reasons: list[Reason] = field(default_factory=list)
    compiled: list[str] = field(default_factory=list)
    """Names of the parts that could be compiled."""
    lines: set[int] = field(default_factory=set)
    literal_attributes: frozenset[str] = frozenset()
    """Attributes that hold literal text, as found in the parts compiled so far."""

    def compile(self, tasks: list[str]) -> dict[str, Any] | None:
        """Compile the whole scenario; None when a part of it needs Python."""
        self.check_class()
        if self.reasons:
            return None
        # The parts are compiled all the same, so that the user gets the reasons of each.
        self.reasons += [*import_effects(self.file), *ambiguous_metrics(self.file)]
        constants, attributes = self.constants(), self.instance_attributes()
        hidden = attributes & (set(dir(self.cls)) - set(constants))
        if hidden:
            at = self.file.class_line(self.cls.__name__)
            self.add_reason(
                at, f"on_start: sets `self.{min(hidden)}`, which the class defines, too"
            )
            return None
        is_direct = self.cls.__mro__[1] is VUser
        can_wait = "wait" not in attributes and getattr(self.cls, "wait", None) is VUser.wait
        context = ScenarioContext(
            constants,
            attributes,
            self.secret_headers,
            is_direct,
            can_wait,
            self.feeds,
            self.parameters,
            self.cls,
            self.sources,
        )
        literals = {name: literal(None, one) for name, one in constants.items()}
        self.literal_attributes = frozenset(
            name for name, one in literals.items() if holds_literal_text(one)
        )
        # `on_start` comes first: only it sets attributes.
        hooks = {
            name: self.part(name, name, context, ("client",)) for name in ("on_start", "on_stop")
        }
        made = []
        for name in tasks:
            one = {"body": self.part(f"task {name}", name, context, ("client",))}
            check = self.check(f"check_{name}", context)
            made.append(one | ({"check": check} if check else {}))
        if self.reasons:
            return None
        used = {name: literals[name] for name in sorted(context.used)}
        code: dict[str, Any] = {
            "file": self.file.name,
            "python_minor": sys.version_info.minor,
            **({"constants": used} if used else {}),
            **{name: hook for name, hook in hooks.items() if hook},
            "tasks": made,
            "lines": [
                {"number": line, "text": self.file.line(line)} for line in sorted(self.lines)
            ],
        }
        size = len(json.dumps(code))
        if size > CODE_BYTES_MAX:
            what = f"its code has {size:,} bytes, the maximum is {CODE_BYTES_MAX:,}"
            self.reasons.append(Reason(self.file.at(1), what))
            return None
        return code

    def check_class(self) -> None:
        """Refuse a class with a metaclass, ``__getattr__``, or bases outside of its file."""
        cls, at = self.cls, self.file.class_line(self.cls.__name__)
        bases = [base for base in cls.__mro__ if base not in (object, VUser)]
        defined = [node.name for node in self.file.tree.body if isinstance(node, ast.ClassDef)]
        for base in bases:
            if base.__module__ != cls.__module__:
                self.add_reason(at, f"class {cls.__name__} inherits from another file")
            elif defined.count(base.__name__) != 1:
                self.add_reason(at, f"class {base.__name__} is not defined once, at the top level")
        if type(cls) is not type or hasattr(cls, "__getattr__"):
            self.add_reason(at, f"class {cls.__name__} has a metaclass or __getattr__")

    def add_reason(self, at: int | ast.AST, what: str) -> None:
        """Add a reason for Python."""
        self.reasons.append(Reason(self.file.at(at), what))

    def part(self, label: str, name: str, context: ScenarioContext, takes: tuple[str, ...]) -> Any:
        """Compile one function of the class; None if it is that of VUser or refused."""
        function = getattr(self.cls, name)
        if function is getattr(VUser, name, None):
            return None
        static = inspect.getattr_static(self.cls, name)
        if not isinstance(function, FunctionType) or static is not function:
            self.add_reason(
                self.file.class_line(self.cls.__name__), f"{label}: is not a plain function"
            )
            return None
        source = self.sources.of(function)
        node = source.function(function) if source is not None else None
        if source is not self.file or node is None:
            first = function.__code__.co_firstlineno
            self.add_reason(first, f"{label}: its source is not in {self.file.shown}")
            return None
        try:
            hook = name if label == name and takes == ("client",) else None
            made, lines = routine(function, node, self.file, context, takes, hook)
            self.literal_attributes = literal_attributes(made, self.literal_attributes)
            header = exposed_header(made, self.secret_headers, self.literal_attributes)
        except (NotCompiledError, RecursionError) as refused:
            at: ast.AST = node
            what = "contains an expression that is nested too deep"
            if isinstance(refused, NotCompiledError):
                at, what = refused.node or node, refused.what
            self.add_reason(at, f"{label}: {what}")
            return None
        if header is not None:
            self.add_reason(node, f"{label}: writes the secret value of {header} into the code")
            return None
        self.compiled.append(label)
        self.lines |= lines
        return made

    def check(self, name: str, context: ScenarioContext) -> Any:
        """Compile a check; None if there is none or it is refused."""
        function = getattr(self.cls, name, None)
        if function is None:
            return None
        if inspect.iscoroutinefunction(function) or not isinstance(function, FunctionType):
            self.add_reason(self.file.class_line(self.cls.__name__), f"{name}: is not a plain def")
            return None
        count = len(inspect.signature(function).parameters) - 1
        takes = ("response",) if count == 1 else ("status", "body")
        made = self.part(name, name, context, takes)
        return made and {"takes": "answer" if count == 1 else "status_and_body", "body": made}

    def instance_attributes(self) -> frozenset[str]:
        """Return the attributes that ``on_start``, or a method that it mentions, may set."""
        names: set[str] = set()
        looked_at, open_names = set(), ["on_start"]
        while open_names:
            name = open_names.pop()
            function = inspect.getattr_static(self.cls, name, None)
            if name in looked_at or not isinstance(function, FunctionType):
                continue
            looked_at.add(name)
            source = self.sources.of(function)
            node = source.function(function) if source is not None else None
            if node is not None and function is not VUser.on_start:
                names |= _stored(node)
                open_names += [one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)]
        return frozenset(names)

    def constants(self) -> dict[str, Any]:
        """Return the constant class attributes, by name."""
        found: dict[str, Any] = {}
        for base in reversed(self.cls.__mro__):
            if base in (object, VUser):
                continue
            for name, value in _class_assignments(self.file, base.__name__).items():
                if name in vars(base) and self.is_literal(value, vars(base)):
                    found[name] = vars(base)[name]
                else:
                    found.pop(name, None)
            for name, value in vars(base).items():
                if isinstance(value, FunctionType | property | staticmethod | classmethod):
                    found.pop(name, None)
        return {name: value for name, value in found.items() if _has_form(value)}

    def is_open_parameter(self, call: ast.Call, own: Container[str]) -> bool:
        """Whether a call is ``env()`` of a parameter that is not secret.

        A part of a secret, ``f"{…:.3}"``, could not be found in the code.
        """
        arguments = {keyword.arg for keyword in call.keywords}
        is_env = self.file.bindings.origin_of(call.func) == "loadpilot.env"
        return is_env and root(call.func) not in own and arguments <= {"name", "default"}

    def is_literal(self, value: ast.expr, own: Container[str]) -> bool:
        """Whether a value consists of literals, parameters and constants of the module.

        ``own`` holds the names that the class defines.
        """
        for part, problem in literal_parts(value):
            if isinstance(part, ast.Call) and self.is_open_parameter(part, own):
                continue
            name = part.id if isinstance(part, ast.Name) else ""
            if problem is not None or self.file.bindings.why_not_constant(name) is not None:
                return False
        return True


def _stored(node: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """Return the attributes that a method sets on its user."""
    user = [*node.args.posonlyargs, *node.args.args][:1]
    names = set()
    for one in ast.walk(node):
        match one:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute, ctx=ast.Store()):
                if [name] == [argument.arg for argument in user]:
                    names.add(attribute)
            case _:
                pass
    return frozenset(names)


def _class_assignments(file: SourceFile, name: str) -> dict[str, ast.expr]:
    """Return the values that the body of a class of the module assigns, by name."""
    found: dict[str, ast.expr] = {}
    for node in file.tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            found = {}
            for statement in node.body:
                match statement:
                    case (
                        ast.Assign(targets=[ast.Name(id=attribute)], value=value)
                        | ast.AnnAssign(target=ast.Name(id=attribute), value=ast.expr() as value)
                    ):
                        found[attribute] = value
                    case _:
                        pass
    return found


def _has_form(value: Any) -> bool:
    try:
        literal(None, value)
    except NotCompiledError:
        return False
    return True
