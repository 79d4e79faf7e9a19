"""Hooks that run once per run, and users prepared by the command: how they are found, judged and
transferred."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from loadpilot.play import states
from loadpilot.play.conversation import Conversation
from loadpilot.scenario_file import locks

if TYPE_CHECKING:
    from sdk.tests.conftest import Compile, Refuse

SETTLED = """
    from loadpilot import setup, teardown

    class Base(VUser):
        @setup
        def seed(self, client: LoadClient) -> None:
            client.post("/seed")

        @teardown
        def clear(self, client: LoadClient) -> None:
            client.delete("/seed")

    @scenario
    class S(Base):
        @setup
        @classmethod
        def more(cls, client: LoadClient) -> None:
            client.post("/more")

        @teardown
        @staticmethod
        def less(client: LoadClient) -> None:
            client.post("/less")

        @task
        def t(self, client: LoadClient) -> None:
            client.get("/")
"""


def test_what_happens_once_is_found_in_its_order(compile_text: Compile) -> None:
    """Broken if the setup of a base class runs after that of its subclass, or if hooks make
    compiled tasks run in Python."""
    compiled = compile_text(SETTLED)
    assert compiled.hooks is not None
    assert [hook.name for hook in compiled.hooks.setups] == ["seed", "more"]
    assert [hook.name for hook in compiled.hooks.teardowns] == ["less", "clear"]
    assert compiled.hooks.setups[0].place.endswith("scene.py:6")
    assert compiled.hooks.start is None
    assert "script" not in compiled.plan


EXAMINED = """
    from loadpilot import setup, teardown

    @scenario(rps=1)
    class S(VUser):
        @{once}
        def seed(self, client: LoadClient) -> None:
            client.post("/seed")

        @task
        def t(self, client: LoadClient) -> None:
            r = client.get("/")
            assert r.status_code == 200
