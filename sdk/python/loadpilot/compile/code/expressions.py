"""Compiles expressions of tasks, hooks and checks.

Only expressions that the engine computes exactly as Python does are compiled, in Python's order.
Names are resolved here: a local variable, an attribute of the user, a constant.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...request.headers import is_secret_entry
from ...scenario_file.constants import describe
from . import builtins, str_methods
from .literals import literal, reject
from .secret_flow import SCHEMES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FunctionType

    from ...inputs.params import Parameter
    from ...scenario_file.source import SourceFile, Sources

OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "modulo",
    ast.Div: "divide",
}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "equal",
    ast.NotEq: "unequal",
    ast.Lt: "less",
    ast.LtE: "at_most",
    ast.Gt: "more",
    ast.GtE: "at_least",
    ast.In: "in",
    ast.NotIn: "not_in",
    ast.Is: "is",
    ast.IsNot: "is_not",
}
FUNCTIONS = frozenset({"len", "str", "repr", "int", "bool"})
KINDS = frozenset({"bool", "int", "float", "str", "list", "dict"})
PROPERTIES = {name: name for name in ("status_code", "ok", "text", "elapsed_ms")}


@dataclass
class ScenarioContext:
    """The facts about a scenario that all of its functions share."""

    constants: Mapping[str, Any]
    """Constant class attributes, by name."""
    instance_attributes: frozenset[str]
    """Names of the attributes that ``on_start`` sets on a user."""
    secret_headers: frozenset[str]
    """Names of additional secret headers, in lower case."""
    extends_vuser_only: bool
    """Whether ``super()`` leads to the empty hooks of VUser."""
    can_wait: bool
    """Whether ``self.wait`` is that of VUser."""
    feeds: Mapping[str, int]
    """Indexes of the feeds in the plan, by name."""
    parameters: Mapping[str, Parameter]
    """Parameters requested with ``env()``, by name."""
    cls: type
    """The scenario's class."""
    sources: Sources
    """The files of its functions."""
    used: set[str] = field(default_factory=set)
    """Names of the constants that code reads."""


