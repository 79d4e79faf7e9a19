"""The examples work as described: a server checks each request and counts those that it accepts,
and the scenarios in documents run to their end."""

from __future__ import annotations

import ast
import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sdk.tests.support.documents import Block, blocks
from tests.e2e.scenario.notebooks import cells

import loadpilot as dsl
from loadpilot.client import Extras, LoadClient
from loadpilot.dsl import SETTINGS
from loadpilot.inputs.random import Rand
from loadpilot.scenario_file.load import load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.support.command import Finished, Loadpilot

EXAMPLES = Path(__file__).parents[3] / "examples"
FOR_PROGRAMS = Path(__file__).parents[3] / "docs" / "howto" / "run" / "run-from-python.md"
RAISED = {"GateFailed", "RunFailed", "RunInterrupted", "RunRefused"}
"""Exceptions of `loadpilot.run` in a program; scenarios do not use them."""
RETURNED = {"Run", "RunResult"}
"""Types of the results of `run` and `open`: programs need not name them."""
NOTEBOOKS = {"figures.ipynb"}
"""Run by tests/e2e/library/test_notebooks.py."""
RPS, SECS = 20, 2
FLAGS = ("--rps", str(RPS), "--duration", f"{SECS}s", "--agents", "2")
READY = "GET /v2/health/ready 200"
USERS = 8
"""Number of users of the scenarios in Python, each of which requests once whether the server is
ready."""
TASKS = {
    ("triton", "Triton"): {"POST /v2/models/simple/infer 200": 36, READY: 4},
    ("triton", "Checked"): {"POST /v2/models/simple/infer 200": 40, READY: USERS},
    ("litserve", "LitServe"): {"POST /predict 200": 40},
    ("litserve", "Checked"): {"POST /predict 200": 40, "GET /health 200": USERS},
}
SHOP = {
    ("compiled", "Constant"),
    ("compiled", "Buyer"),
    ("scripted", "Scripted"),
    ("scripted", "Awaited"),
}
AT_ONCE = ("--duration", f"{SECS}s", "--mode", "constant")
CATALOGUE = {
    ("demo", "Shop"): (*AT_ONCE, "--rps", "40"),
    ("shop", "OrdinaryDay"): (*AT_ONCE, "--rps", "40", "--warm-up", "0s"),
    ("shop", "Sale"): ("--stages", "1s:20,0s:60,1s:60"),
    ("shop", "Regulars"): ("--duration", f"{SECS}s", "--users", "40"),
    ("load_profiles", "Burst"): ("--duration", f"{SECS}s", "--burst", "1s", "--idle", "1s"),
    ("load_profiles", "Waves"): ("--duration", f"{SECS}s", "--period", "1s"),
    ("load_profiles", "Evening"): (),
    ("load_profiles", "Guests"): ("--user-stages", "1s:20,1s:0", "--wait", "0"),
    ("load_profiles", "Readers"): ("--duration", f"{SECS}s", "--wait", "0"),
    ("connections", "Moved"): ("--duration", f"{SECS}s"),
    ("mix_of_users", "Browsing"): ("--duration", f"{SECS}s", "--wait", "50ms"),
    ("mix_of_users", "Ordering"): ("--duration", f"{SECS}s", "--wait", "0", "--users", "5"),
}
"""Scenarios that only browse and order, with the flags that make a run of each short. 3 s each."""
HOOKS = {"/auth/logout", "/admin/products", "/admin/clear"}
"""Paths of the shop that only hooks use."""
WHOLE = [block for block in blocks() if block.is_whole]