"""


def test_only_a_setup_keeps_tasks_in_python(compile_text: Compile) -> None:
    """Broken if the reason for Python is one without which the scenario would not compile either,
    or if a teardown, which no user sees, makes compiled tasks run in Python."""
    (reason,) = compile_text(EXAMINED.format(once="setup")).reasons
    assert reason.place.endswith("scene.py:7")
    assert reason.what == "seed() has @setup, which may set attributes for the tasks"
    compiled = compile_text(EXAMINED.format(once="teardown"))
    assert "code" in compiled.plan, compiled.reasons
    assert compiled.hooks is not None
    assert compiled.bundle is not None


YIELDS = (
    "@setup s: contains a yield, so that calling it does nothing: write a @setup and a @teardown"
)


@pytest.mark.parametrize(
    ("marked", "problem"),
    [
        ("@setup\n    def s(self): pass", "@setup s: must take self and client (got '(self)')"),
        (
            "@setup\n    @staticmethod\n    def s(self, client): pass",
            "@setup s: must take client (got '(self, client)')",
        ),
        (
            "@teardown\n    @task\n    def s(self, client): client.get('/')",
            "s() is marked with @task and with @teardown; drop one of them",
        ),
        (
            "@setup\n    def s(self, client):\n        yield",
            YIELDS,
        ),
    ],
)
def test_what_cannot_happen_once_is_refused(refuse_text: Refuse, marked: str, problem: str) -> None:
    """Broken if a setup that would do nothing is detected only when the load fails."""
    scene = f"from loadpilot import setup, teardown\n@scenario\nclass S(VUser):\n    {marked}\n"
    scene += "    @task\n    def t(self, client): client.get('/')\n"
    assert problem in [one.what for one in refuse_text(scene)]


def start(statement: str, said: str = "") -> str:
    """Write a scenario whose on_start contains a statement."""
    return (
        f"@scenario{said}\nclass S(VUser):\n    pool = []\n"
        f"    def on_start(self, client):\n        {statement}\n"
        "    @task\n    def t(self, client): client.get('/')\n"
    )


@pytest.mark.parametrize(
    ("statement", "is_here"),
    [
        ("S.token = 1", True),
        ("S.count += 1", True),
        ("type(self).token = 1", True),
        ("self.__class__.a, b = 1, 2", True),
        ("S.pool.append(1)", True),
        ("S.pool[0] = 1", True),
        ("self.token = S.pool", False),
        ("self.token = 1", False),
        ("S.pool.index(1)", False),
    ],
)
def test_users_that_share_are_prepared_once(
    compile_text: Compile, statement: str, *, is_here: bool
) -> None:
    """Broken if each agent has a shared state of its own, or if users are prepared elsewhere
    without need."""
    aside = compile_text(start(statement)).hooks
    assert (aside is not None and aside.start is not None) is is_here
    if aside is not None and aside.why is not None:
        assert aside.why.place.endswith("scene.py:6")


def test_who_prepares_is_what_the_scenario_says(compile_text: Compile, refuse_text: Refuse) -> None:
    """Broken if a scenario cannot override the detected setting, or may set a meaningless one."""
    agents = compile_text(start("S.token = 1", '(prepare="agents")'))
    assert agents.hooks is None
    here = compile_text(start("self.token = 1", '(prepare="submitter")')).hooks
    assert here is not None
    assert here.start is not None
    assert here.why is None
    (problem,) = refuse_text(start("pass", '(prepare="me")'))
    assert str(problem).endswith("prepare: must be one of agents, submitter (got 'me')")
    scene = "@scenario(prepare='agents')\nclass S(VUser):\n"
    scene += "    @task\n    def t(self, client): client.get('/')\n"
    (problem,) = refuse_text(scene)
    assert "has no effect, because S defines no on_start; drop it" in problem.what


def test_slots_cannot_travel(refuse_text: Refuse) -> None:
    """Broken if the slots of a user are silently lost."""
    scene = start("self.token = 1", '(prepare="submitter")')
    scene = scene.replace("    pool = []", '    __slots__ = ("token",)')
    (problem,) = refuse_text(scene)
    assert "S has __slots__, so that what on_start sets cannot travel" in problem.what


class Made:
    """A user in the state after its ``__init__``."""

    def __init__(self) -> None:
        """Store one value of each kind."""
        self.seen: list[Any] = []
        self.marks = {1}
        self.lock = object()


@pytest.mark.parametrize(
    ("change", "flaw"),
    [
        (lambda user: user.marks.add(2), "self.marks is a set"),
        (lambda user: setattr(user, "lock", object()), "self.lock is a object"),
        (lambda user: user.seen.append((1, 2)), "self.seen[0] is a tuple"),
        (lambda user: setattr(user, "rows", {"a": {2: 3}}), "self.rows['a'] has the key 2"),
        (lambda user: setattr(user, "ratio", float("nan")), "self.ratio is nan"),
        (lambda user: user.seen.append(user.seen), "self.seen[0]"),
    ],
)
def test_what_is_no_json_is_refused_by_name(change: Any, flaw: str) -> None:
    """Broken if an agent's user silently lacks a value, or has it in another form."""
    user = Made()
    before = states.snapshot(vars(user))
    change(user)
    with pytest.raises(states.NotPortable) as refused:
        states.portable(before, vars(user), "self")
    assert str(refused.value).startswith(flaw)


def test_a_user_is_the_same_on_the_other_side() -> None:
    """Broken if a user is used with less state than it was prepared with."""
    user, conversation = Made(), Conversation("http://localhost")
    before = states.snapshot(vars(user))
    user.seen.append({"id": 2**80, "name": "grün \ud800", "ok": True, "rate": 0.1, "none": None})
    del user.marks
    text = states.user_text(before, vars(user), conversation)
    assert text.isascii()
    other = Made()
    states.restore(text, other, Conversation("http://localhost"))
    assert other.seen == user.seen
    assert other.lock is not user.lock
    assert not hasattr(other, "marks")
    assert set(json.loads(text)["self"]) == {"seen"}


def test_locks_of_a_scenario_are_those_that_users_can_wait_for(compile_text: Compile) -> None:
    """Broken if a user that waits for a lock stops the thread of all users."""
    scene = "import threading\nLOCKS = threading.Lock(), threading.RLock()\n" + start("pass")
    aside = compile_text(scene.replace("pass", "S.pool.append(1)")).hooks
    assert aside is not None
    module = __import__("sys").modules[aside.cls.__module__]
    assert [type(lock) for lock in module.LOCKS] == [locks.Lock, locks.RLock]
    lock, own = module.LOCKS
    with lock:
        assert not lock.acquire(blocking=False)
    with own, own:
        pass
    with pytest.raises(RuntimeError):
        own.release()