@dataclass
class Lowering:
    """Compiles the expressions of one function."""

    function: FunctionType
    file: SourceFile
    context: ScenarioContext
    user: str
    client: str | None
    is_awaiting: bool
    """Whether its requests are awaited."""
    is_async: bool
    """Whether it is a coroutine."""
    locals: list[str]
    """Names of all variables so far by number, with those of inlined functions."""
    names: dict[str, int] = field(default_factory=dict)
    """Numbers of its own local variables, by name."""
    answers: frozenset[str] = frozenset()
    """Names of its variables that hold a response."""
    batches: Mapping[str, int | None] = field(default_factory=dict)
    """Names of its variables that hold the responses of a batch, with their number if known."""
    lines: set[int] = field(default_factory=set)
    """Lines that errors may name."""
    asserted: set[int] = field(default_factory=set)
    """Lines whose text errors may show, such as an assertion without a message."""
    bound: set[str] = field(default_factory=set)
    """Names of variables that are set on every path to this point. Reading any other is refused:
    CPython does not always name the line of that error."""
    may_have_raised: bool = False
    """Whether this statement has computed something that may raise."""
    conditional_depth: int = 0
    """Nesting of conditionally evaluated parts of the current expression."""
    inline_value: Callable[[ast.expr], Any] = field(default=lambda _: None)
    """Inlines a call of one of the scenario's functions before the statement; returns its value as
    code, or None for another expression."""
    send_first: Callable[[ast.expr], int | None] = field(default=lambda _: None)
    """Sends a request of the client before the statement; returns the variable of its response, or
    None for another expression."""

    def slot(self, name: str) -> int:
        """Return the number of a local variable."""
        return self.names[name]

    def new_local(self, name: str) -> int:
        """Create a variable; returns its number."""
        self.locals.append(name)
        return len(self.locals) - 1

    def note_line(self, line: int) -> int:
        """Record a line that an error may name; returns the line."""
        self.lines.add(line)
        return line

    def expression(self, node: ast.expr) -> Any:  # noqa: C901, PLR0911, PLR0912  (a table of syntax)
        """Compile an expression."""
        match node:
            case ast.Constant(value=value):
                return {"literal": literal(node, value)}
            case ast.Name():
                return self.name(node)
            case ast.List(elts=elements):
                return {"list": [self.expression(self.not_starred(one)) for one in elements]}
            case ast.Dict():
                return self.dict(node)
            case ast.JoinedStr(values=values):
                if node.lineno != node.end_lineno:
                    reject(node, "contains an f-string over several lines")
                return {"join": [self.formatted(value) for value in values]}
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(node, left, op, right)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return {"not": self.expression(operand)}
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return {"literal": literal(node, -value)}
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                of = self.expression(operand)
                return {"negate": {"of": of, "line": self.note_raise(node)}}
            case ast.Compare():
                return self.compare(node)
            case ast.BoolOp(op=op, values=values):
                first = self.expression(values[0])
                rest = [self.conditional(value) for value in values[1:]]
                return {"and" if isinstance(op, ast.And) else "or": [first, *rest]}
            case ast.IfExp(test=test, body=body, orelse=orelse):
                chosen = self.expression(test)
                then, otherwise = self.conditional(body), self.conditional(orelse)
                return {"choose": {"test": chosen, "then": then, "otherwise": otherwise}}
            case ast.Subscript(value=value, slice=key):
                return self.item(node, value, key)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Call():
                return self.call(node)
            case ast.Await(value=ast.Call()):
                found = self.inline_value(node)
                return reject(node, f"contains {describe(node)}") if found is None else found
            case ast.ListComp():
                return str_methods.comprehension(self, node)
            case _:
                return reject(node, f"contains {describe(node)}")

    def is_local(self, name: str) -> bool:
        """Whether a name is a local variable here."""
        return name in self.names

    def hides(self, name: str) -> bool:
        """Whether a name belongs to the function, and not to the module."""
        return self.is_local(name) or name in (self.user, self.client)

    def not_starred(self, node: ast.expr) -> ast.expr:
        """Refuse an argument or element unpacked with ``*``; returns any other."""
        if isinstance(node, ast.Starred):
            reject(node, "unpacks something with *")
        return node

    def conditional(self, node: ast.expr) -> Any:
        """Compile an expression that is not always evaluated."""
        self.conditional_depth += 1
        made = self.expression(node)
        self.conditional_depth -= 1
        return made

    def note_raise(self, node: ast.expr) -> int:
        """Record that an expression may raise; returns the line that Python names then."""
        self.may_have_raised = True
        return self.note_line(node.lineno)

    def name(self, node: ast.Name) -> Any:
        """Compile a name."""
        name = node.id
        if name in self.answers or name in self.batches:
            reject(node, f"uses the response `{name}` as a value")
        if name in self.names:
            self.must_be_bound(node)
            return {"local": {"local": self.slot(name), "line": self.note_raise(node)}}
        if name in (self.user, self.client):
            reject(node, f"uses `{name}` as a value")
        return {"literal": literal(node, self.constant(node))}

    def must_be_bound(self, node: ast.Name) -> None:
        """Refuse a variable that some path to this point leaves unset."""
        if node.id not in self.bound:
            reject(node, f"reads `{node.id}`, which may not be set there")

    def constant(self, node: ast.Name, *, may_be_tuple: bool = False) -> Any:
        """Return the value of a constant of the module; refuses any other name."""
        refusal = self.file.bindings.why_not_constant(node.id)
        if refusal is not None:
            reject(node, f"uses {refusal}")
        value = self.function.__globals__.get(node.id)
        if isinstance(value, tuple) and not may_be_tuple:
            reject(node, f"uses `{node.id}`, a tuple, as a value")
        self.no_secret(node, value)
        return value

    def dict(self, node: ast.Dict) -> Any:
        """Compile a dict display."""
        entries = []
        for key, value in zip(node.keys, node.values, strict=True):
            match key:
                case ast.Constant(value=str() as text):
                    pass
                case ast.Name() if key.id not in self.names:
                    text = self.constant(key)
                case None:
                    reject(value, "unpacks something with **")
                case _:
                    reject(key, "makes a dict whose keys are computed")
            if not isinstance(text, str):
                reject(key, "makes a dict whose keys are not text")
            made = self.expression(value)
            if is_secret_entry(text, self.context.secret_headers) and _writes(made):
                reject(value, f"writes the secret value of {text} into the code")
            entries.append({"key": literal(key, text)["text"], "value": made})
        return {"dict": entries}

    def no_secret(self, node: ast.AST, value: Any) -> None:
        """Refuse a constant that holds the value of a secret header."""
        if isinstance(value, dict):
            for key, inner in value.items():
                is_secret = isinstance(key, str) and is_secret_entry(
                    key, self.context.secret_headers
                )
                if is_secret and not (isinstance(inner, str) and inner in SCHEMES):
                    reject(node, f"writes the secret value of {key} into the code")
                self.no_secret(node, inner)
        elif isinstance(value, list | tuple):
            for inner in value:
                self.no_secret(node, inner)

    def formatted(self, node: ast.expr) -> Any:
        """Compile a part of an f-string."""
        match node:
            case ast.Constant():
                return self.expression(node)
            case ast.FormattedValue(format_spec=ast.expr()):
                made = str_methods.formatted(self, node)
                if made is not None:
                    return made
            case ast.FormattedValue(value=value, conversion=conversion, format_spec=None):
                made = self.expression(value)
                if conversion == ord("r"):
                    line = self.note_raise(node)
                    return {"call": {"function": "repr", "to": [made], "line": line}}
                if conversion in (-1, ord("s")):
                    return made
        return reject(node, "formats a value in an unsupported way")

    def binary(self, node: ast.expr, left: ast.expr, op: ast.operator, right: ast.expr) -> Any:
        """Compile an operation on two values."""
        operator = OPERATORS.get(type(op))
        if operator is None:
            reject(node, "computes with an operator other than + - * / // %")
        is_text = isinstance(left, ast.JoinedStr) or (
            isinstance(left, ast.Constant) and isinstance(left.value, str)
        )
        if isinstance(op, ast.Mod) and is_text:
            reject(node, "formats text with %")
        sides = {"left": self.expression(left), "right": self.expression(right)}
        return {"binary": {"operator": operator, **sides, "line": self.note_raise(node)}}

    def compare(self, node: ast.Compare) -> Any:
        """Compile a chain of comparisons."""
        first = self.expression(node.left)
        others = []
        for place, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            how = COMPARISONS[type(op)]
            if isinstance(op, ast.Is | ast.IsNot):
                match right:
                    case ast.Constant(value=None | True | False):
                        pass
                    case _:
                        reject(
                            right, "compares with `is` to something else than None, True or False"
                        )
            self.conditional_depth += place > 0
            if isinstance(op, ast.In | ast.NotIn):
                others.append({"how": how, "to": self.collection(right)})
            else:
                others.append({"how": how, "to": self.expression(right)})
            self.conditional_depth -= place > 0
        return {"compare": {"first": first, "others": others, "line": self.note_raise(node)}}

    def collection(self, node: ast.expr) -> Any:
        """Compile the right side of ``in``, or the iterable of a loop; a tuple counts as a list."""
        match node:
            case ast.Tuple(elts=elements):
                return {"list": [self.expression(self.not_starred(one)) for one in elements]}
            case ast.Name(id=name) if not self.hides(name):
                value = self.constant(node, may_be_tuple=True)
                return {"literal": literal(node, list(value) if type(value) is tuple else value)}
            case _:
                return self.expression(node)

    def item(self, node: ast.Subscript, value: ast.expr, key: ast.expr) -> Any:
        """Compile ``a[key]``."""
        if isinstance(key, ast.Slice):
            return str_methods.slice_of(self, node, key)
        if isinstance(key, ast.Tuple):
            reject(node, "takes a slice")
        found = self.header(node, value, key, None)
        if found is not None:
            return found
        sides = {"of": self.expression(value), "key": self.expression(key)}
        return {"item": {**sides, "line": self.note_raise(node)}}

    def header(
        self, node: ast.expr, value: ast.expr, key: ast.expr, otherwise: ast.expr | None
    ) -> Any:
        """Compile ``r.headers[key]``; None for another expression."""
        match value:
            case ast.Attribute(value=inner, attr="headers"):
                slot = self.answer(inner)
                if slot is None:
                    return None
            case _:
                return None
        match key:
            case ast.Constant(value=str() as name) if name.isascii():
                pass
            case _:
                reject(key, "looks up a header by a computed name")
        found = {"local": slot, "name": name, "line": self.note_raise(node)}
        if otherwise is not None:
            found["otherwise"] = self.expression(otherwise)
        return {"header": found}

    def answer(self, node: ast.expr) -> int | None:
        """Return the variable that holds a response; None for another expression."""
        match node:
            case ast.Name(id=name) if name in self.answers:
                self.must_be_bound(node)
                return self.slot(name)
            case _:
                return self.send_first(node)

    def attribute(self, node: ast.Attribute) -> Any:
        """Compile an attribute of the user or of a response."""
        match node.value:
            case ast.Name(id=name) if name == self.user and name not in self.locals:
                return self.user_attribute(node)
        slot = self.answer(node.value)
        if slot is None:
            reject(node, f"uses the attribute `{ast.unparse(node)}`")
        part = PROPERTIES.get(node.attr)
        if part is None:
            reject(node, f"uses `.{node.attr}` of a response")
        self.may_have_raised = True
        line = self.note_line(node.end_lineno or node.lineno)
        return {"answer": {"local": slot, "part": part, "line": line}}

    def user_attribute(self, node: ast.Attribute) -> Any:
        """Compile an attribute of the user."""
        name = node.attr
        if name in self.context.constants:
            self.context.used.add(name)
            self.no_secret(node, self.context.constants[name])
        elif name not in self.context.instance_attributes:
            what = f"`self.{name}`, which is neither a constant nor set by on_start"
            reject(node, f"uses {what}")
        self.may_have_raised = True
        return {"own": {"name": name, "line": self.note_line(node.end_lineno or node.lineno)}}

    def call(self, node: ast.Call) -> Any:  # noqa: C901, PLR0911  (a table of syntax)
        """Compile a call: of a builtin, a method, or one of the scenario's functions."""
        function, given = node.func, [self.not_starred(one) for one in node.args]
        if self.send_first(node) is not None:
            reject(node, "uses a response as a value")
        for known in (builtins.value, Lowering.inlined_call, str_methods.text_method):
            found = known(self, node)
            if found is not None:
                return found
        if node.keywords:
            reject(node, f"contains {describe(node)}")
        match function:
            case ast.Name(id=name) if self.is_builtin(name):
                if name == "isinstance" and len(given) == 2:
                    return self.isinstance(given[0], given[1])
                if name in FUNCTIONS and len(given) == 1:
                    of = self.expression(given[0])
                    return {"call": {"function": name, "to": [of], "line": self.note_raise(node)}}
            case ast.Attribute(value=value, attr="json") if not given:
                slot = self.answer(value)
                if slot is not None:
                    self.may_have_raised = True
                    line = self.note_line(function.end_lineno or function.lineno)
                    return {"answer": {"local": slot, "part": "json", "line": line}}
            case ast.Attribute(value=value, attr="get") if len(given) in (1, 2):
                otherwise = given[1] if len(given) == 2 else ast.Constant(None)
                found = self.header(node, value, given[0], otherwise)
                if found is not None:
                    return found
                return self.get(function, given)
            case _:
                pass
        return reject(node, f"contains {describe(node)}")

    def inlined_call(self, node: ast.Call) -> Any:
        """Compile a call of one of the scenario's functions; None for another call."""
        return self.inline_value(node)

    def get(self, function: ast.Attribute, given: list[ast.expr]) -> Any:
        """Compile ``d.get(key)`` of a dict."""
        match function.value:
            case ast.Name(id=name) if name not in self.names:
                if name == self.client or self.file.bindings.why_not_constant(name) is not None:
                    reject(function, f"contains a call of `{ast.unparse(function)}()`")
        to = [self.expression(one) for one in [function.value, *given]]
        self.may_have_raised = True
        line = self.note_line(function.end_lineno or function.lineno)
        return {"call": {"function": "get", "to": to, "line": line}}

    def isinstance(self, of: ast.expr, kinds: ast.expr) -> Any:
        """Compile ``isinstance(a, int)``."""
        listed = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
        names = []
        for kind in listed:
            match kind:
                case ast.Name(id=name) if name in KINDS and self.is_builtin(name):
                    names.append(name)
                case _:
                    reject(
                        kind,
                        "calls isinstance() with a type beside bool, int, float, str, list, dict",
                    )
        if not names:
            reject(kinds, "calls isinstance() with no type")
        return {"is_instance": {"of": self.expression(of), "kinds": names}}

    def is_builtin(self, name: str) -> bool:
        """Whether a name stands for Python's builtin here."""
        is_bound = self.file.bindings.binds(name) or name in self.function.__globals__
        return not self.hides(name) and not is_bound


def _writes(made: Any) -> bool:
    """Whether the code of a secret value contains a literal other than an authentication scheme."""
    if isinstance(made, dict):
        if "literal" in made:
            value = made["literal"]
            is_text = isinstance(value, dict) and "text" in value
            return not (is_text and value["text"] in SCHEMES)
        if "item" in made:
            return _writes(made["item"]["of"])
        if made.get("function") == "get":
            return any(_writes(part) for part in [made["to"][0], *made["to"][2:]])
        return any(_writes(part) for name, part in made.items() if name not in ("line", "name"))
    return isinstance(made, list) and any(_writes(part) for part in made)
