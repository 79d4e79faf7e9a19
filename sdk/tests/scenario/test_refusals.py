"""Parts of a scenario that cannot be compiled: a mistake is refused with its line and a solution.
Anything else is a reason to run in Python, named with its line."""

from __future__ import annotations

import ast
import textwrap
from typing import TYPE_CHECKING

import pytest

from loadpilot.scenario_file.constants import literal_parts

if TYPE_CHECKING:
    from pathlib import Path

    from sdk.tests.conftest import Compile, Reasons, Refuse

SCENE = """
CONSTANT = "/c"
TWICE = 1
TWICE = 2
COMPUTED = len("abc")
NESTED = {{"a": COMPUTED}}
def helper(): pass
{extra}
@scenario(mode="constant")
class S(VUser):
    {hooks}
    @task
    def t(self, client):
        {body}
"""

REASONS = {
    "r = client.get('/')": "keeps the response `r` of client.get()",
    "r = client.get('/'); print(r.text)": "uses the response `r` of client.get() (line 15)",
    "client.get('/').raise_for_status()": "uses the response of a request",
    "client.get(client.get('/').text)": "the attribute `client.get('/').text`",
    "client.post('/', json=client.get('/'))": "the response of client.get()",
    "client.get(self.path)": "`self.path`, which belongs to the virtual user",
    "client.get('/', params={'u': self})": "`self`",
    "self.login(client)": "a call of `self.login()`, which belongs to the virtual user",
    "client.get(helper())": "a call of `helper()`",
    "client.get(f'/{random.random()}')": "randomness, `random.random()`",
    "client.get('/' + str(uuid.uuid4()))": "a call of `str()`",
    "client.get('/', params={'t': time.time()})": "the time, `time.time()`",
    "if CONSTANT: client.get('/')": "contains a branch",
    "client.get('/a' if CONSTANT else '/b')": "a branch",
    "for _ in range(3): client.get('/')": "contains a loop",
    "while True: client.get('/')": "contains a loop",
    "client.post('/', json=[i for i in 'ab'])": "a comprehension",
    "client.post('/', content=file('x'))": "a call of `file()`",
    "client.post('/', **client)": "`client`",
    "client.post('/', **helper())": "a call of `helper()`",
    "client.get(*CONSTANT)": "unpacks arguments with *",
    "client.get('/', **NESTED)": "`NESTED` depends on another name (line 7)",
    "client.get('/', headers={CONSTANT, 'a'})": "a set, which has no order",
    "client.get(TWICE)": "`TWICE` is bound 2 times (lines 4, 5)",
    "client.get(COMPUTED)": "`COMPUTED` is not a literal: a call of `len()` (line 6)",
    "client.post('/', json=NESTED)": "`NESTED` depends on another name (line 7)",
    "client.get(helper)": "`helper` is a function (line 8), not a literal",
    "client.get(VUser)": "`VUser` is imported (line 1), not a literal",
    "client.get(unknown)": "`unknown` is not a constant of this module",
    "client.get(CONSTANT[0])": "an element looked up with [ ]",
    "client.get(CONSTANT.upper())": "a call of `CONSTANT.upper()`",
    "client.get(f'/{CONSTANT!r:{helper()}}')": "a call of `helper()`",
    "client.get((path := '/x'))": "an assignment",
    "client.post('/', json=lambda: 1)": "a lambda",
    "client.post('/', json=1j)": "the value 1j",
    "client.post('/', json=...)": "the value Ellipsis",
    "return client.get('/')": "contains a return",
    "assert client.get('/')": "contains an assertion",
    "client.get('/') and client.get('/b')": "a computation",
    "client.batch([])": "makes several requests at a time",
    "client.get('/', follow_redirects=True)": "follows redirects, or may",
    "client.get('/'); helper()": "a call of `helper()`",
    "client.get('/'); time.sleep(1)": "the time, `time.sleep()`",
    "client.get('/'); x = 1": "contains an assignment",
    "client.get('/'); pass": "contains a pass",
    "try: client.get('/')\n        finally: pass": "contains a try block",
    "with open('x') as f: client.get('/')": "contains a with block",
    "client.get('/'); import os": "contains an import",
    "global CONSTANT; client.get('/')": "contains a global statement",
    "client.get('/'); 'not a docstring'": "the value 'not a docstring'",
}

