"""Known random values in the place of every secret of a run. After runs that succeed, fail or lose
a part, they are in no store, log, file, page, output or command line.

A value that the scenario does not declare as secret must be found by the same search.
"""

from __future__ import annotations

import json
import signal
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from services.gateway.tests.gateways import API, Gateway, Gateways, gateways
from tests.e2e.fleet.canaries import Canaries, command_lines
from tests.e2e.load.test_proxies import tinyproxy
from tests.e2e.sinks.test_metric_servers import Receiver, answering
from tests.e2e.support.command import Running
from tests.e2e.support.files import files_below
from tests.e2e.support.fleet import free_port
from tests.oracle.oracle import Oracle, built_binary

from loadpilot.local.keys.key import Role, new_key
from loadpilot.local.keys.key_file import create_file

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet

__all__ = ["gateways"]

RPS = 50
SCENE = """
from loadpilot import LoadClient, VUser, env, scenario, task

OWN = env("SHOP_KEY", secret=True)


@scenario(rps=50, duration="3s", mode="constant", secret_headers=["X-Visitor"])
class Guarded(VUser):
    @task
    def get(self, client: LoadClient) -> None:
        client.get(
            "/get",
            headers={{
                "Authorization": "Bearer {bearer}",
                "X-Shop-Key": OWN,
                "X-Visitor": "{visitor}",
                "X-Plain": "{plain}",
            }},
            cookies={{"sid": "{cookie}"}},
        )

    @task
    def login(self, client: LoadClient) -> None:
        client.get("/login", auth=("ann", "{password}"))
"""
OF_SCENARIO = ("bearer", "visitor", "cookie", "password")
OF_FLEET = ("shop_key", "proxy", "sink", "coordinator", "session", "metrics")
SHORT = ("--lost-after", "4s", "--fence-after", "3s", "--owner-gone-after", "3s")
ENDINGS = (
    *("succeeds", "agent_killed", "command_killed"),
    *(pytest.param(ending, marks=pytest.mark.long) for ending in ("fails", "coordinator_killed")),
)
READ = (
    *("", "/plan", "/story", "/agents", "/series", "/heat", "/errors", "/annotations"),
    *("/page", "/file", "/live"),
)
"""All routes below a run."""


def kept(file: Path, text: str) -> str:
    """A file that only its owner may read."""
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)
    return str(file)


class Secrets:
    """The canaries of one test, and the files from which programs read them."""

    def __init__(self, folder: Path, nats: str) -> None:
        self.key, self.key_text = new_key("ci", "local", Role.ADMIN, int(time.time()), None)
        self.canaries = Canaries(
            *OF_SCENARIO, *OF_FLEET, nats=nats, key=self.key_text.rpartition("_")[2]
        )
        self.plain = Canaries("plain")
        self.folder = folder / "secrets"
        self.folder.mkdir()
        self.keys = folder / "keys.json"
        create_file(self.keys, [self.key])

    def file(self, name: str) -> str:
        """The file of a canary."""
        return kept(self.folder / name, self.canaries[name])

    def scene(self) -> str:
        """The text of the scenario."""
        named = {name: self.canaries[name] for name in OF_SCENARIO}
        return SCENE.format(**named, plain=self.plain["plain"])


def assert_arrived(oracle: Oracle, receiver: Receiver, secrets: Secrets) -> None:
    """Asserts that the target and the server of metrics received their secrets."""
    gets = [one for one in oracle.requests() if one.route == "/get"]
    canaries = secrets.canaries
    wanted = (f"Bearer {canaries['bearer']}", canaries["shop_key"], canaries["visitor"])
    names = ("authorization", "x-shop-key", "x-visitor")
    assert {tuple(one.header(name) for name in names) for one in gets} == {wanted}
    assert {one.header("cookie") for one in gets} == {f"sid={canaries['cookie']}"}
    logins = [one.header("authorization") or "" for one in oracle.requests() if one not in gets]
    assert logins
    assert all(canaries.found("password", one.encode()) for one in logins)
    sent = [one["Authorization"].encode() for one in receiver.headers]
    assert sent
    assert all(canaries.found("sink", one) for one in sent)


def pages(gateway: Gateway, secrets: Secrets, run: str) -> dict[str, bytes]:
    """Every response of the gateway about a run that is over."""
    shown = {"Authorization": f"Bearer {secrets.key_text}"}
    paths = [f"{API}/runs/{run}{path}" for path in READ]
    paths += [f"{API}/{path}" for path in ("runs", "scenarios", "me", "keys")]
    found = {}
    for path in [*paths, "/metrics", f"{API}/openapi.json"]:
        answer = gateway.ask("GET", path, headers=shown)
        assert answer.status == 200, (path, answer.body)
        found[f"gateway {path}"] = answer.body
    wrong = {"Authorization": f"Bearer {secrets.key_text[:-1]}"}
    found["gateway refusal"] = gateway.ask("GET", f"{API}/runs", headers=wrong).body
    return found