@contextmanager
def stub(name: str) -> Iterator[str]:
    """Starts a stub server as a user does; yields its address, and ends it with Ctrl-C."""
    path = EXAMPLES / "stubs" / f"{name}_stub.py"
    argv = [sys.executable, str(path), "--port", "0"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0, "Ctrl-C does not end the server"
        finally:
            process.kill()


def counts(url: str) -> dict[str, int]:
    with urllib.request.urlopen(f"{url}/counts", timeout=10) as answer:  # noqa: S310
        found: dict[str, int] = json.load(answer)
    return found


def raised(finished: Finished) -> list[Any]:
    return [task["raised"] for task in finished.report["tasks"] if task.get("raised")]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scenario"), TASKS)
def test_an_example_sends_what_its_server_accepts(
    name: str, scenario: str, loadpilot: Loadpilot
) -> None:
    """Broken if a request of an example is invalid, lost, or sent twice, or if its check rejects a
    correct response or examines none."""
    with stub(name) as url:
        finished = loadpilot.run(EXAMPLES / f"{name}.py", url, *FLAGS, "--scenario", scenario)
        seen = counts(url)
    assert seen == TASKS[name, scenario]
    report = finished.report
    assert report["arrivals"]["started"] == RPS * SECS
    assert finished.judged in {0, 1}, finished.stderr
    if scenario == "Checked":
        assert report["checks"] == {"passed": RPS * SECS, "failed": 0}
        assert raised(finished) == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scenario"), sorted(SHOP))
def test_an_example_of_the_shop_does_all_that_it_says(
    name: str, scenario: str, loadpilot: Loadpilot
) -> None:
    """Broken if a feature of scenarios fails, or if its requests are not counted as the server
    received them."""
    with stub("shop") as url:
        finished = loadpilot.run(EXAMPLES / f"{name}.py", url, *FLAGS, "--scenario", scenario)
        seen = counts(url)
    assert finished.judged in {0, 1}, finished.stderr
    report = finished.report
    assert raised(finished) == []
    assert all(row["passed"] for row in report["verdict"]["thresholds"] if "_ms" not in row["key"])
    at_target = Counter[str]()
    for route, count in seen.items():
        at_target[route.split()[1].partition("?")[0]] += count
    assert not [route for route in seen if route.endswith(" 400")]
    logins = at_target.pop("/auth/login", 0) if scenario != "Constant" else 0
    assert logins == {"Constant": 0, "Buyer": 10, "Scripted": USERS, "Awaited": 1}[scenario]
    asides = {path: at_target.pop(path, 0) for path in HOOKS}
    once = int(scenario == "Scripted")
    goodbyes = USERS if scenario in {"Scripted", "Awaited"} else 0
    assert asides == {
        "/auth/logout": goodbyes,
        "/admin/products": once,
        "/admin/clear": once,
    }
    assert sum(at_target.values()) == report["calls"]["attempted"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scenario"), CATALOGUE)
def test_an_example_of_the_catalogue_requests_all_that_its_tasks_name(
    name: str, scenario: str, loadpilot: Loadpilot
) -> None:
    """Broken if a task of an example is never sent, is refused, or is not counted as the server
    received it."""
    flags = (*CATALOGUE[name, scenario], "--scenario", scenario)
    with stub("shop") as url:
        finished = loadpilot.run(EXAMPLES / f"{name}.py", url, *flags)
        seen = counts(url)
    assert finished.judged in {0, 1}, finished.stderr
    report = finished.report
    assert set(report["calls"]["outcomes"]) == {"ok"}
    redirects = report["generator"].get("redirects", 0)
    assert redirects == sum(n for route, n in seen.items() if route.endswith(" 302"))
    assert sum(seen.values()) == report["calls"]["attempted"] + redirects
    assert all(task["finished"] for task in report["tasks"]), seen


@pytest.mark.slow
def test_an_example_of_several_user_types_has_their_shares(loadpilot: Loadpilot) -> None:
    """Broken if the example of a mix runs only one of its scenarios, or with other shares."""
    with stub("shop") as url:
        flags = ("--duration", f"{SECS}s", "--wait", "100ms")
        finished = loadpilot.run(EXAMPLES / "mix_of_users.py", url, *flags)
        seen = counts(url)
    assert finished.judged in {0, 1}, finished.stderr
    types = {one["name"]: one for one in finished.report["types"]}
    assert {name: one["users"] for name, one in types.items()} == {"Browsing": 14, "Ordering": 6}
    assert types["Ordering"]["finished"] == seen["POST /api/orders 201"] > 0
    assert types["Browsing"]["finished"] == sum(seen.values()) - seen["POST /api/orders 201"] > 0


def test_every_example_is_run() -> None:
    """Broken if no test runs a shipped scenario against a server that checks it."""
    files = sorted(EXAMPLES.glob("*.py"))
    shipped = {(path.stem, name) for path in files for name in load(path).scenarios}
    assert {*TASKS, *SHOP, *CATALOGUE} == shipped
    assert {path.name for path in EXAMPLES.glob("*.ipynb")} == NOTEBOOKS


@pytest.mark.slow
@pytest.mark.parametrize("block", WHOLE, ids=lambda block: block.name)
def test_a_scenario_of_a_document_runs(
    block: Block, loadpilot: Loadpilot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a scenario that users copy from a document compiles, and does not work as the text
    describes."""
    monkeypatch.setenv("SHOP_KEY", "made-up")
    (loadpilot.folder / "users.csv").write_text("name\nada\ngrace\n")
    scene, flags = block.file, ("--rps", "20", "--duration", "1s")
    if "    stages=" in scene:
        flags = ("--stages", "0s:20,1s:20")
    elif "@scenario(users=" in scene:
        flags = ("--users", "5", "--duration", "1s", "--wait", "0")
    else:
        # Without a ramp: a short run with a long ramp would be refused.
        scene = scene.replace("@scenario(", '@scenario(mode="constant", ')
    with stub("shop") as url:
        finished = loadpilot.run(scene, url, *flags)
        seen = counts(url)
    assert finished.judged in {0, 1}, finished.stderr
    assert raised(finished) == []
    assert set(finished.report["calls"]["outcomes"]) == {"ok"}
    assert not [route for route in seen if route.endswith((" 400", " 404"))]


def test_the_examples_have_every_word() -> None:
    """Broken if no example shows, and so runs, a public name, or if an exception of a run is not
    documented."""
    scenarios = "\n".join(path.read_text("utf-8") for path in EXAMPLES.glob("*.py"))
    nodes = list(ast.walk(ast.parse(scenarios)))
    said = {node.id for node in nodes if isinstance(node, ast.Name)}
    said |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    said |= {node.arg for node in nodes if isinstance(node, ast.keyword) and node.arg}
    public = {name for name in vars(LoadClient) if not name.startswith("_")}
    words = {*dsl.__all__, *SETTINGS, *public, *Extras.__annotations__, "wait"}
    words |= {name for name in vars(Rand) if not name.startswith("_")}
    words |= {name for name in dsl.metrics.__all__ if name.islower()}
    words |= {"status_code", "ok", "text", "content", "headers", "elapsed_ms", "events"}
    words |= {"iter_lines", "raise_for_status"}
    # No example can refer to a past run.
    assert words - said - {"__version__"} == {"run", "replay_run"} | RAISED | RETURNED
    programs = "\n".join(text for name in NOTEBOOKS for text in cells(EXAMPLES / name))
    called = set(re.findall(r"\bloadpilot\.(\w+)\(", programs))
    assert called == {"run", "open"}
    assert set(re.findall(r"`(\w+)`", FOR_PROGRAMS.read_text("utf-8"))) >= RAISED


@pytest.mark.parametrize(
    ("name", "path", "headers", "body"),
    [
        ("triton", "/v2/models/simple/infer", {}, b"{}"),
        ("triton", "/v2/models/simple/infer", {"Inference-Header-Content-Length": "9"}, b"{}"),
        ("litserve", "/predict", {"Content-Type": "application/json"}, b'{"input": [[1]]}'),
        ("litserve", "/predict", {"Content-Type": "text/plain"}, b'{"input": [[1]]}'),
    ],
)
def test_a_stub_refuses_what_a_real_server_would(
    name: str, path: str, headers: dict[str, str], body: bytes
) -> None:
    """Broken if the stub accepts any request: the tests above could not fail."""
    with stub(name) as url:
        request = urllib.request.Request(url + path, body, headers)  # noqa: S310
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=10)  # noqa: S310
        refused.value.close()
        assert counts(url) == {f"POST {path} 400": 1}
