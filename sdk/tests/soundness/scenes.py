"""Scenarios made up at random: calls, branches, checks, state, loops, and what goes wrong in them.

They are made to fail often: wrong types, missing keys, variables that are not set. What they say
must be the same in code and in Python, whatever it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

HEAD = """\
import asyncio
import time

from loadpilot import LoadClient, VUser, scenario, task

LIMIT = 3
WORDS = ["a", "id", "é"]
CODES = (200, 201)
SHAPE = {"id": 1, "deep": {"list": [1, 2.5, None]}}
"""
CLASS = '@scenario(rps=10, duration="2s", ramp_up="0s")\nclass Scene(VUser):\n'
LITERALS = (
    "None",
    "True",
    "False",
    "0",
    "1",
    "-1",
    "2",
    "7",
    "4611686018427387904",
    "0.5",
    "2.0",
    "-0.0",
    "1e16",
    "1e-7",
    "0.1",
    "''",
    "'a'",
    "'id'",
    "'items'",
    "' 12 '",
    "'1_0'",
    '"it\'s"',
    "'é'",
    "'\\n'",
    "[]",
    "{}",
    "[1, 'a', None]",
    "[[1], [1.0]]",
    "{'id': 1}",
    "{'a': {'b': [0]}}",
)
KEYS = ("'id'", "'name'", "'items'", "'token'", "0", "1", "-1", "'gone'", "'n'")
KINDS = ("int", "str", "float", "bool", "list", "dict", "(int, str)", "(list, dict)")
LOCALS = ("v0", "v1", "v2")
ANSWERS = ("r0", "r1")
METHODS = ("get", "post", "put", "patch", "delete", "head", "options")


@dataclass
class Writer:
    """Writes one function."""

    chance: Random
    is_async: bool
    may_ask: bool = True
    answers: tuple[str, ...] = ANSWERS
    locals: tuple[str, ...] = LOCALS
    loops: int = 0
    lines: list[str] = field(default_factory=list)

    def one(self, *choices: str) -> str:
        return self.chance.choice(choices)

    def number(self, most: int) -> int:
        return self.chance.randint(0, most)

    def value(self, depth: int) -> str:
        """Write a value that is often what it should be."""
        picked = self.number(11)
        if picked < 3:
            return self.one(*LITERALS)
        if picked < 6:
            return self.one(*self.locals)
        if picked < 7:
            return self.one("self.kept", "self.top", "LIMIT", "WORDS", "SHAPE", "self.late")
        if picked < 9 and self.answers:
            answer = self.one(*self.answers)
            return self.one(
                f"{answer}.json()",
                f"{answer}.json()",
                f"{answer}.status_code",
                f"{answer}.text",
                f"{answer}.ok",
                f"{answer}.headers['x-id']",
                f"{answer}.headers.get('X-Id')",
                f"{answer}.headers.get('X-No', {self.one(*LITERALS)})",
            )
        return self.expression(depth - 1)

    def expression(self, depth: int = 3) -> str:  # noqa: C901, PLR0911, PLR0912  (a table)
        if depth <= 0:
            return self.one(*LITERALS, *self.locals)
        if self.number(3) > 0:
            return self.safe()
        one, other = self.value(depth), self.value(depth)
        match self.number(19):
            case 0 | 1 | 2:
                return f"{self.atom(one)}[{self.one(*KEYS)}]"
            case 3:
                return f"{self.atom(one)}.get({self.one(*KEYS)})"
            case 4:
                return f"{self.atom(one)}.get({self.one(*KEYS)}, {other})"
            case 5:
                return f"{self.one('len', 'str', 'int', 'bool', 'repr')}({one})"
            case 6:
                return f"isinstance({one}, {self.one(*KINDS)})"
            case 7:
                return f'f"{{{self.in_text(one)}}}-{{{self.in_text(other)}!r}}"'
            case 8 | 9:
                return f"({one} {self.one('+', '-', '*', '+')} {other})"
            case 10:
                return f"({one} {self.one('//', '%')} {self.one('2', '3', '0.5', '7')})"
            case 11 | 12:
                sign = self.one("==", "!=", "<", "<=", ">", ">=")
                return f"({one} {sign} {other})"
            case 13:
                return f"({one} {self.one('<', '<=', '==')} {other} {self.one('<', '>=')} 5)"
            case 14:
                return f"({one} {self.one('in', 'not in')} {other})"
            case 15:
                return f"({one} {self.one('and', 'or')} {other})"
            case 16:
                return f"(not {one})"
            case 17:
                return f"({one} if {other} else {self.value(depth)})"
            case 18:
                return f"({one} {self.one('is', 'is not')} {self.one('None', 'True', 'False')})"
            case _:
                return self.one(f"[{one}, {other}]", f"{{'id': {one}, 'b': {other}}}", f"(-{one})")

    def safe(self) -> str:
        """Write an expression that raises nothing once its variables are set."""
        one, other = self.one(*self.locals), self.one(*self.locals, *LITERALS)
        return self.one(
            f"({one} == {other} and {other})",
            f"({one} or {other} == {one})",
            f"({one} and {other})",
            f"(not {one} or {other})",
            f"({one} in [1, 'a', None, {other}])",
            f"({other} not in (0, '', {one}))",
            f"({one} is not None)",
            f"({self.one('1', '0', '1.0', one)} is {self.one('True', 'False')})",
            f"SHAPE.get({self.one(*KEYS)}, {other})",
            f"isinstance({other}, {self.one(*KINDS)})",
            f"isinstance({self.one('True', '1', '0.5')}, int)",
            f"(LIMIT // 2 + {self.one('1', '2.5', 'True')} * {self.one('-3', '0.1')})",
            f"({self.one('-7', '7', '-0.5', '1e16')} {self.one('//', '%')} {self.one('2', '3')})",
            f"({self.one('1', '2.0', 'True')} {self.one('<', '<=', '>')} {self.one('1', '2')} < 2)",
            f"({self.one('1', '2', 'True')} {self.one('<=', '>=')} {self.one('1', '2', '1.0')})",
            f"[{one}, {other}, 0.1]",
            f"str({other})",
        )

    def seen(self, indent: int) -> None:
        """Let what the variables hold be seen."""
        text = ", ".join(dict.fromkeys(("v0", *self.locals)))
        if self.may_ask:
            call = f"client.post('/seen', json=[{text}])"
            self.add(indent, f"{'await ' * self.is_async}{call}")
        else:
            told = "-".join(f"{{{name}!r}}" for name in text.split(", "))
            self.add(indent, f'assert LIMIT == 4, f"{told}"')

    @staticmethod
    def atom(text: str) -> str:
        return f"({text})" if text[:1] in "0123456789-" else text

    def in_text(self, text: str) -> str:
        """Give what may stand in an f-string of any version."""
        fits = not any(sign in text for sign in "\"'\\{}#")
        return text if fits else self.one(*self.locals)

    def call(self) -> str:
        """Write a request, without an await."""
        path = self.one("'/a'", "'/items'", "'b?x=1'", "f'/i/{v0}'", "'/é x'", self.value(1))
        given = []
        if self.number(3) == 0:
            given.append(f"params={self.one('{}', repr({'q': 'a b'}), self.value(2))}")
        if self.number(3) == 0:
            header = self.one("'x'", "str(v0)", "'a' + self.kept", self.value(1))
            given.append(f"headers={{'X-A': {header}, 'Authorization': f'Bearer {{self.kept}}'}}")
        body = self.number(6)
        if body < 3:
            given.append(f"{self.one('json', 'json', 'data', 'content')}={self.value(2)}")
        if self.number(5) == 0:
            given.append(f"name={self.one(repr('n'), self.value(1))}")
        if self.number(6) == 0:
            given.append(f"timeout={self.one('2', '0.5', repr('500ms'), 'None')}")
        if self.number(4) == 0:
            given.append(f"follow_redirects={self.one('True', 'False')}")
        verb = self.one(*METHODS)
        first = f"'{verb.upper()}', {path}" if self.number(5) == 0 else path
        callee = "request" if first is not path else verb
        made = f"client.{callee}({', '.join([first, *given])})"
        return f"await {made}" if self.is_async else made

    def add(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def begin(self, indent: int) -> None:
        """Give the variables values, or only on some ways."""
        for name in ("v0", *self.locals):
            if self.number(40) == 0:
                self.add(indent, f"if LIMIT == {self.one('3', '4')}:")
                self.add(indent + 1, f"{name} = {self.one(*LITERALS)}")
            elif name.startswith("v"):
                self.add(indent, f"{name} = {self.one(*LITERALS)}")
        # All of this is reached, since nothing of it raises.
        for _ in range(2):
            self.add(indent, f"{self.one(*self.locals)} = {self.safe()}")
        if self.number(1) == 0:
            self.add(indent, f"for v0 in {self.one('range(3)', 'WORDS')}:")
            self.add(indent + 1, f"if {self.safe()}:")
            self.add(indent + 2, self.one("break", "continue"))
            self.add(indent + 1, f"{self.locals[-1]} = [{self.locals[-1]}, v0]")
        if self.may_ask:
            for answer, known in (("r0", ()), ("r1", ("r0",))):
                self.answers = known
                self.add(indent, f"{answer} = {self.call()}")
            self.answers = ANSWERS

    def block(self, indent: int, depth: int, most: int = 4) -> None:
        for _ in range(1 + self.number(most - 1)):
            self.statement(indent, depth)

    def statement(self, indent: int, depth: int) -> None:  # noqa: C901, PLR0912  (a table)
        picked = self.number(17)
        if picked < 4 and self.may_ask:
            target = self.one("r0 = ", "r0 = ", "r1 = ", "")
            self.add(indent, target + self.call())
        elif picked == 4 and self.may_ask:
            call = f"({self.call()})" if self.is_async else self.call()
            tail = self.one(".json()", ".status_code", ".text", ".json()['id']")
            self.add(indent, f"{self.one('v0', 'v1')} = {call}{tail}")
        elif picked < 8:
            self.add(indent, f"{self.one(*self.locals)} = {self.expression()}")
        elif picked < 10:
            message = self.one("", f", {self.value(2)}", ", 'no'", ", f'got {v0}'")
            self.add(indent, f"assert {self.expression()}{message}")
        elif picked == 10 and self.answers:
            self.add(indent, f"{self.one(*self.answers)}.raise_for_status()")
        elif picked == 11 and self.may_ask:
            rest = "await asyncio.sleep(0.25)" if self.is_async else "time.sleep(1.5)"
            self.add(indent, rest)
        elif picked == 12:
            self.add(indent, f"v0 += {self.value(2)}")
        elif picked in (13, 14) and depth > 0:
            self.add(indent, f"if {self.one(self.expression(2), self.safe())}:")
            self.block(indent + 1, depth - 1, 2)
            if self.number(1) == 0:
                self.add(indent, f"elif {self.one(self.expression(1), self.safe())}:")
                self.add(indent + 1, "v0 = [v0]")
                self.block(indent + 1, depth - 1, 2)
            if self.number(1) == 0:
                self.add(indent, "else:")
                self.block(indent + 1, depth - 1, 2)
        elif picked in (15, 16) and depth > 0:
            over = self.one("range(2)", "range(LIMIT)", "(1, 'a')", "WORDS", self.value(2))
            self.add(indent, f"for {self.one(*self.locals)} in {over}:")
            self.loops += 1
            self.block(indent + 1, depth - 1, 3)
            if self.number(1) == 0:
                self.add(indent + 1, "v2 = [v2]")
                self.add(indent + 1, f"if {self.safe()}:")
                self.add(indent + 2, self.one("break", "continue", "continue"))
                self.add(indent + 1, "v1 = [v1]")
            self.loops -= 1
        elif picked == 17 and self.number(3) == 0:
            self.add(indent, "return")
        else:
            self.add(indent, self.expression(2))


def scene(chance: Random) -> str:
    """Write a scenario file with one task, perhaps hooks, perhaps a check."""

    def is_so() -> bool:
        return chance.random() < 0.5

    lines: list[str] = ["    top = " + chance.choice(LITERALS)]
    if chance.randrange(3) == 0:
        lines += ["    kept = " + chance.choice(LITERALS), "    late = 'late'"]
    else:
        start = Writer(chance, is_async=is_so())
        start.add(1, f"{'async ' * start.is_async}def on_start(self, client):")
        start.begin(2)
        start.block(2, 1, 2)
        start.add(2, f"self.kept = {start.one('r0.text', repr('k'), start.value(2))}")
        start.add(2, "if r0.ok:")
        start.add(3, f"self.late = {start.value(2)}")
        lines += start.lines
    body = Writer(chance, is_async=is_so())
    body.add(1, "@task")
    body.add(1, f"{'async ' * body.is_async}def go(self, client):")
    body.begin(2)
    body.block(2, 2, 5)
    body.seen(2)
    lines += body.lines
    match chance.randrange(3):
        case 0:
            check = Writer(
                chance, is_async=False, may_ask=False, answers=(), locals=("status", "body", "v0")
            )
            check.add(1, "def check_go(self, status, body):")
            check.begin(2)
            check.block(2, 1, 3)
            check.seen(2)
            lines += check.lines
        case 1:
            check = Writer(chance, is_async=False, may_ask=False, answers=("response",))
            check.add(1, "def check_go(self, response):")
            check.begin(2)
            check.block(2, 1, 3)
            check.seen(2)
            lines += check.lines
        case _:
            pass
    if chance.randrange(5) == 0:
        stop = Writer(chance, is_async=False)
        stop.add(1, "def on_stop(self, client):")
        stop.begin(2)
        stop.block(2, 1, 2)
        lines += stop.lines
    return HEAD + "\n\n" + CLASS + "\n".join(lines) + "\n"
