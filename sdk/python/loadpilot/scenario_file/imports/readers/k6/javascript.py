"""Parses JavaScript, and evaluates the constant parts of its expressions; nothing is executed."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from .....library.tables.extras import extra
from ...imported_scenario import Extracted, Parameter, Variable, joined
from ...source import DEPTH_MAX, utf8
from .checks import Rates
from .response_values import JsonOf, ResponseMember

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...imported_scenario import Imported
    from ...source import Source

SCRIPT_BYTES_MAX = 4 << 20
"""Maximum size of a script, in bytes."""
SNIPPET_MAX = 60
"""Maximum length of code in a message."""
INTEGER_MAX = 2**53
"""Integers from here on are rounded, as numbers of JavaScript are."""
FUNCTIONS = frozenset({"arrow_function", "function_declaration", "function_expression"})
UNRESERVED = "-_.!~*'()"
"""Marks that encodeURIComponent leaves as they are, beside letters and digits."""
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}


@dataclass(frozen=True, slots=True, eq=False)
class Unknown:
    """A value that is not known without executing the script."""

    code: Code | None = None
    """Its expression, where it is a part of a larger value."""


UNKNOWN = Unknown()
Value: TypeAlias = Any
"""A text is a str, or a tuple of pieces if it has variables; the rest is as in JSON."""


@dataclass(frozen=True, slots=True)
class JsonText:
    """A value that is written as JSON."""

    value: Value


@dataclass(slots=True)
class Code:
    """A node of a script, with its children."""

    node: Any
    script: Script

    @property
    def kind(self) -> str:
        """Its kind in the grammar."""
        return str(self.node.type)

    @property
    def text(self) -> str:
        """Its source."""
        return utf8(self.node.text.decode("utf-8", "replace"))

    @property
    def snippet(self) -> str:
        """Its source in one short line."""
        return " ".join(self.text.split())[:SNIPPET_MAX]

    @property
    def place(self) -> str:
        """Line and column, from 1 on."""
        row, column = self.node.start_point
        return f"line {row + 1}, column {column + 1}"

    def __getitem__(self, name: str) -> Code | None:
        """Return the child of a field; None without one."""
        found = self.node.child_by_field_name(name)
        return None if found is None else Code(found, self.script)

    def __iter__(self) -> Iterator[Code]:
        """List its named children, without comments."""
        for one in self.node.named_children:
            if one.type != "comment":
                yield Code(one, self.script)

    def note(self, what: str) -> None:
        """Note a part that is not carried over."""
        self.script.source.note(self.place, what)


@dataclass(slots=True)
class Script:
    """A parsed script, and the values of its names."""

    source: Source
    imported: Imported
    names: dict[str, Value] = field(default_factory=dict)
    call: Callable[[Code, int], Value] = lambda _code, _depth: UNKNOWN
    """Evaluates calls of functions that the reader knows."""
    extracted: Callable[[JsonOf, str], tuple[Any, ...]] = lambda found, _name: found.steps
    """Takes a value of a response under a name."""
    sent: set[str] = field(default_factory=set)
    """Places of the calls that became requests."""
    rates: Rates = field(default_factory=Rates)
    """Metrics that count the checks."""

    def parse(self, text: str) -> Code:
        """Parse the script; raises :class:`Refused` at its first mistake."""
        content = text.encode()
        if len(content) > SCRIPT_BYTES_MAX:
            raise self.source.refuse("", f"is larger than {SCRIPT_BYTES_MAX >> 20} MiB")
        tree_sitter = extra("tree_sitter", "a script of k6", "tree-sitter")
        grammar = extra("tree_sitter_javascript", "a script of k6", "tree-sitter-javascript")
        language = tree_sitter.Language(grammar.language())
        root = tree_sitter.Parser(language).parse(content).root_node
        if root.has_error:
            row, column = _first_error(root)
            place = f"line {row + 1}, column {column + 1}"
            raise self.source.refuse(place, "is not JavaScript that can be read")
        return Code(root, self)

    def value(  # noqa: C901, PLR0911, PLR0912  (one for each kind)
        self, code: Code | None, depth: int = 0
    ) -> Value:
        """Evaluate an expression; UNKNOWN where only execution would tell."""
        if code is None or depth > DEPTH_MAX:
            return UNKNOWN
        match code.kind:
            case "string":
                return _whole("".join(_letters(one) for one in code))
            case "template_string":
                return self._template(code, depth)
            case "number":
                return _number(code.text)
            case "true" | "false":
                return code.kind == "true"
            case "null" | "undefined":
                return None
            case "array":
                return [self._part(one, depth) for one in code]
            case "object":
                return self._object(code, depth)
            case "identifier":
                return self.names.get(code.text, UNKNOWN)
            case "parenthesized_expression" | "await_expression":
                return self.value(next(iter(code), None), depth + 1)
            case "member_expression":
                return self._member(code, depth)
            case "binary_expression":
                return self._binary(code, depth)
            case "call_expression":
                return self.call(code, depth)
        return UNKNOWN

    def text(self, code: Code, value: Value) -> tuple[Any, ...]:
        """Return a value as a text; an unknown part becomes a parameter."""
        if isinstance(value, str):
            return (value,) if value else ()
        if isinstance(value, tuple):
            return value
        if isinstance(value, bool) or value is None:
            return ({True: "true", False: "false", None: "null"}[value],)
        if isinstance(value, int | float):
            return (number_text(value),)
        if isinstance(value, JsonOf) and value.steps:
            return self.extracted(value, str(value.steps[-1]))
        code = (value.code if isinstance(value, Unknown) else None) or code
        name = " ".join(code.text.split())
        code.note(f"{code.snippet!r} is only known when the script runs: it becomes a parameter")
        self.imported.variables.setdefault(name, Parameter(None))
        return (Variable(name),)

    def url(self, code: Code) -> tuple[Any, ...]:
        """Read a URL; of one that is unknown as a whole nothing can be written."""
        value = self.value(code)
        is_whole = isinstance(value, tuple) and len(value) == 1 and isinstance(value[0], Variable)
        meaning = self.imported.variables.get(value[0].name) if is_whole else None
        if isinstance(value, str | tuple) and not isinstance(meaning, Extracted):
            return self.text(code, value)
        code.note(f"the URL {code.snippet!r} is only known when the script runs: / is requested")
        return ("/",)

    def _template(self, code: Code, depth: int) -> Value:
        pieces: list[Any] = []
        for one in code:
            if one.kind == "template_substitution":
                inner = next(iter(one), None)
                if inner is not None:
                    pieces.append(self.text(inner, self.value(inner, depth + 1)))
            else:
                pieces.append(_letters(one))
        return _simple(joined(*(_whole(p) if isinstance(p, str) else p for p in joined(*pieces))))

    def _part(self, code: Code | None, depth: int) -> Value:
        """Evaluate a part of a value; an unknown one keeps its own expression."""
        value = self.value(code, depth + 1)
        return Unknown(code) if isinstance(value, Unknown | ResponseMember) else value

    def _object(self, code: Code, depth: int) -> Value:
        made: dict[str, Value] = {}
        for one in code:
            key = one["key"]
            if one.kind == "shorthand_property_identifier":
                found = self.names.get(one.text, UNKNOWN)
                made[one.text] = Unknown(one) if isinstance(found, Unknown) else found
            elif one.kind == "pair" and key is not None:
                is_text = key.kind in {"string", "number"}
                name = self.text_of(self.value(key, depth + 1)) if is_text else key.text
                made[str(name)] = self._part(one["value"], depth)
            elif one.kind == "spread_element":
                inner = self.value(next(iter(one), None), depth + 1)
                if isinstance(inner, dict):
                    made |= inner
                else:
                    one.note(f"{one.snippet!r} is left out: it is only known when the script runs")
        return made

    def _member(self, code: Code, depth: int) -> Value:
        target, member = code["object"], code["property"]
        if target is None or member is None:
            return UNKNOWN
        if target.text == "__ENV":
            self.imported.variables.setdefault(member.text, Parameter(None))
            return (Variable(member.text),)
        value = self.value(target, depth + 1)
        if isinstance(value, dict):
            return value.get(member.text, UNKNOWN)
        return value.member(member.text) if hasattr(value, "member") else UNKNOWN

    def _binary(self, code: Code, depth: int) -> Value:
        left, right, operator = code["left"], code["right"], code["operator"]
        if left is None or right is None or operator is None:
            return UNKNOWN
        one = self.value(left, depth + 1)
        other = self.value(right, depth + 1)
        if operator.text in {"||", "??"}:
            return self._with_default(one, other)
        if operator.text == "+" and (_is_text(one) or _is_text(other)):
            return _simple(joined(self.text(left, one), self.text(right, other)))
        are_numbers = _is_number(one) and _is_number(other)
        if are_numbers and operator.text == "+":
            return one + other
        if are_numbers and operator.text == "*":
            return one * other
        return UNKNOWN

    def _with_default(self, one: Value, other: Value) -> Value:
        """Give a parameter the default that stands after it."""
        if isinstance(one, tuple) and len(one) == 1 and isinstance(one[0], Variable):
            meaning = self.imported.variables.get(one[0].name)
            default = self.text_of(other)
            if isinstance(meaning, Parameter) and meaning.default is None and default is not None:
                self.imported.variables[one[0].name] = Parameter(default)
            return one
        return other if isinstance(one, Unknown) or one is None or one == "" else one

    @staticmethod
    def text_of(value: Value) -> str | None:
        """Return a text or a number as text; None for anything else."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return None
        return value if isinstance(value, str) else number_text(value)

    def converted(self, value: Value, *, is_encoded: bool) -> Value:
        """Convert a value to text, encoded for a URL or not; any other value stays."""
        text = self.text_of(value)
        if text is None:
            return value
        return quote(text, safe=UNRESERVED) if is_encoded else text


