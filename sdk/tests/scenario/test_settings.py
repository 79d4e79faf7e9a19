"""Settings in scenarios and flags: shapes, units, gates. Every wrong value is named where it was
written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadpilot.cli.flags import options
from loadpilot.cli.flags.run_flags import RunFlags
from loadpilot.compile.scenario import profile
from loadpilot.compile.scenario.settings import Overrides

if TYPE_CHECKING:
    from sdk.tests.conftest import Compile, Refuse

SECOND = 1_000_000
HUNDRED = 100_000_000
SCENE = """
@scenario({said})
class S(VUser):
    @task
    def one(self, client): client.get("/")
    @task
    def two(self, client): client.get("/")
"""


def pieces(plan: dict[str, Any]) -> list[tuple[float, float, float]]:
    """Pieces in seconds and arrivals per second."""
    return [
        (p["duration_us"] / 1e6, p["from"] / 1e6, p["to"] / 1e6) for p in plan["profile"]["pieces"]
    ]


PROFILES = {
    "rps=100, duration='8s', ramp_up='2s'": [(2, 0, 100), (8, 100, 100)],
    "rps=100, duration='20s'": [(10, 0, 100), (20, 100, 100)],
    "rps=100, duration='5s'": [(5, 0, 100), (5, 100, 100)],
    "rps=100, ramp_up=0": [(60, 100, 100)],
    "": [(10, 0, 10), (60, 10, 10)],
    "rps=100, duration='5s', mode='constant'": [(5, 100, 100)],
    "rps=100, duration='10s', mode='step'": [(2, 20 * k, 20 * k) for k in range(1, 6)],
    "rps=90, duration='6s', mode='step', steps=3": [(2, 30, 30), (2, 60, 60), (2, 90, 90)],
    "rps=100, duration='9s', mode='spike'": [(3, 20, 20), (3, 100, 100), (3, 20, 20)],
    "stages=[('1m', 3000), ('10s', 90000), ('90s', 90000)]": [
        (60, 0, 3000),
        (10, 3000, 90000),
        (90, 90000, 90000),
    ],
    "stages=[('0s', 500), ('1m', 500)]": [(60, 500, 500)],
    "stages=[('1s', 5), (0, 9), ('1s', 9)]": [(1, 0, 5), (1, 9, 9)],
    "stages=[('60s', 0), ('30s', 50)]": [(60, 0, 0), (30, 0, 50)],
    "stages=[{'duration': '1m', 'target': '3000/m'}]": [(60, 0, 50)],
    "rps='3000/m', duration=2.5, mode='constant'": [(2.5, 50, 50)],
    "rps=0.5, duration='1h', mode='constant'": [(3600, 0.5, 0.5)],
    "rps=1e-1, duration='500ms', mode='constant'": [(0.5, 0.1, 0.1)],
}


@pytest.mark.parametrize("said", PROFILES)
def test_a_shape_is_the_pieces_that_it_promises(said: str, compile_text: Compile) -> None:
    """Broken if a scenario offers another load curve than its settings describe."""
    assert pieces(compile_text(SCENE.format(said=said)).plan) == PROFILES[said]


@given(st.integers(1, 10**12), st.integers(1, 10**13), st.integers(1, 50), st.integers(0, 10**12))
def test_pieces_always_add_up_to_the_duration(us: int, urps: int, steps: int, ramp: int) -> None:
    """Broken if a window that does not divide evenly shortens or lengthens the run."""
    for built, total in [
        (profile.step(us, urps, steps), us),
        (profile.spike(us, urps), us),
        (profile.constant(us, urps), us),
        (profile.ramp(ramp, us, urps), us + ramp),
    ]:
        assert sum(p["duration_us"] for p in built) == total
        assert all(p["duration_us"] > 0 for p in built)
        assert all(0 <= p["from"] <= urps and 0 <= p["to"] <= urps for p in built)


WRONG = {
    "rps=0": "rps: must be greater than 0 (got 0)",
    "rps=-5": "rps: must be a rate such as 50, 0.5, 50/s, 3000/m or 10/500ms (got -5)",
    "rps='fast'": "rps: must be a rate",
    "rps=float('nan')": "rps: must be a rate",
    "rps=float('inf')": "rps: must be a rate",
    "rps=True": "rps: must be a rate",
    "rps=[1]": "rps: must be a rate",
    "rps='1e3'": "rps: must be a rate",
    "duration='0s'": "duration: must be longer than 0 (got '0s')",
    "duration='5x'": "duration: must be a duration",
    "duration=-1": "duration: must be a duration",
    "duration='1s1m'": "duration: must be a duration",
    "ramp_up='2m'": "ramp_up: must not be longer than the duration, '1m' (got '2m')",
    "duration='5s', ramp_up='10s'": "ramp_up: must not be longer than the duration, '5s'",
    "ramp_up='-1s'": "ramp_up: must be a duration",
    "mode='saw'": "mode: must be one of ramp, constant, step, spike, burst, sine, stages",
    "mode='brust'": "stages; did you mean burst? (got 'brust')",
    "mode=5": "mode: must be one of",
    "mode=['ramp']": "mode: must be one of",
    "mode='stages'": "mode: needs stages=[…]",
    "mode='step', steps=0": "steps: must be a whole number from 1",
    "mode='step', steps=2.5": "steps: must be a whole number from 1",
    "mode='step', steps=True": "steps: must be a whole number from 1",
    "stages=[]": "stages: must be a list such as",
    "stages=5": "stages: must be a list such as",
    "stages=[('1m',)]": "stages 1: must be a pair",
    "stages=['1m']": "stages 1: must be a pair",
    "stages=[('1m', 5), {'duration': '1m'}]": "stages 2: must be a pair",
    "stages=[('soon', 5)]": "stages 1: must be a duration",
    "stages=[('1m', 'fast')]": "stages 1: must be a rate",
    "stages=[('0s', 5)]": "stages: must hold a stage longer than 0",
    "stages=[('1m', 5)], rps=5": "stages: stages say it all; drop rps=",
    "stages=[('1m', 5)], duration='1m'": "stages: stages say it all; drop duration=",
    "stages=[('1m', 5)], mode='step'": "stages: stages say it all; drop mode=",
    "warm_up='x'": "warm_up: must be a duration",
    "timeout='0s'": "timeout: must be longer than 0",
    "timeout=False": "timeout: must be a duration",
    "timeout={'connect': 'soon'}": "timeout connect: must be a duration",
    "timeout={'total': '0s'}": "timeout total: must be longer than 0",
    "timeout={'read': '1s'}": "timeout: must be one of total, connect, first_byte (got 'read')",
    "timeout={'connect': '31s'}": "timeout (timeouts.connect_us): must be 1 ms to the time-out of",
    "max_wait='x'": "max_wait: must be a duration",
    "max_in_flight=0": "max_in_flight: must be a whole number from 1",
    "max_in_flight='10'": "max_in_flight: must be a whole number from 1",
    "arrivals='bursty'": "arrivals: must be one of uniform, poisson (got 'bursty')",
    "thresholds=5": "thresholds: must be a dict",
    "thresholds={5: 5}": "thresholds: must be named by text",
    "thresholds={'p99_ms': 'low'}": "thresholds 'p99_ms': must be a number",
    "thresholds={'p99_ms': float('nan')}": "thresholds 'p99_ms': must be a number",
    "thresholds={'p99_ms': float('inf')}": "thresholds 'p99_ms': must be a number",
    "thresholds={'p99_ms': -1}": "thresholds 'p99_ms': must be a number",
    "thresholds={'p99_ms': True}": "thresholds 'p99_ms': must be a number",
    "thresholds={'p99_ms': None}": "thresholds 'p99_ms': must be a number",
    "thresholds={'p99ms': 5}": "unknown metric 'p99ms'; did you mean 'p99_ms'?",
    "thresholds={'error-rate': 5}": "unknown metric 'error-rate'; did you mean 'error_rate'?",
    "thresholds={'tow:p99_ms': 5}": "unknown task 'tow'; did you mean 'two'?",
    "thresholds={':p99_ms': 5}": "unknown task ''",
    "users=0": "users: must be a whole number from 1 to 1000000 (got 0)",
    "users='many'": "users: must be a whole number from 1",
    "users=1000001": "users: must be a whole number from 1",
    "users=5, rps=9": "users: cannot be used with rps=: nothing in this scenario runs in Python",
    "users=5, mode='step'": "mode: cannot be used with users=",
    "users=5, ramp_up='1s'": "ramp_up: cannot be used with users=",
    "users=5, steps=3": "steps: cannot be used with users=",
    "users=5, stages=[('1m', 5)]": "users: cannot be used with stages=",
    "users=5, arrivals='poisson'": "arrivals: cannot be used with users=",
    "users=5, max_in_flight=9": "max_in_flight: cannot be used with users=",
    "users=5, wait='1s', pacing='2s'": "pacing: cannot be used with wait=",
    "users=5, wait='0s'": "wait: must be longer than 0",
    "users=5, wait=('3s', '1s')": "wait: must not begin after its end",
    "users=5, wait='soon'": "wait: must be",
    "users=5, wait=('1s', '2s', '3s')": "wait: must be",
    "users=5, pacing='25h'": "pacing: must be longer than 0 and at most a day",
    "wait='1s'": "wait: is for users= without a rate",
    "rps=9, pacing='1s'": "pacing: is for users= without a rate",
    "user_stages=[]": 'user_stages: must be a list such as [("30s", 200), ("2m", 200)]',
    "user_stages='1s:5'": "user_stages: must be a list",
    "user_stages=[('0s', 5)]": "user_stages: must hold a stage longer than 0",
    "user_stages=[('1s', 5, 5)]": 'user_stages 1: must be a pair such as ("30s", 200)',
    "user_stages=[('1s', 5), ('soon', 5)]": "user_stages 2: must be a duration",
    "user_stages=[('1s', 2.5)]": "user_stages 1: must be a whole number of users from 0 to 1000000",
    "user_stages=[('1s', True)]": "user_stages 1: must be a whole number of users",
    "user_stages=[('1s', 1000001)]": "user_stages 1: must be a whole number of users",
    "user_stages=[('1s', '50/s')]": "user_stages 1: must be a whole number of users",
    "user_stages=[('1s', 1)]": "user_stages: must let a user begin",
    "user_stages=[('300h', 5)]": "user_stages: must last at most 11 days",
    "user_stages=[('1s', 5)], users=5": "user_stages: user_stages say it all; drop users=",
    "user_stages=[('1s', 5)], duration='1s'": "user_stages say it all; drop duration=",
    "user_stages=[('1s', 5)], rps=5": "rps: cannot be used with user_stages=: it has no rate",
    "user_stages=[('1s', 5)], stages=[('1s', 5)]": "stages: cannot be used with user_stages=",
    "user_stages=[('1s', 5)], idle='1s'": "idle: cannot be used with user_stages=",
    "secret_headers='X-A'": "secret_headers: must be a list",
    "secret_headers=[5]": "secret_headers: must be a list",
}


@pytest.mark.parametrize("said", WRONG)
def test_a_wrong_value_is_named_with_field_rule_and_value(said: str, refuse_text: Refuse) -> None:
    """Broken if a wrong value is accepted, or if its message does not say what to change."""
    (problem,) = refuse_text(SCENE.format(said=said))
    assert WRONG[said] in str(problem)
    assert "scene.py:3: " in str(problem)


FLAGS = {
    Overrides(rps="0"): "--rps: must be greater than 0 (got '0')",
    Overrides(rps=""): "--rps: must be a rate",
    Overrides(duration="x"): "--duration: must be a duration",
    Overrides(duration=""): "--duration: must be a duration",
    Overrides(mode="saw"): "--mode: must be one of ramp, constant, step, spike, burst",
    Overrides(mode="stages"): "--mode: needs --stages to go with it",
    Overrides(ramp_up="soon"): "--ramp-up: must be a duration",
    Overrides(ramp_up="21s"): "--ramp-up: must not be longer than the duration, '20s' (got '21s')",
    Overrides(ramp_up="6s", duration="5s"): "--ramp-up: must not be longer than the duration, '5s'",
    Overrides(stages="30s"): "--stages: must be DURATION:RATE pairs such as 30s:50,1m:50",
    Overrides(stages="soon:5"): "--stages 1: must be a duration",
    Overrides(stages="1s:5,1s:fast"): "--stages 2: must be a rate",
    Overrides(stages="0s:5"): "--stages: must hold a stage longer than 0",
    Overrides(stages="1s:5", rps="5"): "--rps: cannot be used: --stages says it all",
    Overrides(stages="1s:5", mode="step"): "--mode: cannot be used: --stages says it all",
    Overrides(stages="1s:5", users=5): "--stages: cannot be used with --users",
    Overrides(mode="step", users=5): "--mode: cannot be used with --users",
    Overrides(user_stages="30s"): "--user-stages: must be DURATION:USERS pairs such as 30s:200",
    Overrides(user_stages="1s:5,1s:x"): "--user-stages 2: must be a whole number of users from 0",
    Overrides(user_stages="2s:5", users=5): "--users: cannot be used: --user-stages says it all",
    Overrides(user_stages="2s:5", duration="2s"): "--duration: cannot be used: --user-stages says",
    Overrides(user_stages="2s:5", as_fast_as_possible=True): "--max: cannot be used: --user-stages",
    Overrides(user_stages="2s:5", rps="5"): "--rps: cannot be used with --user-stages",
    Overrides(user_stages="2s:5", stages="2s:5"): "--stages: cannot be used with --user-stages",
    Overrides(user_stages="2s:0"): "--user-stages: must let a user begin",
    Overrides(thresholds=("shortfall=3",), users=5): "--threshold shortfall: must not be a gate",
    Overrides(hold=("shortfall=3",), rps="5"): "--hold shortfall: must be a figure that",
    Overrides(hold=("p99_ms=3",), users=5): "has users; leave out --users",
    Overrides(user_stages="2s:1"): "--user-stages: must let a user begin",
    Overrides(warm_up="-1s"): "--warm-up: must be a duration",
    Overrides(thresholds=("p99_ms",)): "--threshold: must be key=value",
    Overrides(thresholds=("=5",)): "--threshold: must be key=value",
    Overrides(thresholds=("p99_ms=nan",)): "--threshold: must be a number",
    Overrides(thresholds=("p98_ms=5",)): "--threshold: unknown metric 'p98_ms'; did you mean",
    Overrides(thresholds=("zwei:p99_ms=5",)): "--threshold: unknown task 'zwei'",
}


@pytest.mark.parametrize("flags", FLAGS)
def test_a_wrong_flag_is_named_as_a_flag(flags: Overrides, refuse_text: Refuse) -> None:
    """Broken if a mistake on the command line is reported for the file."""
    (problem,) = refuse_text(SCENE.format(said="duration='20s'"), flags)
    assert FLAGS[flags] in str(problem)


def test_flags_win_and_replace_gates_by_key(compile_text: Compile) -> None:
    """Broken if a flag is ignored, or the gate that it replaces stays in force beside it."""
    settings = "rps=10, duration='20s', thresholds={'p99_ms': 100, 'two:p50_ms': 7}"
    flags = Overrides(
        rps="40/s",
        duration="30s",
        warm_up="1s",
        thresholds=("p99_ms=250", "one:p95_ms=5", "error_rate=0.5"),
        id_header="X-Request-Id",
    )
    plan = compile_text(SCENE.format(said=settings), flags).plan
    assert pieces(plan) == [(10, 0, 40), (30, 40, 40)]
    assert plan["warm_up_us"] == SECOND
    assert plan["id_header"] == "X-Request-Id"
    assert plan["thresholds"] == [
        {"metric": "p99_ms", "limit": 250.0},
        {"metric": "p50_ms", "task": "two", "limit": 7.0},
        {"metric": "p95_ms", "task": "one", "limit": 5.0},
        {"metric": "error_rate", "limit": 0.5},
    ]


SHAPED = {
    ("rps=9, duration='5s'", Overrides(mode="constant")): [(5, 9, 9)],
    ("rps=9, duration='4s', mode='constant', steps=2", Overrides(mode="step")): [
        (2, 4.5, 4.5),
        (2, 9, 9),
    ],
    ("rps=9, duration='5s'", Overrides(ramp_up="2s")): [(2, 0, 9), (5, 9, 9)],
    ("rps=9, ramp_up='50s'", Overrides(duration="3s")): [(3, 0, 9), (3, 9, 9)],
    ("rps=9, duration='5s', mode='step'", Overrides(stages="1s:5, 0s:9,2s:540/m")): [
        (1, 0, 5),
        (2, 9, 9),
    ],
    ("stages=[('1m', 5)]", Overrides(stages="2s:7", mode="stages")): [(2, 0, 7)],
}


@pytest.mark.parametrize(("said", "flags"), SHAPED)
def test_flags_shape_the_rate_as_settings_do(
    said: str, flags: Overrides, compile_text: Compile
) -> None:
    """Broken if --mode, --ramp-up or --stages offers another curve than the setting would."""
    assert pieces(compile_text(SCENE.format(said=said), flags).plan) == SHAPED[said, flags]


def test_a_ramp_that_nothing_asked_for_is_cut_aloud(compile_text: Compile) -> None:
    """Broken if the opening cannot say that the ramp is shorter than the default."""
    cut = compile_text(SCENE.format(said="duration='3s'")).ramp_cut_from_us
    assert cut == 10 * SECOND
    assert compile_text(SCENE.format(said="duration='10s'")).ramp_cut_from_us is None


def test_flags_that_stages_replace_are_refused(refuse_text: Refuse) -> None:
    """Broken if --rps on a staged scenario silently has no effect."""
    flags = Overrides(rps="5", duration="5s", mode="constant", ramp_up="1s")
    problems = refuse_text(SCENE.format(said="stages=[('1m', 5)]"), flags)
    places = [problem.place for problem in problems]
    assert places == ["--rps", "--duration", "--mode", "--ramp-up"]


RESTS: dict[str, dict[str, Any]] = {
    "pacing='10s'": {"pacing": {"every_us": 10_000_000}},
    "wait='500ms'": {"wait": {"from_us": 500_000, "to_us": 500_000}},
    "wait=('1s', 3)": {"wait": {"from_us": 1_000_000, "to_us": 3_000_000}},
    "wait=exponential(median='8s')": {"exponential": {"median_us": 8_000_000}},
    "wait=exponential(mean=10)": {"exponential": {"median_us": 6_931_472}},
    "wait=lognormal(median='8s', p99='45s')": {
        "lognormal": {"median_us": 8_000_000, "p99_us": 45_000_000}
    },
}


@pytest.mark.parametrize("said", RESTS)
def test_users_rest_by_their_settings(compile_text: Compile, said: str) -> None:
    """Broken if the think time of users differs from the scenario's setting."""
    plan = compile_text(SCENE.format(said=f"users=5, {said}")).plan
    assert plan["rest"] == RESTS[said]
    assert plan["schema"] == f"loadpilot.plan/{2 if 'median_us' in str(plan['rest']) else 1}"
    assert "rest" not in compile_text(SCENE.format(said="users=5")).plan
    scene = SCENE.format(said=f"rps=5, {said}")
    assert compile_text(scene, Overrides(users=5)).plan["rest"] == RESTS[said]
    fast = compile_text(scene, Overrides(as_fast_as_possible=True))
    assert "rest" not in fast.plan
    assert fast.replaced == ("rps", said.partition("=")[0])


