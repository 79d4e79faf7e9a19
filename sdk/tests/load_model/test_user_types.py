"""Scenarios that run together: which ones, with which shares, and what is refused before a run."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import pytest
from sdk.tests.conftest import HEAD, TARGET

from loadpilot.compile.scenario.settings import Overrides
from loadpilot.compile.user_types import compile_together
from loadpilot.inputs.params import ParameterSource
from loadpilot.problem import Refused
from loadpilot.scenario_file.load import load
from loadpilot.scenario_file.load_model.scenario import scenario_path
from loadpilot.scenario_file.user_types import chosen

if TYPE_CHECKING:
    from pathlib import Path

    from loadpilot.compile.plan import Compiled

BROWSE = """
@scenario({browse})
class Browse(VUser):
    @task(weight=3)
    def list(self, client): client.get("/list")

    @task
    def view(self, client): client.get("/view")
"""
BUY = """
@scenario({buy})
class Buy(VUser):
    @task
    def view(self, client): client.get("/cart")
"""
CHECKED = """
@scenario({checked})
class Checked(VUser):
    path = "/{{n}}"
    def on_start(self, client): self.n = client.get("/start").json()["n"]

    @task
    def view(self, client): client.get("/view")

    def check_view(self, status_code, body): assert status_code == 200
"""


class Files:
    """Writes scenario files and compiles their scenarios together, as the command does."""

    def __init__(self, folder: Path) -> None:
        """Write text to a file in a folder of this test."""
        self.folder = folder

    def compile(self, *texts: str, overrides: Overrides | None = None, **shares: str) -> Compiled:
        """Compile the scenarios of files with these texts."""
        overrides = overrides or Overrides()
        source = ParameterSource({}, overrides.env)
        files = []
        for number, text in enumerate(texts):
            path = self.folder / f"scene_{number}.py"
            path.write_text(HEAD + textwrap.dedent(text), encoding="utf-8")
            files.append(load(path, source))
        return compile_together(chosen(files, None, shares), TARGET, overrides)

    def refuse(self, *texts: str, overrides: Overrides | None = None, **shares: str) -> str:
        """Compile files that must be refused; returns all problems."""
        with pytest.raises(Refused) as refused:
            self.compile(*texts, overrides=overrides, **shares)
        return "\n".join(map(str, refused.value.problems))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Scenario files in a folder of their own."""
    return Files(tmp_path)


def mix(browse: str = "share=70", buy: str = "share=30", **others: str) -> str:
    """Return the text of a file with both scenarios."""
    return BROWSE.format(browse=browse) + BUY.format(buy=buy, **others)


def test_scenarios_of_a_file_become_types(files: Files) -> None:
    """Broken if tasks of the same name are one, or belong to another type. 1 s."""
    plan = files.compile(mix("share=70, rps=20")).plan
    assert plan["scenario"] == "Browse+Buy"
    assert plan["schema"] == "loadpilot.plan/2"
    assert plan["types"] == [
        {"name": "Browse", "share": 70, "tasks": 2},
        {"name": "Buy", "share": 30, "tasks": 1},
    ]
    named = [(task["name"], task["weight"]) for task in plan["tasks"]]
    assert named == [("Browse/list", 3), ("Browse/view", 1), ("Buy/view", 1)]
    assert [task["steps"][0]["path"] for task in plan["tasks"]] == ["/list", "/view", "/cart"]
    assert plan["profile"]["pieces"][-1]["to"] == 20_000_000


def test_several_files_and_flags_say_the_same(files: Files) -> None:
    """Broken if a mix depends on how its scenarios are spread over files, or if a flag is lost."""
    apart = files.compile(
        BROWSE.format(browse="rps=20"), BUY.format(buy="share=7"), Browse="70", Buy="30"
    )
    assert apart.plan == files.compile(mix("share=70, rps=20")).plan


