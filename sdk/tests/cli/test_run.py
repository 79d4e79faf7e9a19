"""`loadpilot run` from flags to exit code, over a log and a stack that are stand-ins."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sdk.tests.support.reports import changed, parsed
from sdk.tests.support.run_command import CODES, FAULTS, RUN, SNAPSHOT, press

from loadpilot import _native
from loadpilot.cli import main
from loadpilot.cli.output.summary import summary
from loadpilot.local.stack import Event, EventKind

if TYPE_CHECKING:
    from sdk.tests.support.run_command import Scene

CUT = "(not 2 s: as long as the duration)"


def test_a_good_run_prints_the_summary_and_nothing_else(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if standard output contains anything that `loadpilot report` would not print."""
    assert (
        scene.run("--seed", "7", "-a", "2", "-t", "http://h:1", "--results-json", "a/r.json") == 0
    )
    written = capsys.readouterr()
    assert written.out == summary(parsed())
    for part in (
        "LoadPilot  Shop → http://h:1\n",
        "  load       100 arrivals/s at the peak, ramp, 2 s up from 0\n",
        "  duration   10 s\n",
        "  on         2 agents\n",
        f"run {RUN}",
        "log-1",
        "results a/r.json",
    ):
        assert part in written.err
    assert "· created" in written.err
    rates = "98.5 of 100 arrivals/s planned, 99.8 requests/s"
    assert f"00:05/00:10 steady   {rates}  total 440  errors 0.91 %  live p50" in written.err
    assert Path("a/r.json").read_text(encoding="utf-8") == scene.log.report_json + "\n"
    assert scene.stack.stopped
    assert scene.stack.agents == 2
    (request,) = scene.log.submitted
    assert request["seed"] == 7
    assert request["agents"] == {"want": 2, "min": 2, "wait_us": 30_000_000}
    assert request["owner"].startswith("cli-")
    assert request["plan"]["target"] == "http://h:1"