def test_users_are_a_closed_loop(compile_text: Compile) -> None:
    """Broken if a closed loop offers a rate, or lasts longer than its duration."""
    plan = compile_text(SCENE.format(said="users=64, duration='30s'")).plan
    assert plan["users"] == 64
    assert plan["profile"]["shape"] == "closed"
    assert pieces(plan) == [(30, 0, 0)]
    assert "users" not in compile_text(SCENE.format(said="")).plan


STAGED = {
    ("user_stages=[('1s', 4), ('0s', 2), ('2s', '3')]", Overrides()): (
        [(1, 0, 4), (2, 2, 3)],
        (),
    ),
    ("rps=9, duration='20s', wait='1s'", Overrides(user_stages="2s:5, 1s:0")): (
        [(2, 0, 5), (1, 5, 0)],
        ("rps", "duration"),
    ),
    ("users=9", Overrides(user_stages="2s:5")): ([(2, 0, 5)], ("users",)),
    ("user_stages=[{'duration': '1s', 'target': 4}]", Overrides(user_stages="2s:5")): (
        [(2, 0, 5)],
        (),
    ),
}


@pytest.mark.parametrize(("said", "flags"), STAGED)
def test_users_follow_stages(said: str, flags: Overrides, compile_text: Compile) -> None:
    """Broken if stages of users are read differently from those of a rate, or if older agents
    accept a plan with them."""
    compiled = compile_text(SCENE.format(said=said), flags)
    plan, (stages, replaced) = compiled.plan, STAGED[said, flags]
    assert compiled.replaced == replaced
    assert plan["schema"] == "loadpilot.plan/2"
    found = plan["user_stages"]
    assert [(one["duration_us"] / SECOND, one["from"], one["to"]) for one in found] == stages
    assert plan["users"] == max(max(stage[1:]) for stage in stages)
    assert pieces(plan) == [(sum(stage[0] for stage in stages), 0, 0)]
    assert ("rest" in plan) == ("wait" in said)


