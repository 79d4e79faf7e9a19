"""Runs on a fleet: its agents stay, were started elsewhere, and differ."""

from __future__ import annotations

import csv
import re
import shlex
import signal
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import SCENARIOS, Loadpilot
from tests.e2e.support.fleet import PLAIN_AGENT, Fleet, free_port
from tests.e2e.support.short_run import (
    PLANNED,
    SCRIPTED,
    SHORT,
    assert_whole,
    holders,
    routes,
)
from tests.e2e.support.stops import STOP_US, assert_report_of_a_stop, interrupt

if TYPE_CHECKING:
    from tests.oracle.oracle import Oracle

WEIGHTED = SCENARIOS / "weighted.py"
COMPILED = SCENARIOS / "compiled.py"
HOWTO = Path(__file__).parents[3] / "docs" / "howto" / "fleet" / "run-a-fleet.md"


@pytest.mark.slow
def test_one_run_after_another_and_two_at_once(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if agents end with a run, serve only one run at a time, or mix two up, or if the
    command starts processes of its own."""
    fleet.coordinator()
    for name in ("a-1", "a-2"):
        fleet.agent(name)
    first = fleet.run(loadpilot, WEIGHTED, oracle.url, *SHORT, "--external-agents", "2")
    assert_whole(first, PLANNED)
    assert holders(first) == {"a-1", "a-2"}
    assert f"2 agents of the fleet at {fleet.url}" in first.stderr
    assert oracle.counts().received == PLANNED

    flags = (*SHORT, "--external-agents", "2")
    with (
        fleet.start(loadpilot, WEIGHTED, oracle.url, *flags) as one,
        fleet.start(loadpilot, WEIGHTED, oracle.url, *flags, "--seed", "7") as other,
    ):
        ended = [one.end(), other.end()]
    for finished in ended:
        assert_whole(finished, PLANNED)
    assert oracle.counts().received == 3 * PLANNED
    assert not loadpilot.log.exists(), "a stack of its own was started"

    listed = loadpilot.call("runs", "--nats-url", fleet.url)
    assert [line.split()[0] for line in listed.stdout.splitlines()[1:]] == sorted(
        one.run for one in (first, *ended)
    )
    again = loadpilot.call("report", first.run, "-v", "--nats-url", fleet.url)
    assert again.stdout == first.stdout
    output = "".join(one.stdout + one.stderr for one in (first, *ended, listed, again))
    assert fleet.token not in output


@pytest.mark.slow
def test_a_command_says_that_nats_is_away_and_back(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a command waits without a message for a server that is away. 10 s."""
    fleet.coordinator()
    fleet.agent("a-1")
    flags = ("--rps", "20", "--duration", "60s", "--external-agents", "1")
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *flags) as running:
        assert oracle.wait_count(20, 30.0)
        fleet.server.kill()
        fleet.server.end()
        running.until("no connection to NATS for 5 s (last attempt: IO error: Connection refused")
        fleet.start_server()
        running.until("connected to NATS again after ")
        running.signal(signal.SIGINT)
        finished = running.end()
    assert finished.code == 130, finished.stderr
    assert finished.stderr.count("connection to NATS") == 1
    assert finished.report["run"]["ending"] == "stopped"


