"""`loadpilot.run`: a run from a Python program, its result, and its processes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import BUSY_MACHINE, assert_ended
from tests.e2e.support.fleet import free_port
from tests.e2e.support.processes import descendants
from tests.e2e.support.programs import SCENARIO, Program

import loadpilot as lp

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.e2e.support.processes import Process
    from tests.oracle.oracle import Oracle

PLANNED = 40


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new working directory."""
    path = tmp_path / "work"
    path.mkdir(exist_ok=True)
    monkeypatch.chdir(path)
    return path


@pytest.fixture
def shop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> type:
    """A scenario class of a module of the program."""
    file = folder / "shop.py"
    file.write_text(SCENARIO)
    spec = spec_from_file_location("shop_of_a_program", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    found: type = module.Shop
    return found


def left_behind() -> list[Process]:
    """Processes below this one, without the target."""
    return [one for one in descendants(os.getpid()) if "loadpilot-oracle" not in one.command]


def trusted(result: lp.RunResult) -> bool:
    """Whether the machine was quiet enough for the certificate."""
    findings = result.report["certificate"]["findings"]
    return not any(f["grade"] == "INVALID" and f["kind"] in BUSY_MACHINE for f in findings)


@pytest.mark.slow
def test_a_class_runs_and_its_result_is_that_of_the_log(
    shop: type,
    oracle: Oracle,
    capfd: pytest.CaptureFixture[str],
    loadpilot: Loadpilot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Broken if the result differs from the target or the log, if the run prints, or if its log
    cannot be opened once the program has changed its working directory."""
    result = lp.run(shop, target=oracle.url, rps=PLANNED, seed=7, agents=2, tags={"from": "Python"})
    assert capfd.readouterr() == ("", "")
    seen = [one.route for one in oracle.requests()]
    assert seen == ["/browse"] * PLANNED
    assert result.report["arrivals"]["started"] == result.report["calls"]["attempted"] == PLANNED
    assert result.report["run"]["tags"] == {"from": "Python"}
    assert [(gate["key"], gate["passed"]) for gate in result.gates] == [("error_rate", True)]
    if trusted(result):
        assert (result.passed, result.exit_code, result.verdict) == (True, 0, "PASS")
        result.raise_for_gates()
    assert left_behind() == []
    again = loadpilot.call("report", result.run_id)
    assert again.stdout == result.summary()
    monkeypatch.chdir("/")
    assert result.run.report == result.report
    assert sum(result.run.series().column("started").to_pylist()) == PLANNED
    assert result.run is result.run


@pytest.mark.slow
def test_the_log_of_a_fleet_is_opened_with_the_credentials_of_the_run(
    folder: Path, fleet: Fleet, oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a run of a configured fleet is searched on this machine, or if a run over HTTP,
    whose log cannot be read, is searched anywhere. 6 s."""
    port = free_port()
    fleet.coordinator("--http", f"127.0.0.1:{port}")
    fleet.agent("a-1")
    (folder / "shop.py").write_text(SCENARIO)
    over_http = lp.run("shop.py", target=oracle.url, coordinator_url=f"http://127.0.0.1:{port}")
    (folder / "loadpilot.toml").write_text(f'nats_url = "{fleet.url}"\n')
    at_the_log = lp.run("shop.py", target=oracle.url)
    monkeypatch.delenv("NATS_TOKEN")
    monkeypatch.chdir("/")
    assert at_the_log.run.report == at_the_log.report
    with pytest.raises(ValueError, match="is in its own baseline"):
        at_the_log.run.compare("last", over_http.run_id)
    with pytest.raises(LookupError, match=f"{over_http.run_id} cannot be read over HTTP"):
        _ = over_http.run
    assert oracle.counts().received == 2 * PLANNED


def test_a_gate_that_fails_raises_only_on_request(folder: Path, oracle: Oracle) -> None:
    """Broken if a gate's failure is lost, if its message lacks figure and limit, or if a folder
    that is configured for dry runs gets no results."""
    (folder / "shop.py").write_text(SCENARIO)
    (folder / "loadpilot.toml").write_text("dry_run = true\njson = true\ndetach = true\n")
    result = lp.run(Path("shop.py"), target=oracle.url, thresholds={"p99_ms": 0.0001})
    assert not result.passed
    assert result.verdict == "FAIL"
    with pytest.raises(lp.GateFailed, match=r"✗ p99_ms +\d[\d.]* <= 0\.0001") as failed:
        result.raise_for_gates()
    assert failed.value.result is result
    assert isinstance(failed.value, AssertionError)


@pytest.mark.slow
def test_runs_of_other_threads_below_an_event_loop_add_up(shop: type, oracle: Oracle) -> None:
    """Broken if a run needs the main thread, or if two runs at a time use one log."""

    async def both() -> list[lp.RunResult]:
        runs = (asyncio.to_thread(lp.run, shop, target=oracle.url, seed=seed) for seed in (1, 2))
        return await asyncio.gather(*runs)

    first, second = asyncio.run(both())
    assert first.run_id != second.run_id
    started = [one.report["arrivals"]["started"] for one in (first, second)]
    assert started == [PLANNED, PLANNED]
    assert len(oracle.requests()) == sum(started)
    assert left_behind() == []


@pytest.mark.slow
@pytest.mark.parametrize("keywords", [{"rps": "fast", "duration": "-1s"}, {"scenario": "Nobody"}])
def test_a_refusal_has_the_messages_of_the_command(
    keywords: dict[str, str], folder: Path, loadpilot: Loadpilot
) -> None:
    """Broken if the exception says less about a mistake than the command line, or if a run
    starts."""
    (folder / "shop.py").write_text(SCENARIO)
    flags = [f"--{name}={value}" for name, value in keywords.items()]
    said = loadpilot.call("run", "shop.py", *flags).stderr
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    assert errors
    with pytest.raises(lp.RunRefused) as refused:
        lp.run("shop.py", **keywords)
    assert [f"error: {problem}" for problem in refused.value.problems] == errors
    assert not (folder / ".loadpilot").exists()


def test_a_script_without_a_guard_is_refused(folder: Path, oracle: Oracle) -> None:
    """Broken if a script without a guard, which its own run loads again, starts runs without
    end."""
    text = f"import loadpilot\n{SCENARIO}\nloadpilot.run(Shop, target={oracle.url!r})\n"
    with Program(folder, text) as program:
        ended = program.end()
    assert ended.code == 1
    assert 'call it below `if __name__ == "__main__":`' in ended.stderr
    assert oracle.counts().received == 0


INTERRUPTED = {
    "script": "run()",
    "event loop": "asyncio.run(beside())",
    "thread": "threading.Thread(target=run).start(); time.sleep(60)",
}


@pytest.mark.slow
@pytest.mark.parametrize("how", INTERRUPTED)
def test_ctrl_c_stops_a_run_at_once(how: str, folder: Path, oracle: Oracle) -> None:
    """Broken if Ctrl-C does not reach the run, loses its result, or leaves processes behind."""
    text = f"""
import asyncio, threading, time
import loadpilot
{SCENARIO}
def run() -> None:
    try:
        loadpilot.run(Shop, target={oracle.url!r}, duration="60s")
    except loadpilot.RunInterrupted as interrupted:
        result = interrupted.result
        print(result.verdict, result.exit_code, result.report["arrivals"]["started"])
        raise

async def beside() -> None:
    run()

if __name__ == "__main__":
    {INTERRUPTED[how]}
"""
    with Program(folder, text) as program:
        assert oracle.wait_count(10, 60)
        below = program.parts_below()
        program.signal(signal.SIGINT)
        ended = program.end()
    verdict, code, started = ended.stdout.split()
    # On a busy machine a run of some ms may be too late to be trusted.
    assert (verdict in {"STOPPED", "VOID"}, code) == (True, "130"), ended.stderr
    assert ended.code in {1, 130, -signal.SIGINT}
    received = len(oracle.requests())
    assert received == int(started)
    assert received < PLANNED * 10
    assert_ended(below, 5)


@pytest.mark.slow
def test_a_run_ends_with_a_program_that_is_killed(folder: Path, oracle: Oracle) -> None:
    """Broken if the stack of a killed program continues to load the target."""
    text = f"""
import loadpilot
{SCENARIO}
if __name__ == "__main__":
    loadpilot.run(Shop, target={oracle.url!r}, duration="60s")
"""
    with Program(folder, text) as program:
        assert oracle.wait_count(10, 60)
        below = program.parts_below()
        assert len(below) >= 4
        program.kill()
        assert_ended(below, 15)
    assert oracle.counts().received < PLANNED * 30
