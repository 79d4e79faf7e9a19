"""Functions of random scenarios, written statement by statement."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

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
TEXTS = ("'a'", "' '", "','", "'b'", "'x '")
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
    may_call: bool = True
    """Whether it may call functions of the scenario's own."""
    lines: list[str] = field(default_factory=list)

    def one(self, *choices: str) -> str:
        return self.chance.choice(choices)

    def number(self, most: int) -> int:
        return self.chance.randint(0, most)

    def value(self, depth: int) -> str:
        """Write a value that is often valid."""
        picked = self.number(12)
        if picked == 12:
            return self.seeded(depth)
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
                f"{answer}.elapsed_ms",
                f"{answer}.headers['x-id']",
                f"{answer}.headers.get('X-Id')",
                f"{answer}.headers.get('X-No', {self.one(*LITERALS)})",
            )
        return self.expression(depth - 1)

    def seeded(self, depth: int) -> str:
        """Write an expression that depends on seed and arrival."""
        one, other = self.one(*self.locals), self.one("2", "-3", "7", "2.5", "True")
        return self.one(
            "next(self.rows)",
            "next(self.rows)",
            f"rand.int(0, {self.one('0', '5', '18446744073709551615', '18446744073709551616')})",
            f"rand.int({one}, {other})",
            f"rand.choice({self.one('WORDS', 'CODES', 'SHAPE', '(1, v0)', self.value(depth - 1))})",
            "rand.uuid()",
            f"rand.text({self.one('0', '3', 'LIMIT', self.one(*self.locals))})",
            "rand.float()",
            "now().isoformat()",
            "now().timestamp()",
            "env('BASE', '/api')",
            "BASE",
        )

    def texts(self, depth: int) -> str:
        """Write an expression that makes texts and lists from others."""
        one, other = self.one(*self.locals), self.value(depth - 1)
        if self.number(2) > 0:
            one, other = self.one("'a b'", "' Id,x '", "'é'"), self.one("'a'", "' '", "','")
        some = self.one("WORDS", one, f"[{one}, {other}]", f"{one}.split()")
        many = self.one("WORDS", "'ab c'", "range(3)", "[1, None]", "CODES", self.value(depth - 1))
        return self.one(
            f"{one}.{self.one('lower', 'upper', 'strip', 'split', 'lstrip')}()",
            f"{one}.{self.one('strip', 'rstrip', 'split', 'startswith', 'endswith')}({other})",
            f"{one}.replace({other}, {self.one(repr('-'), repr(''), other)})",
            f"{self.atom(other)}.join({some})",
            f"{one}[{self.one('1:', ':1', '-2:', ':', '1:LIMIT', '5:2', f'{one}:')}]",
            f"WORDS[{self.one('1:', ':-1', 'v0:')}]",
            f"[{self.one('v2', f'[v2, {one}]', 'str(v2)', 'v2 * 2')} for v2 in {many}]",
            f"[v9 for v9 in {many} if {self.one('v9', 'v9 != 1', 'v9 == v0', 'len(v9)')}]",
            f"f'{{{self.one('LIMIT', 'v0')}:{self.one('d', '04d', '6d', '.2f', '08.1f')}}}'",
        )

    def own(self) -> str:
        """Write a call of a function of the scenario's own."""
        one, other = self.one(*self.locals), self.safe()
        kind = self.number(3)
        if kind == 0 or not (self.may_call and self.may_ask):
            return self.one(f"named({one})", f"named({other}, {one})", f"proved({one})")
        if kind == 1:
            return self.one(f"named(other={one}, value={other})", f"self.judged({one})")
        name = "work_later" if self.is_async else "work"
        call = self.one(
            f"client, {one}", f"client, {one}, {other}", f"client, v2={one}, v1={other}"
        )
        return f"{'await ' * self.is_async}self.{name}({call})"

    def fetched(self) -> str:
        """Write a call of a function of the scenario's own that returns an answer."""
        name = self.one("fetch", "tell") + "_later" * self.is_async
        given = f"client, {self.one(repr('/x'), 'v0', repr('y'))}"
        return f"{'await ' * self.is_async}self.{name}({given})"

    def batch(self, indent: int) -> None:
        """Write several requests at a time, and an expression of their responses."""
        one = self.one("{'path': '/a'}", "{'path': f'/i/{v0}', 'method': 'POST', 'json': v1}")
        headers = "{'X-A': str(v0), 'X-B': f'Bearer {self.kept}'}"
        other = self.one(
            one,
            f"{{'path': 'b', 'headers': {headers}}}",
            "{'name': 'n', 'path': f'/{v0}', 'data': {'a': str(v1)}}",
        )
        begin = "await client.batch" if self.is_async else "client.batch"
        match self.number(3):
            case 0:
                self.add(indent, f"r0, r1 = {begin}([{one}, {other}])")
            case 1:
                self.add(indent, f"b0 = {begin}([{one}, {other}])")
                self.add(
                    indent, f"v0 = b0[{self.one('0', '-1', '1', '2')}].{self.one('text', 'ok')}"
                )
            case 2:
                self.add(
                    indent, f"b0 = {begin}([{{'path': v9}} for v9 in {self.one('WORDS', 'v0')}])"
                )
                self.add(indent, "v0 = b0[1].status_code")
            case _:
                made = f"{begin}([{one}, {one}, {other}])"
                over = self.one("b0", "b0", made, f"{begin}(PAIR)")
                if over == "b0":
                    self.add(indent, f"b0 = {made}")
                self.add(indent, f"for r0 in {over}:")
                self.add(indent + 1, self.one("r0.raise_for_status()", "v0 = r0.status_code"))

    def rest(self) -> str:
        """Write a think time of some length."""
        time = self.one("0.25", "1.5", "rand.float()", "LIMIT", "0.1 + LIMIT", "True")
        most = self.one("4", "LIMIT + 1", "rand.int(4, 6)", "1e300")
        if self.number(9) == 0:
            time, most = self.one("-1", "[1]", "v0", "-0.0"), self.one("v0", "0.5", "{}")
        if self.number(1) == 0:
            given = self.one(time, f"{time}, {most}", f"0, {most}", "1, None", f"{time}, {time}")
            return f"{'await ' * self.is_async}self.wait({given})"
        return f"await asyncio.sleep({time})" if self.is_async else f"time.sleep({time})"

    def measured(self) -> str:
        """Write a statement that records a value of a metric."""
        value = self.one("1", "LIMIT / 2", "0.5", "True", "-0.0", "rand.int(0, 9)", "1e-7")
        if self.number(7) == 0:
            value = self.one("-1", "1e16", self.value(2))
        return self.one(
            "SOLD.add()",
            f"SOLD.add({value})",
            f"metrics.trend('price').add({value})",
            f"metrics.rate('hit').add({value})",
        )

    def expression(self, depth: int = 3) -> str:  # noqa: C901, PLR0911, PLR0912  (a table)
        if depth <= 0:
            return self.one(*LITERALS, *self.locals)
        if self.number(3) > 0:
            return self.safe()
        if self.number(3) == 0:
            return self.texts(depth)
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
                return f"({one} {self.one('//', '%', '/')} {self.divisor()})"
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
        if self.number(3) == 0:
            return self.safe_text()
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

    def safe_text(self) -> str:
        """Write such an expression with methods of text, formats and slices."""
        text = self.one("'Ab c'", "' x '", "'a,b'", "'é'", "BASE", f"str({self.one(*self.locals)})")
        known = self.one(text, "'abca'")
        return self.one(
            f"{text}.{self.one('upper', 'lower', 'strip', 'lstrip', 'rstrip', 'split')}()",
            f"{text}.{self.one('startswith', 'endswith', 'strip', 'split')}({self.one(*TEXTS)})",
            f"{self.one(repr('ab'), repr('ba'))}.{self.one('startswith', 'endswith')}('a')",
            f"{known}.replace({self.one(*TEXTS)}, {self.one(repr('-'), repr(''))})",
            f"{self.one(*TEXTS)}.join({self.one('WORDS', f'{text}.split()', 'SHAPE')})",
            f"{text}[{self.one('1:', ':1', '-2:', '5:2', '1:LIMIT')}]",
            f"WORDS[{self.one('1:', ':-1', '-1:')}]",
            f"[[v9] for v9 in {self.one('WORDS', 'CODES', text)} if v9 != {self.one('1', *TEXTS)}]",
            f"f'{{LIMIT:{self.one('d', '04d', '3d', '.2f', '07.1f')}}}'",
            f"f'{{TENTH:{self.one('.2f', '08.3f', '.1f')}}}'",
        )

    def show_variables(self, indent: int) -> None:
        """Write a statement that shows the values of the variables: a request, or a failing
        assertion."""
        text = ", ".join(dict.fromkeys(("v0", *self.locals)))
        if self.may_ask:
            call = f"client.post('/seen', json=[{text}])"
            self.add(indent, f"{'await ' * self.is_async}{call}")
        else:
            shown = "-".join(f"{{{name}!r}}" for name in text.split(", "))
            self.add(indent, f'assert LIMIT == 4, f"{shown}"')

    @staticmethod
    def atom(text: str) -> str:
        return f"({text})" if text[:1] in "0123456789-" else text

    def in_text(self, text: str) -> str:
        """Return the text if any Python version accepts it in an f-string; otherwise a variable."""
        fits = not any(sign in text for sign in "\"'\\{}#")
        return text if fits else self.one(*self.locals)

    def call(self) -> str:
        """Write a request, without an await."""
        is_odd = self.number(5) == 0
        path = self.one("'/a'", "'/items'", "'b?x=1'", "f'/i/{v0}'", "'/é x'")
        path = self.value(1) if is_odd and self.number(2) == 0 else path
        given = []
        if self.number(3) == 0:
            sound = "{'q': 'a b', 'n': str(v0)}"
            given.append(f"params={self.value(2) if is_odd else sound}")
        if self.number(3) == 0:
            header = self.one("'x'", "str(v0)", "f'{self.kept}'")
            header = self.one("'a' + self.kept", self.value(1)) if is_odd else header
            given.append(f"headers={{'X-A': {header}, 'X-B': f'Bearer {{self.kept}}'}}")
        body = self.number(6)
        if body < 3:
            kind = self.one("json", "json", "data", "content") if is_odd else "json"
            given.append(f"{kind}={self.value(2)}")
        if self.number(5) == 0:
            given.append(f"name={self.value(1) if is_odd else repr('n')}")
        if self.number(6) == 0:
            given.append(f"timeout={self.one('2', '0.5', repr('500ms'), 'None')}")
        if self.number(4) == 0:
            given.append(f"follow_redirects={self.one('True', 'False')}")
        verb = self.one(*METHODS)
        first = f"'{verb.upper()}', {path}" if self.number(5) == 0 else path
        callee = "request" if first is not path else verb
        made = f"client.{callee}({', '.join([first, *given])})"
        return f"await {made}" if self.is_async else made

    def divisor(self) -> str:
        return self.one("2", "3", "0.5", "7", "-2", "0", "0.0", "LIMIT", *self.locals)

    def error(self) -> str:
        kind = self.one("ValueError", "RuntimeError", "Exception", "AssertionError", "TypeError")
        given = self.one("", "()", "('no')", "(f'got {v0}')", f"({self.value(2)})")
        return kind + given

    def add(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def begin(self, indent: int) -> None:
        """Write assignments to the variables, some of them in branches."""
        for name in ("v0", *self.locals):
            if self.number(40) == 0:
                self.add(indent, f"if LIMIT == {self.one('3', '4')}:")
                self.add(indent + 1, f"{name} = {self.one(*LITERALS)}")
            elif name.startswith("v"):
                self.add(indent, f"{name} = {self.one(*LITERALS)}")
        # All of these are executed, since none of them raises.
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

    def statement(  # noqa: C901, PLR0912, PLR0915  (a table)
        self, indent: int, depth: int
    ) -> None:
        picked = self.number(23)
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
        elif picked == 10 and self.answers and self.number(1) == 0:
            self.add(indent, f"{self.one(*self.answers)}.raise_for_status()")
        elif picked == 10:
            self.add(indent, f"if {self.expression(2)}:")
            self.add(indent + 1, f"raise {self.error()}")
        elif picked == 11 and self.may_ask:
            self.add(indent, self.rest())
        elif picked == 18:
            self.add(indent, self.measured())
        elif picked == 20:
            self.add(indent, f"{self.one('v0 = ', 'v1 = ', '')}{self.own()}")
        elif picked == 21 and self.may_ask and self.may_call:
            self.add(indent, f"{self.one('r0 = ', 'r1 = ', '')}{self.fetched()}")
        elif picked == 22 and self.may_ask:
            self.batch(indent)
        elif picked == 23 and depth > 0:
            self.add(indent, f"w{depth} = 0")
            more = self.one("", "", f" and {self.safe()}")
            self.add(indent, f"while w{depth} < {self.one('2', '3', 'LIMIT')}{more}:")
            self.add(indent + 1, f"w{depth} += 1")
            self.block(indent + 1, depth - 1, 2)
        elif picked == 19 and depth > 0 and self.may_ask:
            self.add(indent, f"with client.step({self.one(repr('buy'), repr('é'))}):")
            self.block(indent + 1, depth - 1, 3)
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
