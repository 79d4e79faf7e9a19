"""Python expressions, laid out over lines as formatters do.

Every text of a file goes through :func:`quoted`: it is a literal, and never code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

WIDTH = 88
"""Maximum length of a line."""
INDENT = "    "
SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


@dataclass(frozen=True, slots=True)
class Atom:
    """Code that stays on one line."""

    text: str


@dataclass(frozen=True, slots=True)
class Bracket:
    """Code in brackets: a call or a literal."""

    head: str
    """Code before the items, up to the bracket."""
    items: tuple[tuple[str, Expression], ...]
    """Each with the code before it: ``headers=`` or ``"key": ``."""
    tail: str

    @property
    def is_call(self) -> bool:
        """Whether it is a call; its arguments may share a line of their own."""
        return self.tail == ")" and self.head != "("


Expression: TypeAlias = Atom | Bracket


def flat(one: Expression) -> str:
    """Write an expression on one line."""
    if isinstance(one, Atom):
        return one.text
    inside = ", ".join(label + flat(item) for label, item in one.items)
    is_single = one.head == "(" and len(one.items) == 1  # a tuple of one
    return f"{one.head}{inside}{',' if is_single else ''}{one.tail}"


def laid_out(one: Expression, depth: int, before: str = "", after: str = "") -> list[str]:
    """Write an expression over as many lines as it needs, between two texts."""
    indent = INDENT * depth
    line = f"{indent}{before}{flat(one)}{after}"
    if isinstance(one, Atom) or not one.items or len(line) <= WIDTH:
        return [line]
    lines = [f"{indent}{before}{one.head}"]
    inside = INDENT * (depth + 1) + ", ".join(label + flat(item) for label, item in one.items)
    if one.is_call and len(inside) <= WIDTH:
        lines.append(inside)
    else:
        for label, item in one.items:
            lines += laid_out(item, depth + 1, label, ",")
    return [*lines, f"{indent}{one.tail}{after}"]


def call(head: str, *items: tuple[str, Expression]) -> Bracket:
    """Make a call."""
    return Bracket(f"{head}(", items, ")")


def listed(items: list[Expression]) -> Bracket:
    """Make a list."""
    return Bracket("[", tuple(("", one) for one in items), "]")


def paired(items: list[tuple[str, Expression]]) -> Bracket:
    """Make a dict with texts as its keys."""
    return Bracket("{", tuple((f"{quoted(name)}: ", one) for name, one in items), "}")


def literal(value: object) -> Expression:
    """Write a value: None, a boolean, a number, a text, bytes, a list, a tuple or a dict."""
    if isinstance(value, str):
        return Atom(quoted(value))
    if isinstance(value, list):
        return listed([literal(one) for one in value])
    if isinstance(value, tuple):
        return Bracket("(", tuple(("", literal(one)) for one in value), ")")
    if isinstance(value, dict):
        return paired([(str(name), literal(one)) for name, one in value.items()])
    return Atom(_bytes(value) if isinstance(value, bytes) else repr(value))


def quoted(text: str) -> str:
    """Write a text as a literal."""
    mark = _mark(text)
    return mark + "".join(_letter(c, mark) for c in text) + mark


def interpolated(pieces: list[tuple[str, bool]]) -> str:
    """Write a text with code in it; each piece says whether it is code."""
    mark = _mark("".join(text for text, is_code in pieces if not is_code))
    # Code in it has single quotes, or none; Python 3.11 takes no others there.
    if any("'" in text for text, is_code in pieces if is_code):
        mark = '"'
    written = []
    for text, is_code in pieces:
        if is_code:
            written.append(f"{{{text}}}")
        else:
            letters = (_letter(c, mark) for c in text)
            written.append("".join(letters).replace("{", "{{").replace("}", "}}"))
    return "f" + mark + "".join(written) + mark


def _mark(text: str) -> str:
    return "'" if text.count('"') > text.count("'") else '"'


def _letter(c: str, mark: str) -> str:
    """Write a letter; one that is not printable, such as a line separator, is escaped."""
    if c == mark:
        return f"\\{c}"
    if c in SHORT:
        return SHORT[c]
    if c.isprintable():
        return c
    code = ord(c)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _bytes(value: bytes) -> str:
    """Write bytes as formatters do, with double quotes where that takes no escapes."""
    text = repr(value)
    is_plain = text.startswith("b'") and '"' not in text
    return f'b"{text[2:-1]}"' if is_plain else text