MISTAKES = {
    "client.steam('GET', '/')": "client has no method client.steam",
    "client.request('GET')": "client.request() needs a path",
    "client.request(path='/')": "client.request() needs a method",
    "client.request('GET', '/', {'a': 1})": "takes only the method and path by position",
    "client.get('/', verify=False)": "client.get() takes no verify=; it holds for the whole run",
    "client.get('/', proxy='x')": "takes no proxy=; it holds for the whole run: --proxy",
    "client.get('/', proxies={})": "takes no proxies=; it holds for the whole run: --proxy",
    "client.get('/', extensions={})": "takes no extensions=; give timeout=",
    "client.post('/', jsn={})": "takes no jsn=; did you mean json=?",
    "client.get('/', {'a': 1})": "takes only the path by position",
    "client.get()": "client.get() needs a path",
    "yield client.get('/')": "contains a yield",
    "'only a docstring'": "makes no request",
    "pass": "makes no request",
    "helper()": "makes no request",
}


@pytest.mark.parametrize("body", REASONS)
def test_a_body_that_is_more_than_requests_is_not_recorded(body: str, reasons_of: Reasons) -> None:
    """Broken if an effect that Python would have at run time is left out or guessed."""
    reasons = reasons_of(SCENE.format(body=body, hooks="", extra=""))
    assert any(REASONS[body] in reason.what for reason in reasons), reasons
    lines = [int(reason.place.rsplit(":", 1)[1]) for reason in reasons]
    assert set(lines) <= {13, 14, 15, 16}, reasons


@pytest.mark.parametrize("body", MISTAKES)
def test_what_is_wrong_in_python_too_is_refused_with_its_line(
    body: str, refuse_text: Refuse
) -> None:
    """Broken if a mistake that could be detected before the run is detected only under load."""
    problems = refuse_text(SCENE.format(body=body, hooks="", extra=""))
    assert any(MISTAKES[body] in problem.what for problem in problems), problems
    assert all("scene.py:1" in problem.place for problem in problems)


HOOK_REASONS = {
    "def on_start(self, client): pass": "defines on_start()",
    "def on_stop(self, client): pass": "defines on_stop()",
    "def check_t(self, status_code, body): pass": "defines check_t()",
    "def check_t(self, response): pass": "defines check_t()",
    "def check_t(*given): pass": "defines check_t()",
    "def on_start(self, client, more=1): pass": "defines on_start()",
    "@task\n    async def u(self, client): await client.get('/')": "is an async def",
    "@task\n    @helper2\n    def u(self, client): client.get('/')": "is decorated with @helper2",
    "@task\n    @tasks.traced\n    def u(self, client): client.get('/')": "with @tasks.traced",
    "@task\n    @wrapped\n    def u(self, client): client.get('/')": "wrapped by a decorator",
    "@wrapped\n    @task\n    def u(self, client): client.get('/')": "wrapped by a decorator",
}
DECORATORS = """
import functools
def helper2(f): return f
class tasks: traced = staticmethod(helper2)
def wrapped(f):
    @functools.wraps(f)
    def inner(*args): return f(*args)
    return inner
"""


@pytest.mark.parametrize("hooks", HOOK_REASONS)
def test_hooks_and_checks_are_not_recorded(hooks: str, reasons_of: Reasons) -> None:
    """Broken if a check or a hook is silently left out, or if only a part of the scenario is
    compiled."""
    reasons = reasons_of(SCENE.format(body="client.get('/')", hooks=hooks, extra=DECORATORS))
    assert [HOOK_REASONS[hooks] in reason.what for reason in reasons] == [True], reasons