def test_each_type_has_its_think_time_and_its_gates(files: Files) -> None:
    """Broken if users of one type have think times of another, or if a gate of one type is judged
    for all."""
    text = mix(
        "share=1, users=10, wait=exponential(median='2s'), thresholds={'p95_ms': 5, "
        "'view:p99_ms': 9}",
        "share=1, pacing='3s', thresholds={'error_rate': 1}",
    )
    flags = Overrides(thresholds=("p99_ms=20", "Buy:error_rate=2", "Buy/view:p50_ms=3"))
    plan = files.compile(text, overrides=flags).plan
    assert "rest" not in plan
    assert [one["rest"] for one in plan["types"]] == [
        {"exponential": {"median_us": 2_000_000}},
        {"pacing": {"every_us": 3_000_000}},
    ]
    gates = {f"{one.get('task')}:{one['metric']}": one["limit"] for one in plan["thresholds"]}
    assert gates == {
        "Browse:p95_ms": 5,
        "Browse/view:p99_ms": 9,
        "Buy:error_rate": 2,
        "None:p99_ms": 20,
        "Buy/view:p50_ms": 3,
    }
    waits = files.compile(text, overrides=Overrides(wait="0")).plan["types"]
    assert all("rest" not in one for one in waits)


def test_a_share_of_zero_leaves_a_scenario_out(files: Files) -> None:
    """Broken if a scenario that was left out runs, or if one is left out without a message."""
    text = mix() + CHECKED.format(checked="share=0")
    assert [one["name"] for one in files.compile(text).plan["types"]] == ["Browse", "Buy"]
    loaded = load(files.folder / "scene_0.py", ParameterSource({}))
    (only,) = chosen([loaded], None, {"Browse": "0"})
    assert only.name == "Buy"
    (alone,) = chosen([loaded], "Checked", {})
    assert alone.name == "Checked"


