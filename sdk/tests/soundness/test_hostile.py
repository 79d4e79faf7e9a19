"""Scenarios that try to deceive the compiler: what could change under code stays in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sdk.tests.soundness.rehearse import case

from loadpilot import rand

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCENE = """\
import random
import time
from loadpilot import LoadClient, VUser, env, feed, metrics, now, rand, scenario, task
SOLD = metrics.counter('sold')
LIMIT = 3
ITEMS = [1, 2]
WISHES = [{{'path': '/b', 'timeout': 1}}]
{module}

def pure(value):
    return value

def local_pure(value):
    import os
    return os.getpid()

def cached(value, seen=[]):
    seen.append(value)
    return seen

@scenario(rps=10, duration="2s", ramp_up="0s")
class Scene(VUser):
    count = 0
    feed = feed([1, 2])
    {attribute}

    def on_start(self, client):
        self.kept = client.get("/start").text
        {start}

    def helper(self, value):
        return value

    def endless(self, value):
        return self.endless(value)

    def fetched(self, client):
        return client.get("/fetched")

    def varied(self, client, value):
        if value:
            return client.get("/fetched")
        return 5

    async def later(self, value):
        return value

    def counted(self, value):
        yield value

    def spoken(self, client, key):
        client.get("/b", headers={{"X-Api-Key": key}})

    def starred(self, *values):
        return values

    def kept_by_name(self, r):
        r = 5
        return r

    def keeps(self):
        self.kept = 5

    @task
    {decorator}
    def go(self, client):
        r = client.get("/a")
        {task}
        assert r.status_code == 200

    def check_go(self, status, body):
        {check}
        assert status == 200
{method}
"""
TASKS = (
    "client.get(f'/{random.random()}')",
    "client.get(f'/{time.time()}')",
    "self.count = 1",
    "self.count += 1",
    "self.kept = 'other'",
    "type(self).count = 5",
    "Scene.count = 5",
    "setattr(self, 'kept', 1)",
    "ITEMS.append(1)",
    "ITEMS[0] = 5",
    "del ITEMS[0]",
    "global LIMIT; LIMIT = 4",
    "globals()['LIMIT'] = 5",
    "x = [v for v in ITEMS for w in ITEMS]",
    "x = [v for v in ITEMS if v if v]",
    "x = [r for r in ITEMS]",
    "x = [v for v, w in ITEMS]",
    "x = [client.get('/b').text for v in ITEMS]",
    "x = [self.helper(v) for v in ITEMS]",
    "x = [v for v in range(LIMIT)]",
    "x = list(v for v in ITEMS)",
    "[v for v in ITEMS]; x = v",
    "x = (y := 5)",
    "x = lambda: 5",
    "x = y = 5",
    "x, y = 1, 2",
    "x = ITEMS is ITEMS",
    "x = r is None",
    "assert r",
    "x = r",
    "x = self",
    "x = client",
    "client = None; client.get('/b')",
    "x = client.get; x('/b')",
    "x = print(1)",
    "x = open('/etc/hostname').read()",
    "x = eval('5')",
    "x = getattr(self, 'kept')",
    "x = self.__dict__",
    "x = self.go",
    "x = self.missing",
    "x = hash('a')",
    "x = id(self)",
    "x = {1: 2}",
    "x = {1, 2}",
    "x = 2 ** 100",
    "x = '%s' % 5",
    "x = f'{5:03}'",
    "x = 'abc'[0:2:1]",
    "x = 'abc'.title()",
    "x = 'abc'.split('b', 1)",
    "x = 'abc'.split(sep='b')",
    "x = 'abc'.startswith(('a', 'b'))",
    "x = 'abc'.replace('a', 'b', 1)",
    "x = ITEMS.pop()",
    "x = f'{5:>4}'",
    "x = f'{5:,}'",
    "x = f'{5:{LIMIT}d}'",
    "x = f'{5!r:4}'",
    "x = f'{5:+d}'",
    "x = b'bytes'",
    "x = 1j",
    "x = ...",
    "x = 99999999999999999999",
    "x = (1, 2)",
    "x = str((1, 2))",
    "x = r.content",
    "x = r.headers",
    "x = int('5', 8)",
    "x = isinstance(r, object)",
    "time.sleep(random.random())",
    "time.sleep(LIMIT, LIMIT)",
    "self.wait()",
    "self.wait(least=1)",
    "x = self.wait(1)",
    "x = rand.int(1)",
    "x = rand.int(least=1, most=2)",
    "rand = 5; x = rand.int(1, 2)",
    "x = rand",
    "x = now()",
    "x = now().hour",
    "x = env(LIMIT)",
    "x = env('SECRET', secret=True)",
    "x = next(self)",
    "x = next(self.feed, 1)",
    "x = self.feed",
    "x = self.feed.rows",
    "SOLD.add(amount=5)",
    "SOLD.add(1, 2)",
    "SOLD.name = 'x'",
    "x = SOLD",
    "x = SOLD.add()",
    "metrics.trend('cost').add()",
    "metrics.counter(self.kept).add()",
    "metrics.counter('no good').add()",
    "metrics.trend('sold').add(1)",
    "with client.step(self.kept): pass",
    "with client.step(''): pass",
    "with client.step('a') as x: pass",
    "with client.step('a'), client.step('b'): pass",
    "with client: pass",
    "client.batch(ITEMS)",
    "client.batch([{'path': '/b', 'timeout': 1}])",
    "client.batch([{'path': '/b', 'cookies': {}}])",
    "client.batch([{'path': '/b', 'method': self.kept}])",
    "client.batch([{'path': '/b', 'method': 'get'}])",
    "client.batch([{'method': 'GET'}])",
    "client.batch([dict(path='/b')])",
    "client.batch(requests=[{'path': '/b'}])",
    "x = client.batch([{'path': '/b'}]); y = x",
    "x = client.batch([{'path': '/b'}]); y = len(x)",
    "x = client.batch([{'path': '/b'}]); y = x[0]",
    "x = client.batch([{'path': '/b'}]); y = x[LIMIT].text",
    "x = client.batch([{'path': '/b'}]); x = 1",
    "x, y = client.batch([{'path': '/b'}])",
    "x = 1, client.batch([{'path': '/b'}])",
    "for x in client.batch([{'path': '/b'}]): pass\n        x = 1",
    "for x in client.batch([{'path': '/b'}]) + []: pass",
    "for x in client.batch(WISHES): pass",
    "x = self.helper()",
    "x = self.helper(1, 2, 3)",
    "x = self.helper(1, value=2)",
    "x = self.helper(*[1])",
    "x = self.helper(**{})",
    "x = self.helper",
    "x = self.kept and self.helper(1)",
    "x = LIMIT + len(str(self.kept)) + self.helper(1)",
    "x = self.endless(1)",
    "x = self.fetched(client) + 1",
    "x = self.fetched(client).text + self.kept; self.fetched(client, 1)",
    "x = self.varied(client, 1)",
    "x = self.later(1)",
    "x = self.counted(1)",
    "x = self.starred(1)",
    "x = self.kept_by_name(r)",
    "self.keeps()",
    "x = pure(client)",
    "x = cached(1)",
    "x = local_pure(1)",
    "pure = len; x = pure('a')",
    "self.go(client)",
    "self.on_start(client)",
    "Scene.helper(self, 1)",
    "client.get('/b', cookies={'a': 'b'})",
    "client.get('/b', auth=('a', 'b'))",
    "client.get('/b', stream='sse')",
    "client.get(*['/b'])",
    "client.get('/b', **{'name': 'x'})",
    "client.get('/b', headers={'Authorization': 'Bearer s3cret'})",
    "x = {'X-Api-Key': 's3cret'}",
    "x = 's3cret'; client.get('/b', headers={'Authorization': x})",
    "x = ['s3cret'][0]; y = f'Bearer {x}'; client.get('/b', headers={'Authorization': y})",
    "for x in ['s3cret']: client.get('/b', headers={'X-Api-Key': x.strip()})",
    "self.spoken(client, 's3cret')",
    "x = 1 + client.get('/b').status_code + client.get('/c').status_code",
    "x = self.kept and client.get('/b').text",
    "try: x = 1\n        except ValueError: pass",
    "with open('x') as x: pass",
    "while True: break\n        else: pass",
    "while client.get('/b').ok: pass",
    "raise ValueError('x') from None",
    "raise ValueError('x', 'y')",
    "raise ValueError(*['x'])",
    "raise KeyError('x')",
    "raise SystemExit(0)",
    "raise self.kept",
    "ValueError = KeyError; raise ValueError('x')",
    "raise",
    "import os",
    "def inner(): pass",
    "for x in [1]: pass\n        else: pass",
    "for x, y in []: pass",
    "for self.kept in [1]: pass",
    "super().go(client)",
    "match r.status_code:\n            case 200: pass",
    "return [*ITEMS]",
)
MODULES = (
    "len = max",
    "def len(x): return 5",
    "from os.path import *",
    "import builtins; builtins.len = len",
    "time.sleep = time.sleep",
    "ITEMS.append(5)",
    "LIMIT = 4",
    "LIMIT += 1",
    "globals()['LIMIT'] = 7",
    "__builtins__ = {'str': repr}",
    "for LIMIT in range(2): pass",
    "try: LIMIT = 4\nexcept ValueError: pass",
    "if random.random() < 0.5: LIMIT = 4",
    "def change():\n    global LIMIT\n    LIMIT = 9",
    "class Meta(type): pass\nMeta.x = 5",
    "import threading\nthreading.Thread(target=print).start()",
    "VUser.on_start = VUser.on_start",
    "del ITEMS[0]",
    "import yaml",
    "x = [ITEMS.append(3)]",
    "def f(x=ITEMS.append(3)): pass",
    "@print\ndef f(): pass",
    "import loadpilot\nloadpilot.rand.int = max",
    "rand = 5",
    "metrics.counter(str(LIMIT)).add()",
    "COST = metrics.trend('sold')",
    "COST = metrics.trend(str(LIMIT))",
)
METHODS = (
    "    def __getattribute__(self, name): return 5",
    "    def __getattr__(self, name): return 5",
    "    def __init__(self): self.x = 5",
    "    def wait(self, *given): self.x = 5\n    @task\n    def rests(self, client): self.wait(1)",
    "    def __bool__(self): return False",
    "    __slots__ = ()",
    "    @property\n    def kept(self): return 5",
    "    check_go = staticmethod(lambda *given: None)",
    "    go.x = 5",
    "Scene.go = task(lambda self, client: client.get('/z'))",
    "Scene.count = 7",
    "class Scene(Scene):\n    count = 7",
    "setattr(Scene, 'count', 7)",
)
NOTHING = {
    "module": "",
    "attribute": "",
    "start": "",
    "decorator": "",
    "task": "",
    "check": "",
    "method": "",
}
USES = "x = rand.int(0, 0) + len(ITEMS) + LIMIT + self.count + len(str(self.kept))"


def keyed(key: str) -> str:
    """Write a task that sends ``key``."""
    call = f"client.get('/b', headers={{'X-Api-Key': {key}}})"
    return f"    @task\n    def keyed(self, client): {call}"


PIECES = [
    *(("task", text) for text in TASKS),
    *(("module", text) for text in MODULES),
    *(("method", text) for text in METHODS),
    ("attribute", "count = random.random()"),
    ("attribute", "count = LIMIT if random.random() else 5"),
    ("attribute", "kept = property(lambda self: 5)"),
    ("start", "Scene.count = 5"),
    ("method", "    @task\n    def on_stop(self, client): self.kept = client.get('/x').text"),
    ("start", "self.go = 5"),
    ("start", "self.count += 1"),
    ("start", "self.kept.x = 1"),
    ("check", "self.kept = body"),
    ("check", "x = body['a'] = 5"),
    ("method", "    key = 's3cret'\n" + keyed("self.key")),
    ("method", "    keys = {'a': ['s3cret']}\n" + keyed("self.keys['a'][0]")),
    ("start", "self.key = 's3cret'\n" + keyed("self.key")),
    ("start", "x = 's3cret'; self.key = x + '!'\n" + keyed("self.key.strip()")),
    ("decorator", "@staticmethod"),
    ("decorator", "@(lambda f: f)"),
]


def scene(place: str, text: str) -> str:
    pieces = NOTHING | {place: text}
    if place != "task":
        pieces["task"] = USES
    return SCENE.format(**pieces)


def test_the_scene_itself_becomes_code(tmp_path: Path) -> None:
    """Broken if the plain scenario is not compiled: then the pieces below would prove nothing."""
    made = case(scene("module", ""), tmp_path)
    assert made is not None
    assert made.is_code, made.compiled.reasons


def test_what_nests_too_deep_runs_in_python(tmp_path: Path) -> None:
    """Broken if a scenario that Python could run is refused because its code is nested too
    deeply."""
    made = case(scene("task", f"x = {'[' * 30}1{']' * 30}"), tmp_path)
    assert made is not None
    assert not made.is_code
    assert "nest" in made.compiled.reasons[0].what


@pytest.fixture
def shared() -> Iterator[None]:
    """Undo the changes of a piece to the object from which all scenarios of a process draw."""
    yield
    vars(rand).clear()


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize(("place", "text"), PIECES)
def test_what_could_change_stays_in_python(tmp_path: Path, place: str, text: str) -> None:
    """Broken if a piece is compiled whose meaning changes with the moment or the place."""
    made = case(scene(place, text), tmp_path)
    assert made is None or not made.is_code, text