@pytest.mark.slow
def test_compiled_code_runs_on_agents_without_python(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a compiled scenario needs an interpreter, or if the command prepares its users."""
    fleet.coordinator("--compiled-only")
    fleet.agent("plain-1", program=PLAIN_AGENT)
    fleet.agent("plain-2", program=PLAIN_AGENT)
    finished = fleet.run(loadpilot, COMPILED, oracle.url, "--external-agents", "2")
    assert finished.judged == 0, finished.stderr
    seen = routes(oracle)
    assert (seen["POST /login"], seen["GET /list"]) == (6, 300)
    assert holders(finished) == {"plain-1", "plain-2"}
    assert "on this side" not in finished.stderr

    refused = fleet.run(loadpilot, SCRIPTED, oracle.url)
    assert refused.code == 2
    assert "this fleet takes compiled plans only; `loadpilot explain`" in refused.stdout
    assert routes(oracle)["GET /t"] == 0


@pytest.mark.slow
def test_python_goes_to_agents_that_have_it(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if an agent without Python gets a share of a Python scenario, or if users log in on
    the agents."""
    fleet.coordinator()
    fleet.agent("plain", program=PLAIN_AGENT)
    fleet.agent("shy", "--no-python")
    fleet.agent("able-1")
    fleet.agent("able-2")
    finished = fleet.run(loadpilot, SCRIPTED, oracle.url, "--external-agents", "2")
    assert_whole(finished, PLANNED)
    assert holders(finished) == {"able-1", "able-2"}
    assert "needs python" in finished.stderr
    assert "preparing  4 users on this side" in finished.stderr
    seen = routes(oracle)
    assert seen == {"POST /login": 4, "GET /t": PLANNED, "DELETE /login": 4, "POST /tidy": 1}

    flags = ("--external-agents", "3", "--wait-agents", "2s")
    refused = fleet.run(loadpilot, SCRIPTED, oracle.url, *flags)
    assert refused.code == 4
    assert "needs python: 2 of 4 agents have it" in refused.stdout
    assert routes(oracle)["GET /t"] == PLANNED
    enough = fleet.run(loadpilot, SCRIPTED, oracle.url, *flags, "--min-agents", "2")
    assert_whole(enough, PLANNED)
    assert holders(enough) == {"able-1", "able-2"}


@pytest.mark.slow
def test_a_run_asks_for_labels(fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a run gets agents without the labels that it requires."""
    fleet.coordinator()
    fleet.agent("us", "--label", "zone=us")
    fleet.agent("eu", "--label", "zone=eu", "--label", "size=xl")
    finished = fleet.run(loadpilot, WEIGHTED, oracle.url, *SHORT, "--need", "zone=eu")
    assert_whole(finished, PLANNED)
    assert holders(finished) == {"eu"}
    flags = (*SHORT, "--need", "zone=asia", "--wait-agents", "1s")
    refused = fleet.run(loadpilot, WEIGHTED, oracle.url, *flags)
    assert refused.code == 4
    assert "needs zone=asia: 0 of 2 agents have it" in refused.stdout


@pytest.mark.slow
def test_an_agent_that_joins_late_is_waited_for(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a run starts without the agents that it requested, or does not say what it waits
    for."""
    fleet.coordinator()
    fleet.agent("a-1")
    flags = (*SHORT, "--external-agents", "2")
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *flags) as running:
        running.until("waiting for agents: 1 of 2 ready")
        assert oracle.counts().received == 0
        fleet.agent("a-2")
        finished = running.end()
    assert_whole(finished, PLANNED)
    assert holders(finished) == {"a-1", "a-2"}


@pytest.mark.slow
@pytest.mark.timed
def test_an_interruption_stops_the_run_and_not_the_fleet(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if Ctrl-C leaves the load running, or ends the agents."""
    fleet.coordinator()
    agents = [fleet.agent(name) for name in ("a-1", "a-2")]
    flags = ("--rps", "100", "--duration", "60s", "--external-agents", "2")
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *flags) as running:
        assert oracle.wait_count(100, 30)
        at_us, below = interrupt(running, signal.SIGINT)
        finished = running.end(20)
    assert below == [], "the command of a fleet's run has child processes"
    last_us = oracle.counts().last_us
    assert last_us is not None
    assert last_us - at_us < STOP_US
    assert finished.code == 130
    assert_report_of_a_stop(finished, oracle)

    with fleet.start(loadpilot, WEIGHTED, oracle.url, "--external-agents", "3") as running:
        running.until("waiting for agents: 2 of 3 ready")
        running.signal(signal.SIGINT)
        assert running.end(20).code == 130
    before = oracle.counts().received
    assert_whole(fleet.run(loadpilot, WEIGHTED, oracle.url, *SHORT), PLANNED)
    assert oracle.counts().received == before + PLANNED
    for agent in agents:
        agent.signal(signal.SIGTERM)
        assert agent.end(20).code == 0


@pytest.mark.slow
def test_a_run_whose_command_was_killed_stops_by_itself(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if load goes on after its command was killed, as when a laptop is closed."""
    coordinator = fleet.coordinator()
    fleet.agent("a-1")
    with fleet.start(loadpilot, WEIGHTED, oracle.url, "--rps", "50", "--duration", "60s") as run:
        assert oracle.wait_count(50, 30)
        run.kill()
        coordinator.until("RunSealed")
    before = oracle.counts().received
    assert before < 25 * 50, "load went on for more than ten seconds and the time to notice"
    listed = loadpilot.call("runs", "--nats-url", fleet.url)
    assert " abandoned " in listed.stdout
    assert_whole(fleet.run(loadpilot, WEIGHTED, oracle.url, *SHORT), PLANNED)
    assert oracle.counts().received == before + PLANNED


@pytest.mark.slow
def test_what_is_missing_is_named_and_nothing_starts(
    fleet: Fleet,
    loadpilot: Loadpilot,
    oracle: Oracle,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Broken if a command without a fleet waits, or does not say what is missing."""

    def failure(url: str, *flags: str) -> str:
        finished = loadpilot.run(WEIGHTED, oracle.url, *SHORT, "--nats-url", url, *flags)
        assert finished.code == 4, finished.stderr
        return finished.stderr.splitlines()[-1] + finished.stdout

    dead = f"nats://127.0.0.1:{free_port()}"
    assert f"cannot connect to NATS at {dead}" in failure(dead)
    advice = f"no coordinator listens at {fleet.url} for the tenant local; start one: loadpilot"
    assert advice in failure(fleet.url)
    fleet.coordinator()
    assert "for the tenant other; start one" in failure(fleet.url, "--tenant", "other")
    short = ("--wait-agents", "1s")
    assert "at least 1 must offer capacity within 1 s, and none is there" in failure(
        fleet.url, *short
    )
    wrong = failure(fleet.url, "--nats-token", "wr0ng")
    assert f"NATS at {fleet.url} does not accept this token" in wrong
    assert "wr0ng" not in wrong
    for part in ("agent", "coordinator"):
        ended = loadpilot.call(part, "--nats-url", fleet.url, "--nats-token", "wr0ng")
        assert ended.code == 4
        assert f"NATS at {fleet.url} refused the credentials" in ended.stderr
        assert "wr0ng" not in ended.stderr
    monkeypatch.delenv("NATS_TOKEN")
    assert "give its token in env NATS_TOKEN, or --creds FILE" in failure(fleet.url)
    (tmp_path / "bare").mkdir()
    with Fleet(tmp_path / "bare", monkeypatch, jetstream=False) as bare:
        assert "JetStream is not available" in failure(bare.url)
    assert oracle.counts().received == 0


@pytest.mark.slow
def test_the_howto_does_what_it_says(fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if the commands of the how-to do not work as described."""
    commands = [
        shlex.split(line)
        for block in HOWTO.read_text(encoding="utf-8").split("```")[1::2]
        for line in block.splitlines()
        if line.startswith("loadpilot ")
    ]
    place = f"127.0.0.1:{free_port()}"
    here = {
        "nats://127.0.0.1:4222": fleet.url,
        "http://127.0.0.1:8000": oracle.url,
        "127.0.0.1:8080": place,
        "http://127.0.0.1:8080": f"http://{place}",
    }
    commands = [[here.get(word, word) for word in words[1:]] for words in commands]
    (loadpilot.folder / "hello.py").write_text(
        WEIGHTED.read_text(encoding="utf-8"), encoding="utf-8"
    )
    done = Counter[str]()
    for name, *words in commands:
        done[name] += 1
        match name:
            case "coordinator" if "--compiled-only" not in words:
                fleet.coordinator(*words[2:])
            case "agent":
                assert words[2] == "--id"
                fleet.agent(words[3], *words[4:])
            case "run" if "--listen" in words:
                pass  # test_listen.py executes the printed command
            case "run" if "--dry-run" in words:
                assert loadpilot.call(name, *words[: words.index(">")]).stdout.startswith("{")
            case "run" | "runs" | "report":
                ended = loadpilot.call(name, *words, *(SHORT if name == "run" else ()))
                assert ended.code in {0, 3}, ended.stderr
            case "dump":
                table = loadpilot.call(name, *words[: words.index("|")]).stdout
                rows = list(csv.DictReader(table.splitlines()))
                assert {row["agent"] for row in rows} == {"agent-1", "agent-2"}
                assert sum(int(row["started"]) for row in rows) == PLANNED
    assert done == {"coordinator": 3, "agent": 2, "run": 4, "runs": 1, "report": 1, "dump": 1}
    assert oracle.counts().received == 2 * PLANNED


@pytest.mark.slow
def test_an_agent_of_another_fleet_finds_its_words(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if scripts that start agents by `--coordinator HOST:PORT` must be rewritten."""
    fleet.coordinator()
    place = f"127.0.0.1:{fleet.port}"
    fleet.member("agent", "--coordinator", place, "--agent-id", "by-flag")
    with monkeypatch.context() as environ:
        environ.setenv("COORDINATOR", place)
        environ.setenv("AGENT_ID", "by-env")
        fleet.member("agent")
    finished = fleet.run(loadpilot, WEIGHTED, oracle.url, *SHORT, "--external-agents", "2")
    assert_whole(finished, PLANNED)
    assert holders(finished) == {"by-env", "by-flag"}
    for pid in fleet.pids:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
        assert fleet.token.encode() not in line


def test_an_agent_has_room_for_all_its_files_before_there_is_load(fleet: Fleet) -> None:
    """Broken if a firing thread waits for the kernel whenever connections exceed the table of file
    descriptors."""
    fleet.coordinator()
    agent = fleet.agent("roomy", "--max-in-flight", "3000")
    status = Path(f"/proc/{agent.pid}/status").read_text(encoding="utf-8")
    (places,) = re.findall(r"^FDSize:\s+(\d+)$", status, re.MULTILINE)
    assert int(places) >= 3000