WRONG: dict[str, tuple[str, dict[str, str], str]] = {
    "none": (mix("rps=1", "rps=1"), {}, "defines 2 scenarios, choose one with --scenario"),
    "missing": (mix("share=1", "rps=1"), {}, "Buy has no share, and others have"),
    "unknown": (
        mix(),
        {"Brows": "3"},
        "--share: unknown scenario 'Brows'; did you mean 'Browse'?",
    ),
    "flag": (mix(), {"Buy": "3.5"}, "--share Buy: must be a whole number from 0 to 1000000"),
    "setting": (mix("share=True"), {}, "scene_0.py:3: share: must be a whole number"),
    "all zero": (mix(), {"Buy": "0", "Browse": "0"}, "--share: must leave a scenario"),
    "rates": (
        mix("share=1, rps=5", "share=1, rps=6"),
        {},
        "scene_0.py:11: rps: must be that of Browse, 5: scenarios that run together have one load",
    ),
    "pool": (mix("share=1, rps=5, users=3"), {}, "users: cannot be used with rps="),
    "wait": (mix("share=1, wait='1s'"), {}, "wait: is for users= without a rate"),
    "users": (
        mix("share=1, users=9", "share=999"),
        {},
        "scene_0.py:3: share: must give the type Browse at least one of the 9 users",
    ),
    "gate": (
        mix("share=1, thresholds={'order:p99_ms': 4}"),
        {},
        "thresholds 'order:p99_ms': unknown task 'order'",
    ),
    "rest": (
        mix("share=1, users=2, wait=lognormal(median='2s', p99='25h')"),
        {},
        "scene_0.py:3: wait: must have a median longer than 0, and a p99 of at most a day",
    ),
    "python": (
        mix() + CHECKED.format(checked="share=1, compile=False"),
        {},
        "compile=False is set: Checked needs Python, and scenarios that run together are compiled",
    ),
    "setup": (
        mix() + CHECKED.format(checked="share=1").replace("def on_start", "@setup\n    def begin"),
        {},
        "begin() runs once per run, which scenarios that run together cannot have",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_run_together_is_refused_by_name(files: Files, what: str) -> None:
    """Broken if a mix starts that the user did not mean, or if the message does not name what is
    wrong."""
    text, shares, message = WRONG[what]
    text = text.replace("@setup", "@__import__('loadpilot').setup")
    assert message in files.refuse(text, **shares)


def test_a_flag_settles_different_loads(files: Files) -> None:
    """Broken if scenarios with their own loads can never run together."""
    text = mix("share=1, rps=5", "share=1, rps=6")
    plan = files.compile(text, overrides=Overrides(rps="7")).plan
    assert plan["profile"]["pieces"][-1]["to"] == 7_000_000


def test_files_of_one_name_and_scenarios_of_one_name_are_refused(files: Files) -> None:
    """Broken if one of two scenarios is mistaken for the other."""
    twice = files.refuse(BUY.format(buy="share=1"), BUY.format(buy="share=2"))
    assert "scenario Buy has the name of that of" in twice
    assert "set @scenario(share=…), or the flag, of Browse, Buy" in files.refuse(
        BROWSE.format(browse=""), BUY.format(buy="")
    )


def test_scenarios_with_state_and_checks_are_code(files: Files) -> None:
    """Broken if constants, hooks or checks of one type reach users of another. 1 s."""
    text = BUY.format(buy="share=1, rps=5") + CHECKED.format(checked="share=2")
    plan: dict[str, Any] = files.compile(text).plan
    code = plan["code"]
    assert [task["steps"] for task in plan["tasks"]] == [[], []]
    assert ["check" in task for task in code["tasks"]] == [False, True]
    assert [sorted(own.keys() & {"on_start", "constants"}) for own in code["types"]] == [
        [],
        ["on_start"],
    ]
    assert "on_start" not in code
    assert code["users"] == 5
    gated = files.compile(text, overrides=Overrides(thresholds=("Checked:checks=100",)))
    assert gated.plan["thresholds"][0]["task"] == "Checked"
    assert "no check would ever run" in files.refuse(
        text, overrides=Overrides(thresholds=("Buy:checks=100",))
    )


def test_feeds_of_types_stay_apart(files: Files) -> None:
    """Broken if feeds of the same name are one, or rows of one go to the tasks of another."""
    fed = """
    @scenario(share=1{more})
    class {name}(VUser):
        rows = feed({rows})

        @task
        def other(self, client): client.get("/other")

        @task
        def view(self, client): client.get(f"/{{next(self.rows)['n']}}")
    """
    text = "from loadpilot import feed\n" + "".join(
        textwrap.dedent(fed.format(name=name, rows=[{"n": n}], more=more))
        for name, n, more in (("One", 1, ", rps=5"), ("Two", 2, ""))
    )
    compiled = files.compile(text)
    feeds = compiled.plan["code"]["feeds"]
    assert [(one["name"], one["tasks"]) for one in feeds] == [("One/rows", [1]), ("Two/rows", [3])]
    (rows,) = compiled.bodies.values()
    assert rows == b'[[{"n":1}],[{"n":2}]]'


MODEL = """
model = 1
users = 10
[[type]]
name = "Visitor"
share = 4
wait = "2s"
[[type.action]]
paths = ["/a", "/b"]
name = "read"
[[type]]
name = "Buyer"
[[type.action]]
method = "POST"
path = "/cart"
"""


def test_types_of_a_load_model_run_together(tmp_path: Path) -> None:
    """Broken if a model with several types is refused, or loses a share or a think time."""
    file = tmp_path / "shop.toml"
    file.write_text(MODEL)
    loaded = load(scenario_path(file, tmp_path), ParameterSource({}))
    plan = compile_together(chosen([loaded], None, {}), TARGET, Overrides()).plan
    assert plan["users"] == 10
    assert [(one["name"], one["share"], one.get("rest")) for one in plan["types"]] == [
        ("Visitor", 4, {"wait": {"from_us": 2_000_000, "to_us": 2_000_000}}),
        ("Buyer", 1, None),
    ]
    assert len(plan["code"]["types"]) == 2
