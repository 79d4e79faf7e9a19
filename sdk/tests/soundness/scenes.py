"""Random scenarios: calls, branches, checks, state, loops, and errors in them.

They fail often: wrong types, missing keys, variables that are not set. Their errors must be the
same in code and in Python, whatever they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdk.tests.soundness.writer import LITERALS, Writer

if TYPE_CHECKING:
    from random import Random

HEAD = """\
import asyncio
import time

from loadpilot import LoadClient, VUser, env, feed, metrics, now, rand, scenario, task

SOLD = metrics.counter("sold")
BASE = env("BASE", "/api")
LIMIT = 3
PAIR = [{"path": "/p"}, {"path": "/q", "method": "PUT", "json": [1, None]}]
TENTH = 0.1
WORDS = ["a", "id", "é"]
CODES = (200, 201)
SHAPE = {"id": 1, "deep": {"list": [1, 2.5, None]}}


def named(value, other=1):
    if value == other:
        return
    v0 = [other, value]
    for v2 in v0:
        if v2 is None:
            return v2
    return f"{value}/{other}"


def proved(value):
    assert value != "a", f"is {value}"
    assert value != [1], named(value)
    return value
"""
CLASS = """\
@scenario(rps=10, duration="2s", ramp_up="0s")
class Scene(VUser):
    rows = feed([{"id": 1, "name": "é"}, {"id": 2.5, "n": [None, True]}, "x"], order="shuffled")
"""


def methods(chance: Random) -> list[str]:
    """Write methods that tasks and hooks call."""
    lines: list[str] = []
    for is_async in (False, True):
        later, awaits = "_later" * is_async, "await " * is_async
        http = "client" if is_async else "http"
        work = Writer(chance, is_async=is_async, locals=("v1", "v2"), may_call=False)
        work.add(1, f"{'async ' * is_async}def work{later}(self, client, v1, v2=None):")
        work.begin(2)
        work.block(2, 1, 3)
        work.add(2, work.one("return v1", "return", "return [v1, v2]", "pass"))
        lines += [
            *work.lines,
            f"    {'async ' * is_async}def fetch{later}(self, client, path):",
            f"        return {awaits}client.get(path, name='fetched')",
            f"    {'async ' * is_async}def tell{later}(self, {http}, path):",
            f"        with {http}.step('posted'):",
            f"            posted = {awaits}{http}.post(path, json=self.top)",
            f"        {work.one('assert posted.status_code != 404', 'posted.raise_for_status()')}",
            "        return posted",
        ]
    lines += [
        "    def judged(self, value):",
        "        assert value, named(value)",
        "        return proved(value)",
    ]
    return lines


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
        if start.number(3) > 0:
            start.add(2, f"self.kept = {start.one(repr('k'), repr('é'), '7', 'rand.text(3)')}")
        start.begin(2)
        start.block(2, 1, 2)
        start.add(2, f"self.kept = {start.one('r0.text', repr('k'), start.value(2))}")
        start.add(2, "if r0.ok:")
        start.add(3, f"self.late = {start.value(2)}")
        lines += start.lines
    lines += methods(chance)
    body = Writer(chance, is_async=is_so())
    body.add(1, "@task")
    body.add(1, f"{'async ' * body.is_async}def go(self, client):")
    body.begin(2)
    body.block(2, 2, 5)
    body.show_variables(2)
    lines += body.lines
    match chance.randrange(3):
        case 0:
            check = Writer(
                chance, is_async=False, may_ask=False, answers=(), locals=("status", "body", "v0")
            )
            check.add(1, "def check_go(self, status, body):")
            check.begin(2)
            check.block(2, 1, 3)
            check.show_variables(2)
            lines += check.lines
        case 1:
            check = Writer(chance, is_async=False, may_ask=False, answers=("response",))
            check.add(1, "def check_go(self, response):")
            check.begin(2)
            check.block(2, 1, 3)
            check.show_variables(2)
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
