"""Own metrics outside of a run, and gates on them before one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loadpilot import metrics
from loadpilot.compile.scenario.settings import Overrides

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdk.tests.conftest import Compile, Refuse

PYTHON = """
@scenario({said})
class Shop(VUser):
    @task
    def buy(self, client: LoadClient) -> None:
        self.last = client.get("/buy")

    def check_buy(self, status_code: int, body: object) -> None:
        pass

    @task
    def look(self, client: LoadClient) -> None:
        client.get("/look")
"""
COMPILED = """
@scenario({said})
class Plain(VUser):
    @task
    def get(self, client: LoadClient) -> None:
        client.get("/get")
"""


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, float]]:
    """Collect the values that metrics record, as a player of the scenario would."""
    values: list[tuple[str, str, float]] = []
    monkeypatch.setattr(metrics, "_sink", None)
    monkeypatch.setattr(metrics, "_by_name", {})
    metrics.attach(lambda *value: values.append(value))
    return values


GATES = {
    "'checks': 99": {"metric": "checks", "limit": 99.0},
    "'buy:checks': '> 99'": {"metric": "checks", "task": "buy", "limit": 99.0, "operator": ">"},
    "'p99_ms': '<250'": {"metric": "p99_ms", "limit": 250.0, "operator": "<"},
    "'p99_ms': '250'": {"metric": "p99_ms", "limit": 250.0},
    "'orders.count': '>= 100'": {
        "metric": "own",
        "own": {"name": "orders", "figure": "count"},
        "limit": 100.0,
        "operator": ">=",
    },
    "'look:temperature.min': ' > -2.5 '": {
        "metric": "own",
        "own": {"name": "temperature", "figure": "min"},
        "task": "look",
        "limit": -2.5,
        "operator": ">",
    },
}


@pytest.mark.parametrize("said", GATES)
def test_a_gate_says_what_the_plan_says(said: str, compile_text: Compile) -> None:
    """Broken if a gate measures something else, or compares in another direction, than was
    written."""
    plan = compile_text(PYTHON.format(said=f"thresholds={{{said}}}")).plan
    assert plan["thresholds"] == [GATES[said]]


def test_flags_say_the_same_and_replace_by_key(compile_text: Compile) -> None:
    """Broken if a flag lacks a form that a scenario has, or leaves the gate in force that it
    replaces."""
    flags = Overrides(
        thresholds=("orders.count>=5", "cart.p95 <= 2.5", "cart.max=< 9", "checks=98", "p99_ms<7")
    )
    text = PYTHON.format(said="thresholds={'orders.count': '> 1'}")
    gates = compile_text(text, flags).plan["thresholds"]
    names = [gate.get("own", {}).get("figure", gate["metric"]) for gate in gates]
    assert names == ["count", "p95", "max", "checks", "p99_ms"]
    assert [gate.get("operator") for gate in gates] == [">=", "<=", "<", None, "<"]
    assert [gate["limit"] for gate in gates] == [5, 2.5, 9, 98, 7]


SIDE = 'must be text that says which side passes, such as ">= 100" or "<= 250"'
WRONG = {
    "'orders.count': 100": SIDE,
    "'orders.count': '100'": SIDE,
    "'orders.count': '== 100'": SIDE,
    "'orders.count': '>= many'": SIDE,
    "'orders.count': '>= nan'": SIDE,
    "'p99_ms': '=> 5'": "must be a number that is finite and not negative, or text such as",
    "'p99_ms': '< -5'": "must be a number that is finite",
    "'orders.cout': '>= 1'": "unknown figure of orders 'cout'; did you mean 'count'? known: count",
    "'p99.ms': '<= 5'": "unknown metric 'p99.ms'; did you mean 'p99_ms'?",
    "'1st.count': '>= 1'": "must name a metric in letters, digits and _, not a digit first",
    "'a.b.count': '>= 1'": "unknown figure of a 'b.count'; did you mean 'count'?",
    "'sell:orders.count': '>= 1'": "unknown task 'sell'",
    "'look:checks': 99": "no check would ever run: write check_look(self, status_code, body)",
}


@pytest.mark.parametrize("said", WRONG)
def test_a_gate_that_cannot_be_meant_is_refused(said: str, refuse_text: Refuse) -> None:
    """Broken if a mistake in a gate drops the gate, or if the message does not show the right
    form."""
    (problem,) = refuse_text(PYTHON.format(said=f"thresholds={{{said}}}"))
    assert WRONG[said] in str(problem)
    assert "scene.py:3: thresholds" in str(problem)


def test_a_compiled_scenario_has_no_metrics_of_its_own(refuse_text: Refuse) -> None:
    """Broken if a gate that can never pass is detected only after the run."""
    (problem,) = refuse_text(COMPILED.format(said="thresholds={'p95ms.max': '<= 5'}"))
    assert "no task of this scenario runs in Python; did you mean 'p95_ms'?" in str(problem)
    (problem,) = refuse_text(COMPILED.format(said="thresholds={'checks': 99}"))
    assert "no check would ever run: write check_get(self, status_code, body)" in str(problem)


def test_a_task_that_adds_to_a_metric_becomes_code(compile_text: Compile) -> None:
    """Broken if a task is compiled to its requests, and its metrics are lost."""
    text = COMPILED.format(said="thresholds={'got.count': '>= 1'}")
    text = text.replace('get("/get")', 'get("/get")\n        metrics.counter("got").add()')
    plan = compile_text(f"from loadpilot import metrics\n{text}").plan
    measured = {"measure": {"kind": "counter", "name": "got", "line": 9}}
    assert measured in plan["code"]["tasks"][0]["body"]["does"]


def test_metrics_outside_a_run_go_nowhere() -> None:
    """Broken if the unit tests of two scenarios need a run, or affect each other."""
    for n in range(metrics.METRICS_MAX + 1):
        metrics.counter(f"order_{n}").add()
    metrics.trend("order_1").add(-19.99)
    metrics.rate("order_1").add("yes")
    assert metrics._by_name == {}


def test_in_a_run_a_name_is_one_metric(added: list[tuple[str, str, float]]) -> None:
    """Broken if a value reaches the engine under another name or kind, or as something else."""
    orders = metrics.counter("orders")
    assert metrics.counter("orders") is orders
    orders.add()
    orders.add(2.5)
    metrics.trend("cart").add(-19)
    metrics.rate("hit").add("yes")
    metrics.rate("hit").add([])
    assert added == [
        ("counter", "orders", 1.0),
        ("counter", "orders", 2.5),
        ("trend", "cart", -19.0),
        ("rate", "hit", 1.0),
        ("rate", "hit", 0.0),
    ]


TEXT: Any = "5"
NOTHING: Any = None
MISUSES: dict[str, tuple[Callable[[], object], str]] = {
    "no name": (lambda: metrics.counter(""), "'counter' instead of ''"),
    "a point": (lambda: metrics.trend("cart.value"), "'cart_value' instead of 'cart.value'"),
    "a digit first": (lambda: metrics.rate("2nd try"), "'_2nd_try' instead of '2nd try'"),
    "too long": (lambda: metrics.rate("x" * 129), "has at most 128 characters"),
    "less": (
        lambda: metrics.counter("orders").add(-1),
        "metrics.counter('orders').add() takes an amount of 0 to 1e9, not -1",
    ),
    "too much": (lambda: metrics.counter("orders").add(2e9), "an amount of 0 to 1e9, not 2000000"),
    "infinite": (lambda: metrics.trend("t").add(float("inf")), "a number that is finite, not inf"),
    "too large": (lambda: metrics.trend("t").add(-1.1e15), "not -1100000000000000.0; use a larger"),
    "text": (lambda: metrics.trend("t").add(TEXT), "a number that is finite, not '5'"),
    "nothing": (lambda: metrics.counter("c").add(NOTHING), "that is finite, not None"),
}


@pytest.mark.parametrize("misuse", MISUSES)
def test_misuse_names_the_value_and_the_rule(misuse: str) -> None:
    """Broken if a wrong name or value is accepted, here or in a run."""
    act, rule = MISUSES[misuse]
    with pytest.raises(ValueError, match="metric") as raised:
        act()
    assert rule in str(raised.value)


def test_a_name_that_is_no_text_is_refused() -> None:
    """Broken if a value that is no name is looked up as a name."""
    with pytest.raises(TypeError, match="takes a name, not list"):
        metrics.counter(["orders"])  # type: ignore[arg-type]


@pytest.mark.usefixtures("added")
def test_a_scenario_has_so_many_metrics_of_one_kind_each() -> None:
    """Broken if names made from values fill the log, or if a name means two metrics."""
    metrics.rate("hit")
    with pytest.raises(ValueError, match=r"metrics\.trend\('hit'\): hit is a rate already"):
        metrics.trend("hit")
    for n in range(metrics.METRICS_MAX - 1):
        metrics.counter(f"order_{n}")
    with pytest.raises(ValueError, match="at most 100 metrics, and 'order_99' would be one more"):
        metrics.counter("order_99")
