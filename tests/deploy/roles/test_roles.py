"""What each role may do at NATS, on a real server with the shipped configuration."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

import nats
import pytest
from tests.deploy.local_processes import PROGRAMS, keys, name_server, server_conf
from tests.e2e.support.command import COMMAND, Loadpilot, Running
from tests.e2e.support.dropped_arrivals import all_but_late
from tests.e2e.support.fleet import NEAR, free_port, wait_until_handled
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "hunter-2-of-the-roles"  # noqa: S105  (made up)
SCENE = """
from loadpilot import LoadClient, VUser, env, scenario, task

KEY = env("ROLES_KEY", secret=True)


@scenario(rps=20, duration="2s", mode="constant")
class Guarded(VUser):
    @task
    def get(self, client: LoadClient) -> None:
        client.get("/get", headers={"X-Api-Key": KEY})
"""
RUN = "lp.local.run.01forged"
INFO = "$JS.API.STREAM.INFO.LP_CTL"
EVERYTHING = ("agent", "submitter", "gateway", "watcher")
FORBIDDEN = {
    # published subject: roles that must not publish to it
    f"{RUN}.ctl": EVERYTHING,
    "lp.local.live.01forged": EVERYTHING,
    f"{RUN}.req": ("agent", "watcher"),
    f"{RUN}.evt.a-1": ("submitter", "gateway", "watcher", "coordinator"),
    f"{RUN}.delta.a-1": ("submitter", "gateway", "watcher", "coordinator"),
    "lp.local.halt.01forged": ("agent", "watcher"),
    "lp.local.secret.01forged.a-1": ("submitter", "gateway", "watcher", "coordinator"),
    "$KV.LP.local.secret.01forged": ("agent", "watcher"),
    "$O.LP.M.forged": ("agent", "watcher"),
    "$JS.API.STREAM.MSG.GET.KV_LP": ("agent", "watcher"),
    "$JS.API.DIRECT.GET.KV_LP": (*EVERYTHING, "coordinator"),
    "$JS.API.CONSUMER.CREATE.KV_LP.x": (*EVERYTHING, "coordinator"),
    "$JS.API.STREAM.MSG.GET.LP_DATA": ("agent",),
    "$JS.API.STREAM.CREATE.LP_CTL": EVERYTHING,
    "$JS.API.STREAM.DELETE.LP_CTL": (*EVERYTHING, "coordinator"),
    "$JS.API.STREAM.PURGE.LP_DATA": (*EVERYTHING, "coordinator"),
    "$JS.API.STREAM.UPDATE.KV_LP": (*EVERYTHING, "coordinator"),
    "$JS.API.STREAM.MSG.DELETE.LP_CTL": (*EVERYTHING, "coordinator"),
    "_INBOX.submitter.x": EVERYTHING,
}
UNSUBSCRIBABLE = {
    # subscribed subject: roles that must not subscribe to it
    ">": (*EVERYTHING, "coordinator"),
    "_INBOX.>": (*EVERYTHING, "coordinator"),
    "_INBOX.agent.*": ("submitter", "gateway", "watcher", "coordinator"),
    "lp.local.secret.*.*": EVERYTHING,
    "$KV.LP.>": (*EVERYTHING, "coordinator"),
    f"{RUN}.delta.*": ("agent", "submitter"),
}


class Roles:
    """A server, a coordinator and two agents, each with the keys of its role."""

    def __init__(self, folder: Path) -> None:
        self.keys = keys(folder / "keys")
        port = free_port()
        self.nats_url = name_server(self.keys, port)
        self._conf = server_conf(folder / "nats", self.keys, port)
        self._folder = folder
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._start("Server is ready", PROGRAMS["nats-server"], "--config", self._conf)
        self._member("deciding from now on", "coordinator")
        for name in ("a-1", "a-2"):
            self._member("coordinator found=true", "agent", "--id", name, "--cores", "1")
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _member(self, until: str, role: str, *flags: str) -> None:
        connect = self.keys / role / "connect.json"
        self._start(until, COMMAND, role, "--connect", connect, *flags)

    def _start(self, until: str, *words: Path | str) -> None:
        argv = [str(word) for word in words]
        self._open.enter_context(Running(argv, self._folder, self._folder / "no")).until(until)

    def token(self, role: str) -> str:
        """The token of a role at NATS."""
        return (self.keys / role / "nats-token").read_text(encoding="utf-8").strip()

    def flags(self, role: str) -> list[str]:
        """The flags of a command that name the fleet; the token of its role is in the
        environment."""
        return ["--nats-url", self.nats_url, "--nats-cacert", str(self.keys / role / "ca.pem")]


@pytest.fixture(scope="module")
def roles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roles]:
    """One fleet for all tests, whose agents may connect to loopback, where the targets are."""
    with pytest.MonkeyPatch.context() as environ:
        environ.setenv("AGENT_ALLOW_TARGET", NEAR)
        with Roles(tmp_path_factory.mktemp("roles")) as roles:
            yield roles


@pytest.fixture
def submitted(
    roles: Roles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Loadpilot, Oracle]]:
    """A command in the role of the submitter, and a target that records headers."""
    monkeypatch.setenv("ROLES_KEY", SECRET)
    monkeypatch.setenv("NATS_TOKEN", roles.token("submitter"))
    with Oracle(built_binary(), tmp_path / "oracle.jsonl", log_headers=True) as oracle:
        yield Loadpilot(tmp_path / "work"), oracle


@pytest.mark.slow
def test_a_run_needs_no_more_than_its_roles_may_do(
    roles: Roles, submitted: tuple[Loadpilot, Oracle], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a permission is missing: the test hands over secrets, and counts and reads runs."""
    loadpilot, oracle = submitted
    flags = (*roles.flags("submitter"), "--external-agents", "2")
    finished = loadpilot.run(SCENE, oracle.url, *flags)
    assert finished.judged == 0, finished.stderr
    assert {one.header("x-api-key") for one in oracle.requests()} == {SECRET}
    assert finished.report["calls"]["outcomes"] == {"ok": all_but_late(finished.report, 20, 2)}
    monkeypatch.setenv("NATS_TOKEN", roles.token("watcher"))
    for words in (("runs",), ("report", "last"), ("verify", "last"), ("agents",)):
        answer = loadpilot.call(*words, *roles.flags("watcher"))
        assert answer.code == 0, (words, answer.stderr)
    refused = loadpilot.call("stop", finished.run, *roles.flags("watcher"))
    assert refused.code != 0