def test_a_number_of_users_replaces_their_stages(
    compile_text: Compile, refuse_text: Refuse
) -> None:
    """Broken if --users beside stages of the scenario gets a duration that the user did not
    give."""
    scene = SCENE.format(said="user_stages=[('1s', 4)]")
    compiled = compile_text(scene, Overrides(users=3, duration="2s"))
    assert (compiled.plan["users"], compiled.replaced) == (3, ("user_stages",))
    assert (compiled.plan["schema"], pieces(compiled.plan)) == ("loadpilot.plan/1", [(2, 0, 0)])
    (problem,) = refuse_text(scene, Overrides(users=3))
    assert "--users: replaces the stages, which set how long the run is; add" in str(problem)
    (problem,) = refuse_text(scene, Overrides(duration="3s"))
    assert "--duration: cannot be used: the scenario has user_stages" in str(problem)
    (problem,) = refuse_text(scene, Overrides(rps="3"))
    assert "--rps: cannot be used with user_stages=: a closed loop has no rate" in str(problem)


LOOPS = {
    ("rps=9, arrivals='poisson'", Overrides(users=7)): (7, 60, ("rps", "arrivals")),
    ("mode='step', max_in_flight=5", Overrides(users=7, duration="5s")): (
        7,
        5,
        ("mode", "max_in_flight"),
    ),
    ("", Overrides(as_fast_as_possible=True)): (64, 60, ()),
    ("", Overrides(as_fast_as_possible=True, users=9)): (9, 60, ()),
    ("users=16, arrivals='uniform'", Overrides(as_fast_as_possible=True)): (16, 60, ()),
    ("users=16", Overrides(users=3)): (3, 60, ()),
    ("stages=[('1m', 5)]", Overrides(users=3, duration="2s")): (3, 2, ("stages",)),
}