def number_text(value: float) -> str:
    """Write a number as JavaScript does (ECMA-262, Number::toString)."""
    digits = Decimal(repr(float(abs(value)))).normalize().as_tuple()
    text = "".join(map(str, digits.digits))
    point = len(text) + int(digits.exponent)
    sign = "-" if value < 0 else ""
    if not value:
        return "0"
    if len(text) <= point <= 21:
        return f"{sign}{text.ljust(point, '0')}"
    if 0 < point <= 21:
        return f"{sign}{text[:point]}.{text[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{text}"
    fraction = f".{text[1:]}" if len(text) > 1 else ""
    return f"{sign}{text[0]}{fraction}e{point - 1:+d}"


def _first_error(root: Any) -> tuple[int, int]:
    """Find the first mistake of a tree that has one, without recursion."""
    node = root
    while True:
        broken = [one for one in node.children if one.has_error or one.is_missing]
        if not broken or node.is_error:
            return tuple(node.start_point)
        node = broken[0]


def _letters(code: Code) -> str:
    """Read a piece of a text, or an escape in it."""
    text = code.text
    if code.kind != "escape_sequence":
        return text
    letter = text[1:2]
    digits = text[2:].strip("{}")
    if letter in {"x", "u"} and digits:
        number = int(digits, 16)
        return chr(number) if number <= 0x10FFFF else "\ufffd"
    if letter in {"\n", "\r", "\u2028", "\u2029"}:
        return ""
    return ESCAPES.get(letter, text[1:])


def _whole(text: str) -> str:
    """Join the halves of letters that are escaped as two; a half alone is replaced."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _number(text: str) -> Value:
    try:
        whole = int(text.replace("_", ""), 0)
        return whole if whole < INTEGER_MAX else float(whole)
    except OverflowError:
        return UNKNOWN
    except ValueError:
        pass
    try:
        value = float(text.replace("_", ""))
    except ValueError:
        return UNKNOWN
    return value if abs(value) < 1e300 else UNKNOWN


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15


def _is_text(value: Value) -> bool:
    return isinstance(value, str | tuple)


def _simple(text: tuple[Any, ...]) -> Value:
    """Return a text without variables as such."""
    if all(isinstance(one, str) for one in text):
        return "".join(text)
    return text