HOOKS = {
    "def check_x(self, status_code, body): pass": "belongs to no task",
    "def check_t(self): pass": "check_t() must take (self, status_code, body) or (self, response)",
    "def check_t(self, status, body, more): pass": "check_t() must take (self, status_code, body)",
    "def check_t(self, status, *, body): pass": "check_t() must take (self, status_code, body)",
    "@staticmethod\n    def check_t(response): pass": "check_t() must take (self, status_code",
    "async def check_t(self, response): pass": "check_t() must be a plain def, not an async def",
    "def check_t(self, response): yield": "check_t() contains a yield",
    "check_t = 5": "check_t must be a method, not int",
    "def on_start(self): pass": "on_start() must take (self, client) (got (self))",
    "def on_start(self, client, more): pass": "on_start() must take (self, client) (got (self, ",
    "async def on_stop(): pass": "on_stop() must take (self, client) (got ())",
    "def on_stop(self, client): yield": "on_stop() contains a yield",
    "@task\n    def u(self): pass": "must take exactly (self, client)",
    "@task\n    def u(self, client, more=1): client.get('/')": "must take exactly (self, client)",
    "@task\n    @staticmethod\n    def u(client): client.get('/')": "must be a plain method",
    "@task\n    @wrapped\n    async def u(self, client): pass": "wraps a coroutine",
    "u = task(lambda self, client: client.get('/'))": "its source was not found",
    "@task(weight=0)\n    def u(self, client): client.get('/')": "weight must be a whole number",
    "@task(weight='5')\n    def u(self, client): client.get('/')": "weight must be a whole number",
    "@task(weight=True)\n    def u(self, client): client.get('/')": "weight must be a whole number",
    "@task(weight=1.5)\n    def u(self, client): client.get('/')": "weight must be a whole number",
}


@pytest.mark.parametrize("hooks", HOOKS)
def test_odd_tasks_and_checks_of_none_are_refused(hooks: str, refuse_text: Refuse) -> None:
    """Broken if a check or a hook that never runs is silently accepted."""
    problems = refuse_text(SCENE.format(body="client.get('/')", hooks=hooks, extra=DECORATORS))
    assert any(HOOKS[hooks] in problem.what for problem in problems), problems


LOCUST = {
    "wait_time = lambda self: 1.0": "wait= or pacing= of @scenario",
    "wait_time = 1": "wait= or pacing= of @scenario",
    "def wait_time(self): return 1.0": "wait= or pacing= of @scenario",
    "tasks = [len]": "@task(weight=N)",
    "weight = 3": "share= of @scenario",
    "fixed_count: int = 1": "users= of @scenario",
    "host = 'http://localhost'": "--target",
}
INHERITED = """
    class Base(VUser):
        {hooks}
    @scenario(users=1)
    class S(Base):
        {more}
        @task
        def t(self, client):
            host = weight = 1
            client.get('/')
"""


@pytest.mark.parametrize("hooks", LOCUST)
def test_attributes_of_locust_are_not_ignored(hooks: str, refuse_text: Refuse) -> None:
    """Broken if a user ported from Locust runs without its pauses, or with other shares, and
    nothing says so."""
    own = SCENE.format(body="client.get('/')", hooks=hooks, extra="")
    for text, line in (own, 12), (INHERITED.format(hooks=hooks, more=""), 4):
        (problem,) = refuse_text(text)
        assert problem.place.endswith(f"scene.py:{line}")
        assert "in Locust" in problem.what
        assert LOCUST[hooks] in problem.what


@pytest.mark.parametrize(
    "read",
    [
        "def check_t(self, status_code, body): assert self.weight",
        "def check_t(self, status_code, body): assert getattr(self, 'weight')",
        "@task(weight=weight)\n        def u(self, client): client.get('/')",
        "@property\n        def rank(self): return type(self).weight",
    ],
)
def test_an_attribute_that_the_scenario_reads_is_its_own(read: str, compile_text: Compile) -> None:
    """Broken if a scenario cannot give its own data a name that Locust uses, too."""
    text = INHERITED.format(hooks="pass", more=f"weight = 3\n        {read}")
    assert compile_text(text).plan["users"] == 1