@pytest.mark.parametrize(("said", "flags"), LOOPS)
def test_flags_for_a_closed_loop_replace_the_schedule(
    said: str, flags: Overrides, compile_text: Compile
) -> None:
    """Broken if a flag is ignored, or replaces a setting without a message."""
    compiled = compile_text(SCENE.format(said=said), flags)
    users, secs, replaced = LOOPS[said, flags]
    assert (compiled.plan["users"], compiled.replaced) == (users, replaced)
    assert pieces(compiled.plan) == [(secs, 0, 0)]
    assert compiled.plan["arrivals"] == "uniform"
    assert "max_in_flight" not in compiled.plan


def test_a_rate_beside_users_is_refused(refuse_text: Refuse) -> None:
    """Broken if one of two contradicting loads is silently ignored."""
    settings = "users=5"
    for scene, flags in [
        (settings, Overrides(rps="5")),
        ("", Overrides(rps="5", users=5)),
        ("", Overrides(rps="5", as_fast_as_possible=True)),
    ]:
        (problem,) = refuse_text(SCENE.format(said=scene), flags)
        assert problem.place == "--rps"
    (problem,) = refuse_text(SCENE.format(said="stages=[('1m', 5)]"), Overrides(users=5))
    assert str(problem).startswith("--users: replaces the stages")