def test_what_a_role_does_not_need_is_refused(roles: Roles) -> None:
    """Broken if a stolen key gives more rights than those of its role."""
    every = (*EVERYTHING, "coordinator")
    said = {role: asyncio.run(_said(roles, role)) for role in every}
    for subject, who in FORBIDDEN.items():
        for role in who:
            violation = f'permissions violation for publish to "{subject.lower()}"'
            assert violation in said[role], f"{role} may publish {subject}"
    for subject, who in UNSUBSCRIBABLE.items():
        for role in who:
            violation = f'permissions violation for subscription to "{subject.lower()}"'
            assert violation in said[role], f"{role} may subscribe to {subject}"
    # Allowed subjects are not refused: otherwise the refusals above would prove nothing.
    assert INFO.lower() not in said["watcher"]
    assert INFO.lower() in said["agent"]


async def _said(roles: Roles, role: str) -> str:
    """All refusals of the server for the subjects that a role tries, in lower case."""
    said: list[str] = []

    async def note(error: Exception) -> None:
        said.append(str(error).lower())

    user, password = roles.token(role).split(":")
    trust = ssl.create_default_context(cafile=str(roles.keys / role / "ca.pem"))
    connection: Any = await nats.connect(
        roles.nats_url, user=user, password=password, tls=trust, error_cb=note
    )
    try:
        for subject, who in UNSUBSCRIBABLE.items():
            if role in who:
                await connection.subscribe(subject)
        for subject, who in {**FORBIDDEN, INFO: ("agent", "watcher")}.items():
            if role in who:
                await connection.publish(subject, b"{}")
        # The server answers after all of its refusals.
        await wait_until_handled(connection)
    finally:
        await connection.close()
    return "\n".join(said)