def documents(loadpilot: Loadpilot, fleet: Fleet, run: str) -> dict[str, str]:
    """The output of all commands about a run that is over; their files are in its folder."""
    at = ("--nats-url", fleet.url)
    commands = (
        *(("report", run, "-v"), ("report", run, "--json"), ("report", run, "--html", "run.html")),
        *(("dump", run), ("dump", run, "--format", "openmetrics"), ("verify", run)),
        *(("export", run, "run.lprun"), ("runs",), ("watch", run)),
    )
    found = {}
    for words in commands:
        finished = loadpilot.call(*words, *at)
        assert finished.code in {0, 1, 3}, (words, finished.stderr)
        found[" ".join(words)] = finished.stdout + finished.stderr
    return found


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
def test_secrets_are_nowhere_after_a_run(
    ending: str,
    fleet: Fleet,
    gateways: Gateways,
    loadpilot: Loadpilot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Broken if a secret stays in a store, log, file, page, output or command line.

    Costs 12 s each.
    """
    secrets = Secrets(tmp_path, fleet.token)
    canaries = secrets.canaries
    http = f"127.0.0.1:{free_port()}"
    coordinator = fleet.coordinator(
        *SHORT, "--http", http, "--http-token-file", secrets.file("coordinator"), "--export-runs"
    )
    state = ("--state-dir", str(tmp_path / "state"), "--fence", "3s", "--allow-proxy")
    agent = fleet.agent("a-1", *state)
    gateway = gateways.start(
        KEYS_FILE=str(secrets.keys),
        SESSION_SECRET_FILE=secrets.file("session"),
        METRICS_TOKEN_FILE=secrets.file("metrics"),
    )
    monkeypatch.setenv("SHOP_KEY", canaries["shop_key"])
    monkeypatch.setenv("PROXY_LOGIN", f"loader:{canaries['proxy']}")
    flags = (
        *("--external-agents", "1", "--debug-requests", "2", "--proxy-credentials-env"),
        *("PROXY_LOGIN", "--junit", "junit.xml", "--markdown", "run.md", "--report", "page.html"),
        *("--samples", "samples.csv", "--threshold", "error_rate=1"),
    )
    with ExitStack() as stack:
        log = tmp_path / "oracle.jsonl"
        oracle = stack.enter_context(Oracle(built_binary(), log, log_headers=True))
        login = f"BasicAuth loader {canaries['proxy']}"
        proxy, proxy_log = stack.enter_context(tinyproxy(secrets.folder, login))
        receiver = stack.enter_context(Receiver(answering(200)))
        kind = "otlp" if ending == "fails" else "prometheus"
        out = f"{kind}=http://ann:{canaries['sink']}@{receiver.address}"
        monkeypatch.setenv("LOADPILOT_OUT", out)
        if ending == "fails":
            oracle.status(503, fraction=0.5)
        target = oracle.url
        running = stack.enter_context(
            fleet.start(loadpilot, secrets.scene(), target, "--proxy", proxy, *flags)
        )
        run = running.run_id()
        assert oracle.wait_count(RPS, 30)
        commands = command_lines()
        during = canaries.stored("bearer", files_below(fleet.folder / "store"))
        lose(ending, fleet, {"agent": agent, "coordinator": coordinator, "command": running}, state)
        if ending == "command_killed":
            coordinator.until("RunSealed")
        else:
            finished = running.end()
            assert finished.code in ({1} if ending == "fails" else {0, 1, 3}), finished.stderr
        assert_arrived(oracle, receiver, secrets)
        assert "Connect" in proxy_log.read_text(encoding="utf-8")
    texts: dict[str, str | bytes] = {"command lines": commands}
    texts |= documents(loadpilot, fleet, run)
    texts |= pages(gateway, secrets, run)
    texts |= {f"{one.argv[:2]} {one.pid}": one.output for one in Running.started}
    by_design = (secrets.folder, loadpilot.folder / "scene_1.py", log, fleet.folder / "nats.conf")
    files = [
        file
        for file in files_below(tmp_path)
        if not any(file == one or one in file.parents for one in by_design)
    ]
    # The search finds a stored value in the log, in an archive and in responses.
    assert during, "the store lacks the secrets of a run that goes on"
    for place in (fleet.folder / "store", loadpilot.folder / "run.lprun"):
        found = [place] if place.is_file() else files_below(place)
        assert secrets.plain.stored("plain", found), place
    assert secrets.plain.found(
        "plain", json.dumps(str(texts[f"gateway {API}/runs/{run}/plan"])).encode()
    )
    assert "--proxy" in commands
    canaries.assert_nowhere(files, texts)


def lose(ending: str, fleet: Fleet, parts: dict[str, Running], state: tuple[str, ...]) -> None:
    """Kill a part of the fleet, and start its replacement."""
    lost = ending.partition("_killed")[0]
    if lost not in parts:
        return
    if lost == "coordinator":
        fleet.coordinator(*SHORT)
    parts[lost].signal(signal.SIGKILL)
    if lost == "agent":
        fleet.agent("a-1", *state)