def test_gates_that_need_a_plan_are_refused_in_a_closed_loop(refuse_text: Refuse) -> None:
    """Broken if a gate on drops passes where nothing can be dropped."""
    settings = "users=5, thresholds={'shortfall': 1, 'one:dropped_rate': 1, 'p99_ms': 5}"
    problems = refuse_text(SCENE.format(said=settings))
    assert len(problems) == 2
    assert all("must not be a gate of a closed loop" in str(problem) for problem in problems)
    (problem,) = refuse_text(SCENE.format(said="users=5"), Overrides(hold=("p99_ms=3",)))
    assert "set rps= in place of users= (" in problem.what


def test_a_call_may_have_time_outs_in_parts(compile_text: Compile) -> None:
    """Broken if a part is taken for the whole, or if the whole loses its default."""
    settings = "timeout={'connect': '1s', 'first_byte': 2}"
    plan = compile_text(SCENE.format(said=settings)).plan
    assert plan["timeout_us"] == 30 * SECOND
    assert plan["timeouts"] == {"connect_us": SECOND, "first_byte_us": 2 * SECOND}
    plan = compile_text(SCENE.format(said="timeout={'total': '5s'}")).plan
    assert (plan["timeout_us"], "timeouts" in plan) == (5 * SECOND, False)


