"""Scenarios that mean to deceive the compiler: what could change under code stays in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sdk.tests.soundness.rehearse import case

if TYPE_CHECKING:
    from pathlib import Path

SCENE = """\
import random
import time
from loadpilot import LoadClient, VUser, env, feed, metrics, now, rand, scenario, task
SOLD = metrics.counter('sold')
LIMIT = 3
ITEMS = [1, 2]
{module}

@scenario(rps=10, duration="2s", ramp_up="0s")
class Scene(VUser):
    count = 0
    feed = feed([1, 2])
    {attribute}

    def on_start(self, client):
        self.kept = client.get("/start").text
        {start}

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
    "x = [v for v in ITEMS]",
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
    "x = 5 / LIMIT",
    "x = 2 ** 100",
    "x = LIMIT % LIMIT",
    "x = '%s' % 5",
    "x = f'{5:03}'",
    "x = 'abc'[0:2]",
    "x = b'bytes'",
    "x = 1j",
    "x = ...",
    "x = 99999999999999999999",
    "x = (1, 2)",
    "x = str((1, 2))",
    "x = r.content",
    "x = r.headers",
    "x = 'a'.upper()",
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
    "client.batch([{'path': '/b'}])",
    "client.get('/b', cookies={'a': 'b'})",
    "client.get('/b', auth=('a', 'b'))",
    "client.get('/b', stream='sse')",
    "client.get(*['/b'])",
    "client.get('/b', **{'name': 'x'})",
    "client.get('/b', headers={'Authorization': 'Bearer s3cret'})",
    "x = {'X-Api-Key': 's3cret'}",
    "x = 1 + client.get('/b').status_code + client.get('/c').status_code",
    "x = self.kept and client.get('/b').text",
    "try: x = 1\n        except ValueError: pass",
    "with open('x') as x: pass",
    "while True: break",
    "raise ValueError('x')",
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
    ("decorator", "@staticmethod"),
    ("decorator", "@(lambda f: f)"),
]


def scene(place: str, text: str) -> str:
    pieces = NOTHING | {place: text}
    if place != "task":
        pieces["task"] = USES
    return SCENE.format(**pieces)


def test_the_scene_itself_becomes_code(tmp_path: Path) -> None:
    """Broken if the pieces below prove nothing, since nothing of this is compiled anyway."""
    made = case(scene("module", ""), tmp_path)
    assert made is not None
    assert made.is_code, made.compiled.reasons


def test_what_nests_too_deep_runs_in_python(tmp_path: Path) -> None:
    """Broken if a scenario is refused, though Python could run it, since its code is too deep."""
    made = case(scene("task", f"x = {'[' * 30}1{']' * 30}"), tmp_path)
    assert made is not None
    assert not made.is_code
    assert "nest" in made.compiled.reasons[0].what


@pytest.mark.parametrize(("place", "text"), PIECES)
def test_what_could_change_stays_in_python(tmp_path: Path, place: str, text: str) -> None:
    """Broken if code is made of what means something else at another moment, or elsewhere."""
    made = case(scene(place, text), tmp_path)
    assert made is None or not made.is_code, text