def test_the_opening_says_what_where_how_much_how_long_and_on_how_many_agents(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if the opening lacks one of these lines, or contains the details of -v."""
    assert scene.run("--target", "http://h:1", "--duration", "1s", "--ramp-up", "1s") == 0
    opening = capsys.readouterr().err.splitlines()
    assert opening[:6] == [
        "LoadPilot  Shop → http://h:1",
        "  load       100 arrivals/s at the peak, ramp, 1 s up from 0",
        "  duration   2 s",
        "  on         1 agent",
        "  execution  static: every task is compiled, no Python runs under load",
        f"run {RUN}, log .loadpilot/log-1",
    ]


def test_the_opening_says_that_tensors_are_sent_as_json(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if no note says that the target parses numbers in place of tensors."""
    path = Path("scene.py")
    body = '{"inputs": [{"name": "X", "datatype": "FP32", "data": [0.5] * 1001}]}'
    sends = f'client.post("/v2/models/m/infer", json={body})'
    path.write_text(re.sub(r"client\.\w+\(.*\)", sends, path.read_text("utf-8")), "utf-8")
    assert scene.run() == 0
    opening = capsys.readouterr().err.splitlines()
    (line,) = [line for line in opening if line.startswith("note: task")]
    assert "1,001 numbers as 4,0" in line
    assert "triton_binary()" in line


def test_the_opening_names_a_development_build(
    scene: Scene, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if figures of a debug build look like those of a release."""
    monkeypatch.setattr(_native, "DEVELOPMENT_BUILD", True)
    assert scene.run("-a", "2") == 0
    assert "  on         2 agents, development build\n" in capsys.readouterr().err


def test_v_says_everything(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    """Broken if the output never shows a shortened ramp, the seed or the way of execution."""
    assert scene.run("--duration", "1s", "-v", "--seed", "7") == 0
    opening = capsys.readouterr().err.splitlines()
    assert opening[:14] == [
        "LoadPilot  Shop → http://localhost:8000 (the default target)",
        f"  load       100 arrivals/s at the peak, ramp, 1 s up from 0 {CUT}",
        "  duration   2 s",
        "  on         1 agent",
        "  settings   --duration 1s               command line",
        "             --seed 7                    command line",
        "             --verbose                   command line",
        "             rps=100                     scene.py:3",
        "             ramp_up='2s'                scene.py:3",
        "             thresholds={'p99_ms': 250}  scene.py:3",
        "  execution  static: every task is compiled, no Python runs under load;",
        "             redirects and retries are off",
        "  seed       7",
        f"run {RUN}, log .loadpilot/log-1",
    ]


def test_the_opening_of_a_run_that_follows_redirects_does_not_deny_them(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if -v says that redirects are off while calls follow them."""
    assert scene.run("--duration", "1s", "-v", "--redirects", "3") == 0
    opening = capsys.readouterr().err
    assert "at most 3 redirects followed in a call" in opening
    assert "             retries are off\n" in opening
    assert "redirects and retries are off" not in opening


def test_secrets_go_to_the_log_only_by_hand_over(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a credential is in the request, the output or the results."""
    assert scene.run("--results-json", "r.json") == 0
    written = capsys.readouterr()
    everything = written.out + written.err + json.dumps(scene.log.submitted)
    assert "hunter2" not in everything + Path("r.json").read_text(encoding="utf-8")
    assert scene.log.secrets == [{"authorization-1": "hunter2"}]


def test_a_dry_run_prints_the_plan_and_starts_nothing(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if --dry-run sends load, or prints something that is no plan."""
    assert scene.run("--dry-run", "--rps", "50", "--seed", "1") == 0
    written = capsys.readouterr()
    plan = json.loads(written.out)
    assert plan["scenario"] == "Shop"
    assert plan["profile"]["pieces"][1]["to"] == 50_000_000
    assert "450 arrivals in 10 s, peak 50 arrivals/s" in written.err
    assert "authorization-1" in written.err
    assert "hunter2" not in written.out + written.err
    assert scene.run("--dry-run", "--json", "--rps", "50", "--seed", "1") == 0
    assert json.loads(capsys.readouterr().out) == {"plan": plan, "bodies": {}}
    assert scene.stack.agents == 0


def test_a_closed_loop_is_announced_as_one(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if the output lets a closed loop look like a rate, before it starts or while it
    runs."""
    assert scene.run("--dry-run", "--max", "--seed", "1") == 0
    written = capsys.readouterr()
    assert json.loads(written.out)["users"] == 64
    assert "closed loop, 64 users for " in written.err
    assert scene.run("--users", "12") == 0
    written = capsys.readouterr()
    assert "load       closed loop, 12 users; not used: rps" in written.err
    assert "98.5 arrivals/s, 99.8 requests/s, closed loop, 12 users  total 440" in written.err
    assert " at the peak" not in written.err


def test_mistakes_are_named_together_and_start_nothing(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a wrong flag hides a wrong file, or if a stack is started for nothing."""
    flags = ("--agents", "0", "--seed", "x", "-t", "ftp://h", "--rps", "-5", "--threshold", "a=1")
    assert scene.run(*flags) == 2
    written = capsys.readouterr()
    assert written.out == ""
    for part in ("--agents: ", "--seed: ", "--target: ", "--rps: ", "--threshold: "):
        assert f"error: {part}" in written.err
    assert "5 errors; nothing was started" in written.err
    assert scene.stack.agents == 0


USAGE = {
    (): "no scenario file was named",
    ("none.py",): "none.py: no such file",
    (".",): "is a directory",
    ("scene.py", "--scenario", "X"): "defines no scenario 'X'; it defines Shop",
    ("scene.py", "--nope"): "Unknown option: --nope",
    ("scene.py", "--vus", "5"): "Unknown option: --vus; did you mean --users?",
    ("scene.py", "--iterations=9"): "Unknown option: --iterations; a run ends by --duration",
    ("scene.py", "--rps"): "requires an argument",
    ("scene.py", "more.py"): "more.py",
    ("scene.py", "--results-json", "."): "must be a file, and . is a directory",
    ("scene.py", "--results-json", "scene.py/r.json"): "is not a directory",
    ("scene.py", "--json"): "--json: is for --dry-run; a run has --output json",
    ("scene.py", "--junit", "."): "--junit: must be a file, and . is a directory",
    ("scene.py", "--markdown", "scene.py/r.md"): "--markdown: scene.py is not a directory",
    ("scene.py", "--junit", "a", "--markdown", "./a"): "must be another file than that of --junit",
    ("scene.py", "--samples", "a", "--results-json", "a"): "--samples: must be another file than",
    ("scene.py", "--tag", "a=\udcff"): "--tag: must be text in UTF-8",
    ("scene.py", "--id-header", "\udcff"): "--id-header: must be text in UTF-8",
    ("scene.py", "--nats-url", "nats://a\udcff@h"): "--nats-url: must be text in UTF-8",
    ("scene.py", "--output", "xml"): "--output: must be one of text, json, csv, ndjson (got 'xml')",
    ("scene.py", "--quiet", "-v"): "--quiet: cannot be used with --verbose",
    ("scene.py", "--warm-up", "10s"): "--warm-up",
    ("scene.py", "--id-header", "a b"): "--id-header",
    ("scene.py", "--id-header", "Content-Length"): "--id-header",
    ("scene.py", "--rps", "99999999"): "--rps",
    ("scene.py", "--duration", "9999h"): "--duration",
    ("scene.py", "--users", "0"): "--users: must be a whole number from 1 to 1000000 (got '0')",
    ("scene.py", "--users", "2", "-a", "3"): "--agents: must be at most the users",
    ("scene.py", "--max", "--rps", "5"): "--rps: cannot be used with --max",
}


@pytest.mark.parametrize("flags", USAGE)
def test_wrong_usage_exits_with_two(
    flags: tuple[str, ...], scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if CI cannot tell a typo from a failed gate."""
    assert main(["run", *flags]) == 2
    assert USAGE[flags] in capsys.readouterr().err
    assert scene.stack.agents == 0


@pytest.mark.parametrize("stream", [0, 1, 2])
@pytest.mark.usefixtures("scene")
def test_a_closed_stream_is_no_error_of_ours(stream: int) -> None:
    """Broken if a service without standard streams cannot run, or if one stream goes into
    another."""
    for words, code in ((["scene.py", "--dry-run"], 0), ([], 2)):
        ended = subprocess.run(
            [sys.executable, "-m", "loadpilot", "run", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            preexec_fn=lambda: os.close(stream),
            env=os.environ | {"TERM": "xterm"},
            text=True,
            check=False,
        )
        assert ended.returncode == code, ended.stderr
        assert "internal error" not in ended.stderr
        assert ("Shop" in ended.stdout) == (code == 0 and stream != 1)
        assert "arrivals in 10 s" not in ended.stdout
        assert (ended.stderr == "") == (stream == 2)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "term"]
)
def test_one_signal_stops_the_run_and_still_summarises(
    number: signal.Signals, code: int, scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if Ctrl-C loses the run's results, or looks like a pass."""
    scene.log.changes = [press(number), {"snapshot": SNAPSHOT}, {"sealed": True}]
    before = signal.getsignal(signal.SIGINT)
    assert scene.run("--results-json", "r.json") == code
    assert scene.log.commands == ["stop by the command line (Ctrl-C)", "close"]
    assert capsys.readouterr().out == summary(parsed())
    assert Path("r.json").exists()
    assert scene.stack.stopped
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_signal_aborts(scene: Scene) -> None:
    """Broken if a second Ctrl-C does not end the command: an impatient user would have to kill
    it."""
    scene.log.changes = [press(signal.SIGINT), press(signal.SIGINT), {"sealed": True}]
    assert scene.run() == 130
    assert scene.log.commands == ["stop by the command line (Ctrl-C)", "halt", "close"]


def test_an_aborted_run_that_is_not_sealed_in_time_is_reported_as_it_stands(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if an abort waits for ever for agents that are gone."""
    monkeypatch.setattr("loadpilot.control.follow.ABORT_SECS", 0)
    scene.log.changes = [press(signal.SIGINT, signal.SIGINT)]
    scene.log.report_json = json.dumps(changed(run__state="stopping", run__ending=None))
    assert scene.run() == 130
    assert "INCOMPLETE" in capsys.readouterr().out


def test_a_third_signal_leaves_at_once(scene: Scene) -> None:
    """Broken if nothing but kill -9 gets a user out."""
    scene.log.changes = [press(signal.SIGTERM, signal.SIGINT, signal.SIGINT)]
    assert scene.run() == 143
    assert scene.stack.stopped


@pytest.mark.parametrize("message", FAULTS)
def test_a_failed_stack_or_log_exits_with_four(
    message: str, scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a fault of our own looks like a verdict about the target."""
    FAULTS[message](scene)
    assert scene.run() == 4
    assert message in capsys.readouterr().err


def test_restarts_are_shown_and_the_run_goes_on(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a restarted coordinator ends a run, or is not mentioned."""
    scene.stack.events.append(
        Event(EventKind.RESTARTED, {"child": "coordinator", "because": "killed"})
    )
    assert scene.run() == 0
    assert "restarted coordinator: killed" in capsys.readouterr().err


@pytest.mark.parametrize("code", CODES)
def test_the_report_decides_the_code(code: int, scene: Scene) -> None:
    """Broken if the table of exit codes differs from those that the command uses."""
    scene.log.report_json = json.dumps(changed(**CODES[code]))
    assert scene.run() == code


def test_strict_is_obeyed(scene: Scene) -> None:
    """Broken if --strict lets a degraded run pass."""
    scene.log.report_json = json.dumps(changed(certificate__grade="DEGRADED"))
    assert scene.run() == 0
    scene.log.changes = [{"sealed": True}]
    assert scene.run("--strict") == 3


def test_results_that_cannot_be_written_are_a_fault(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a pipeline passes without the file that it requested."""

    def occupy() -> None:
        Path("later").write_text("a file", encoding="utf-8")

    scene.log.changes.insert(0, occupy)
    assert scene.run("--results-json", "later/r.json") == 4
    assert "could not be written" in capsys.readouterr().err


def test_environment_and_env_file_name_the_target(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if the documented order of sources differs from the one that the command uses."""
    Path(".env").write_text("LOADPILOT_TARGET='http://file:1'\n", encoding="utf-8")
    assert scene.run() == 0
    monkeypatch.setenv("LOADPILOT_TARGET", "http://env:1")
    scene.log.changes = [{"sealed": True}]
    assert scene.run() == 0
    targets = [request["plan"]["target"] for request in scene.log.submitted]
    assert targets == ["http://file:1", "http://env:1"]