def test_exchanges_are_written_out_where_the_flag_asks() -> None:
    """Broken if the flag is not read, or accepts any value."""
    for flag, wanted in [("2", 2), (None, 0)]:
        found, problems = options.read("x.py", RunFlags(debug_requests=flag), {})
        assert found is not None
        assert (found.overrides.debug_requests, problems) == (wanted, [])
    _, problems = options.read("x.py", RunFlags(debug_requests="true"), {})
    assert [problem.place for problem in problems] == ["--debug-requests"]


def test_the_wait_of_users_can_be_set_for_one_run(
    compile_text: Compile, refuse_text: Refuse
) -> None:
    """Broken if --wait adds to the scenario's think time, or is accepted where users do not
    wait."""
    scene = SCENE.format(said="users=5, pacing='3s'")
    rests = {"1s": (1, 1), "1s, 3s": (1, 3), "0,2": (0, 2)}
    for text, (least, most) in rests.items():
        plan = compile_text(scene, Overrides(wait=text)).plan
        assert plan["rest"] == {"wait": {"from_us": least * SECOND, "to_us": most * SECOND}}
    for text, (name, values) in {
        "exponential:median=8s": ("exponential", {"median_us": 8 * SECOND}),
        "exponential: mean = 1s": ("exponential", {"median_us": 693_147}),
        "lognormal:p99=45s,median=8": (
            "lognormal",
            {"median_us": 8 * SECOND, "p99_us": 45 * SECOND},
        ),
    }.items():
        plan = compile_text(scene, Overrides(wait=text)).plan
        assert (plan["rest"], plan["schema"]) == ({name: values}, "loadpilot.plan/2")
    assert "rest" not in compile_text(scene, Overrides(wait="0")).plan
    (problem,) = refuse_text(scene, Overrides(wait="3s,1s"))
    assert str(problem) == "--wait: must not begin after its end (got ('3s', '1s'))"
    (problem,) = refuse_text(SCENE.format(said=""), Overrides(wait="1s"))
    assert str(problem).startswith("--wait: is for a closed loop")
    (problem,) = refuse_text(scene, Overrides(wait="1s", as_fast_as_possible=True))
    assert str(problem).startswith("--wait: cannot be used with --max")


def test_the_defaults_are_those_that_are_documented(compile_text: Compile) -> None:
    """Broken if a default differs from the documentation."""
    plan = compile_text(SCENE.format(said="")).plan
    assert plan["timeout_us"] == 30 * SECOND
    assert plan["max_wait_us"] == plan["timeout_us"]
    assert plan["max_lateness_us"] == 500_000
    assert plan["tick_us"] == SECOND
    assert plan["warm_up_us"] == 0
    assert plan["arrivals"] == "uniform"
    assert plan["thresholds"] == []
    assert "max_in_flight" not in plan