REQUESTS = {
    "client.get('a')": "must begin with /",
    "client.get('')": "must begin with /",
    "client.get('@evil.example/')": "must begin with /",
    "client.get('//evil.example/')": "must not begin with //",
    "client.get('http://evil.example/')": "is a whole URL",
    "client.get('HTTPS://evil.example')": "is a whole URL",
    "client.get('/a\\r\\nHost: evil')": "control character",
    "client.get('/a\\0')": "control character",
    "client.get('/a#b')": "what follows it is never sent",
    "client.get('/a/../b')": "holds . or .. segments",
    "client.get(b'/a')": "the path must be text",
    "client.get(5)": "the path must be text",
    "client.get('/', params='a=b')": "params= must be a dict",
    "client.get('/', params={'a': {'b': 1}})": "params= holds a dict",
    "client.get('/', params={'a': b'x'})": "params= holds a bytes",
    "client.get('/', stream='tokens')": "stream must be one of sse, lines, chunks (got 'tokens')",
    "client.get('/', stream=True)": "stream must be one of",
    "client.get('/', tokens_max=3)": "tokens_max and listen need stream=, one of sse",
    "client.get('/', listen='3s')": "tokens_max and listen need stream=, one of sse",
    "client.stream('GET', '/', tokens_max=0)": "tokens_max must be a whole number from 1 (got 0)",
    "client.get('/', stream='sse', tokens_max=True)": "must be a whole number from 1 (got True)",
    "client.get('/', stream='sse', tokens_max='3')": "must be a whole number from 1 (got '3')",
    "client.get('/', stream='sse', listen='soon')": "listen: must be a duration",
    "client.get('/', stream='sse', listen='100us')": "listen must be at least 1ms (got '100us')",
    "client.get('/', stream='sse', listen='1m')": "below the call's time-out",
    "client.get('/', headers='X: y')": "headers= must be a dict",
    "client.get('/', headers={'X': 5})": "must have text as its value",
    "client.get('/', headers={5: 'x'})": "header names must be text",
    "client.get('/', headers={'X-A': 'a\\r\\nX-B: b'})": "a line break or NUL",
    "client.get('/', headers={'X\\r\\nY': 'a'})": "header name",
    "client.get('/', headers={'X A': 'a'})": "header name",
    "client.get('/', headers={'X-A': 'ä'})": "not ASCII text",
    "client.get('/', headers={'X-A': ' a'})": "spaces around",
    "client.get('/', headers={'X-A': 'a', 'x-a': 'b'})": "is given twice",
    "client.get('/', headers={'Content-Length': '5'})": "cannot be set",
    "client.get('/', headers={'transfer-encoding': 'chunked'})": "cannot be set",
    "client.get('/', headers={'Connection': 'close'})": "cannot be set",
    "client.post('/', json={'a': b'x'})": "cannot be written as JSON",
    "client.post('/', json=1e999)": "cannot be written as JSON",
    "client.post('/', json='\\ud800')": "no UTF-8 form",
    "client.post('/', json=1, data={'a': 1})": "one body",
    "client.post('/', content='a', data={'a': 1})": "one body",
    "client.post('/', data=[1])": "data= must be a dict",
    "client.post('/', content={'a': 1})": "content= must be text, bytes or file(…)",
    "client.post('/', **{'files': 1})": "files= must be a dict",
    "client.post('/', files={'a': 1})": "files= holds a int",
    "client.post('/', files={'a': b'x'}, json=1)": "one body",
    "client.post('/', files={'a': b'x'}, data='x')": "data= beside files= must be a dict",
    "client.get('/', cookies={'a': 1})": "cookies= must be a dict of names to text",
    "client.get('/', cookies='a=b')": "cookies= must be a dict of names to text",
    "client.get('/', auth=('a:b', 'c'))": "auth= must be a pair of texts",
    "client.get('/', auth='a')": "auth= must be a pair of texts",
    "client.get('/', name=5)": "name must be text (got 5)",
    "client.post('/', **{'jsn': 1})": "takes no jsn=; did you mean json=?",
    "client.post('/', json=1, **{'json': 2})": "TypeError while its arguments were read",
    "client.post('/', **CONSTANT)": "TypeError while its arguments were read",
    "client.request('PURGE', '/')": "the method must be one of GET, POST",
    "client.request(5, '/')": "the method must be one of GET, POST",
    "client.get('/', timeout='soon')": "must be a duration",
    "client.get('/', timeout=None)": "must be a duration",
    "client.get('/', timeout=True)": "must be a duration",
    "client.get('/', timeout=-1)": "must be a duration",
    "client.get('/', timeout=0)": "timeout must be 1 ms to 10 min (got '0 s')",
    "client.get('/', timeout='20m')": "timeout must be 1 ms to 10 min (got '1200 s')",
    "client.get('/' + 5)": "TypeError while its arguments were read",
    "client.get(f'{CONSTANT:d}')": "ValueError while its arguments were read",
}


@pytest.mark.parametrize("body", REQUESTS)
def test_a_request_that_cannot_be_sent_is_refused_with_its_line(
    body: str, refuse_text: Refuse
) -> None:
    """Broken if a request is sent elsewhere, split, or silently changed."""
    problems = refuse_text(SCENE.format(body=body, hooks="", extra=""))
    assert len(problems) == 1, problems
    assert REQUESTS[body] in problems[0].what
    assert "scene.py:1" in problems[0].place


def test_all_problems_of_a_file_are_named_at_once(refuse_text: Refuse) -> None:
    """Broken if a user has to correct one mistake to see the next."""
    problems = refuse_text("""
        @scenario(rps=0, duration="soon", thresholds={"p99": 1})
        class S(VUser):
            def on_start(self, client): pass
            @task(weight=0)
            def a(self, client):
                client.get("x")
                client.get("//y")
            @task
            def b(self, client): client.gett("/")
    """)
    text = "\n".join(map(str, problems))
    for part in ("rps", "duration", "p99", "weight", "'x'", "'//y'", "client.gett"):
        assert part in text
    assert len(problems) == 7


def test_a_secret_value_is_in_no_message(refuse_text: Refuse) -> None:
    """Broken if a password in a refused scenario appears in a CI log."""
    problems = refuse_text("""
        @scenario(mode="constant", secret_headers=["X-Session"])
        class S(VUser):
            @task
            def t(self, client):
                client.get("/", headers={"Authorization": "hunter2\\r\\n"})
                client.get("/", headers={"X-Session": "hunter2\\0"})
                client.get("/", headers={"Cookie": "hunter2é"})
                client.get("/", cookies={"a": "hunter2\\n"})
                client.get("/", auth=("hunter2:", "hunter2"))
    """)
    assert len(problems) == 5
    assert "hunter2" not in "".join(map(str, problems))


def test_names_of_a_function_around_the_class_are_no_constants(reasons_of: Reasons) -> None:
    """Broken if a closure's variable is taken for a constant of the module."""
    reasons = reasons_of("""
        PATH = "/module"
        def make(PATH):
            @scenario(mode="constant")
            class S(VUser):
                @task
                def t(self, client): client.get(PATH)
            return S
        S = make("/closure")
    """)
    assert "a variable of the function around the class" in reasons[0].what


@pytest.mark.parametrize(
    "rebinding",
    [
        "def f():\n    global PATH\n    PATH = '/b'",
        "for PATH in ['/b']: pass",
        "import os as PATH",
        "[PATH := x for x in '/b']",
        "try:\n    1/0\nexcept ZeroDivisionError as PATH: pass",
        "def PATH(): pass",
        "class PATH: pass",
        "PATH += 'b'",
        "(PATH, other) = '/a', '/b'",
        "del PATH\nPATH = '/b'",
        "match '/b':\n    case PATH: pass",
        "if (PATH := '/b'): pass",
        "class C(metaclass=(PATH := type)): pass",
    ],
)
def test_a_name_that_is_bound_again_is_no_constant(rebinding: str, reasons_of: Reasons) -> None:
    """Broken if a value that may change between import and run is frozen into the plan."""
    scene = f"""
PATH = "/a"
@scenario(mode="constant")
class S(VUser):
    @task
    def t(self, client): client.get(PATH)
{rebinding}
"""
    assert "bound" in reasons_of(scene)[0].what


def test_a_sum_of_many_texts_is_compiled_or_a_reason(compile_text: Compile) -> None:
    """Broken if a long sum is an internal error."""
    text = """
        PATH = {constant}
        @scenario(mode="constant")
        class S(VUser):
            x = "/a"
            @task
            def t(self, client): client.get({path})
    """
    constant, attributes = " + ".join(["'/a'"] * 900), " + ".join(["self.x"] * 900)
    (step,) = compile_text(text.format(constant=constant, path="PATH")).plan["tasks"][0]["steps"]
    assert step["path"] == "/a" * 900
    compiled = compile_text(text.format(constant=0, path=attributes))
    assert compiled.reasons[0].what == "task t: contains an expression that is nested too deep"
    total: ast.expr = ast.Name("PATH")
    for _ in range(5_000):
        total = ast.BinOp(total, ast.Add(), ast.Constant("/a"))
    assert [what for _, what in literal_parts(total)] == [None]


def test_a_sound_scenario_with_every_allowed_form_compiles(compile_text: Compile) -> None:
    """Broken if a form is refused that the documents say is compiled."""
    compiled = compile_text(
        """
        '''Module text.'''
        BASE: str = "/api"
        VERSION = 2
        USERS = f"{BASE}/v{VERSION:>02}/users"
        COMMON = {"Accept": "application/json"}
        TAGS = ["a", "b"]
        [PATH for PATH in "ab"]
        @scenario(mode="constant")
        class S(VUser):
            '''Class text.'''
            limit = 5
            def unused(self): return random.random()
            @task
            def t(self, client):
                '''Task text.'''
                client.get(USERS + "/1")
                client.post(path=f"{USERS}", json={"tags": TAGS, "n": -1, **COMMON}, timeout=".5s")
                client.put("/x", headers={**COMMON, "X-N": f"{VERSION}"}, content=b"\\xff")
                client.delete("/y", timeout=1.5)
        """
    )
    steps = compiled.plan["tasks"][0]["steps"]
    assert [step["path"] for step in steps] == [
        "/api/v02/users/1",
        "/api/v02/users",
        "/x",
        "/y",
    ]
    assert steps[1]["body"] == {"text": '{"tags":["a","b"],"n":-1,"Accept":"application/json"}'}
    assert steps[1]["timeout_us"] == 500_000
    assert steps[2]["body"] == {"base64": "/w=="}
    assert steps[3]["timeout_us"] == 1_500_000


def test_mixins_of_other_files_and_overrides_work(compile_text: Compile, tmp_path: Path) -> None:
    """Broken if inherited tasks are lost, doubled, or compiled with the constants of the wrong
    module."""
    (tmp_path / "mixin_base.py").write_text(
        textwrap.dedent("""
        from loadpilot import VUser, task
        PATH = "/mixin"
        class Base(VUser):
            @task(weight=3)
            def inherited(self, client): client.get(PATH)
            @task
            def replaced(self, client): client.get("/old")
            @task
            def disabled(self, client): client.get("/never")
        """),
        encoding="utf-8",
    )
    compiled = compile_text("""
        from mixin_base import Base
        PATH = "/main"
        @scenario(mode="constant")
        class S(Base):
            @task(weight=2)
            def replaced(self, client): client.get(PATH)
            def disabled(self, client): pass
            @task
            def own(self, client): client.get("/own")
    """)
    tasks = [(t["name"], t["weight"], t["steps"][0]["path"]) for t in compiled.plan["tasks"]]
    assert tasks == [("inherited", 3, "/mixin"), ("replaced", 2, "/main"), ("own", 1, "/own")]


@pytest.mark.parametrize("left", ["5", "-7.5", "'%d'", "f'%d'"])
def test_only_a_text_is_formatted_with_percent(left: str, compile_text: Compile) -> None:
    """Broken if a remainder of a constant is taken for the formatting of a text."""
    body = f"r = client.get('/'); client.get('/n', params={{'n': {left} % r.status_code}})"
    compiled = compile_text(SCENE.format(body=body, hooks="", extra=""))
    is_formatted = any("formats text with %" in reason.what for reason in compiled.reasons)
    assert is_formatted == ("script" in compiled.plan) == ("'" in left)
