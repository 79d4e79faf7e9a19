"""What the user of one tenant may do at NATS beside another tenant, on a real server.

The table is written by hand, and shares nothing with the module that writes permissions.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.deploy.tenant_server import ANSWER_S, TenantServer, is_refused
from tests.e2e.support.command import Loadpilot
from tests.e2e.support.fleet import NEAR
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROLES = ("submitter", "gateway", "watcher")
NOBODY: tuple[str, ...] = ()
ASKING = ("submitter", "gateway")
RUN = "01forged"
CONSUMER = "$JS.API.CONSUMER"
OF_A_TENANT = (
    # kind, subject of tenant {t}, roles that may use it in their own tenant; nobody in another
    ("publish", f"lp.{{t}}.run.{RUN}.req", ASKING),
    ("publish", f"lp.{{t}}.run.{RUN}.ctl", NOBODY),
    ("publish", f"lp.{{t}}.run.{RUN}.evt.x", NOBODY),
    ("publish", f"lp.{{t}}.run.{RUN}.delta.x", NOBODY),
    ("publish", "lp.{t}.adm", NOBODY),
    ("publish", "lp.{t}.hb.o-1", ASKING),
    ("publish", f"lp.{{t}}.halt.{RUN}", ASKING),
    ("publish", f"lp.{{t}}.live.{RUN}", NOBODY),
    ("publish", "lp.{t}.clock", ASKING),
    ("publish", f"lp.{{t}}.secret.{RUN}.x", NOBODY),
    ("publish", f"$KV.LP.{{t}}.secret.{RUN}", ASKING),
    ("publish", f"$KV.LP.{{t}}.owed.{RUN}.abc", ASKING),
    ("publish", "$O.LP.M.lp.{t}.body.abc", ASKING),
    ("publish", "$O.LP.C.lp.{t}.body.abc.x.0", ASKING),
    ("read", f"$JS.API.DIRECT.GET.KV_LP.$KV.LP.{{t}}.secret.{RUN}", ASKING),
    ("read", "$JS.API.DIRECT.GET.OBJ_LP.$O.LP.M.lp.{t}.body.abc", ASKING),
    ("read", "$JS.API.DIRECT.GET.OBJ_LP.$O.LP.C.lp.{t}.body.abc.x.0", ASKING),
    ("read", f"$JS.API.DIRECT.GET.LP_CTL.lp.{{t}}.run.{RUN}.ctl", NOBODY),
    ("read", f"{CONSUMER}.CREATE.LP_CTL.x.lp.{{t}}.run.>", ROLES),
    ("read", f"{CONSUMER}.CREATE.LP_CTL.x.lp.{{t}}.run.*.req", ROLES),
    ("read", f"{CONSUMER}.CREATE.LP_CTL.x.lp.{{t}}.>", NOBODY),
    ("read", f"{CONSUMER}.CREATE.LP_CTL.x.lp.{{t}}.adm", NOBODY),
    ("read", f"{CONSUMER}.CREATE.LP_DATA.x.lp.{{t}}.run.{RUN}.delta.*", ROLES),
    ("read", f"{CONSUMER}.CREATE.KV_LP.x.$KV.LP.{{t}}.>", NOBODY),
    ("read", f"{CONSUMER}.CREATE.OBJ_LP.x.$O.LP.M.lp.{{t}}.>", NOBODY),
    ("subscribe", "lp.{t}.live.*", ROLES),
    ("subscribe", "lp.{t}.hb.*", ROLES),
    ("subscribe", "lp.{t}.halt.*", NOBODY),
    ("subscribe", "lp.{t}.clock", NOBODY),
    ("subscribe", "lp.{t}.run.>", NOBODY),
    ("subscribe", "lp.{t}.secret.*.*", NOBODY),
    ("subscribe", "$KV.LP.{t}.>", NOBODY),
    ("subscribe", "_INBOX.{t}-coordinator.>", NOBODY),
)
OF_ALL = (
    # kind, subject that names no tenant, or all of them; nobody may use it
    *(
        ("read", f"$JS.API.{request}.{stream}")
        for stream in ("LP_CTL", "LP_DATA", "KV_LP", "OBJ_LP")
        for request in (
            "STREAM.INFO",
            "STREAM.MSG.GET",
            "DIRECT.GET",
            "STREAM.SNAPSHOT",
            "CONSUMER.CREATE",
            "CONSUMER.LIST",
            "CONSUMER.NAMES",
        )
    ),
    *(
        ("delete", f"$JS.API.STREAM.{request}.{stream}")
        for stream in ("LP_CTL", "LP_DATA", "KV_LP", "OBJ_LP")
        for request in ("DELETE", "PURGE", "MSG.DELETE", "UPDATE", "CREATE")
    ),
    ("read", "$JS.API.STREAM.LIST"),
    ("read", "$JS.API.STREAM.NAMES"),
    ("read", f"{CONSUMER}.CREATE.LP_CTL.x"),
    ("read", f"{CONSUMER}.CREATE.LP_CTL.x.>"),
    ("read", f"{CONSUMER}.CREATE.LP_CTL.x.lp.*.run.>"),
    ("read", f"{CONSUMER}.DURABLE.CREATE.LP_CTL.x"),
    ("read", "$JS.API.DIRECT.GET.KV_LP.$KV.LP.*.secret.x"),
    ("publish", "$KV.LP.CREATED.LP_CTL"),
    ("publish", "$O.LP.M.bHAuYi5ib2R5LngK"),
    ("publish", "$O.LP.C.x"),
    ("publish", "lp.fleet.adm"),
    ("publish", "lp.fleet.hb.a-1"),
    ("subscribe", "lp.fleet.hb.*"),
    ("subscribe", "lp.*.live.*"),
    ("subscribe", "lp.>"),
    ("subscribe", "_INBOX.>"),
    ("subscribe", "$JS.EVENT.>"),
    ("subscribe", ">"),
)
WIDER = (
    ("$KV.LP.a.>", "$KV.LP.*.>"),
    ("LP_CTL.*.lp.a.run.>", "LP_CTL.>"),
    ("lp.a.halt.*", "lp.*.halt.*"),
    ("lp.a.live.*", "lp.*.live.*"),
    ('"$JS.API.CONSUMER.INFO.LP_DATA.*"', '"$JS.API.STREAM.INFO.LP_DATA"'),
)
SCENE = """
from loadpilot import LoadClient, VUser, env, scenario, task

KEY = env("ROLES_KEY", secret=True)


@scenario(rps=20, duration="2s", mode="constant")
class Guarded(VUser):
    @task
    def get(self, client: LoadClient) -> None:
        client.get("/get", headers={"X-Api-Key": KEY})
"""
SECRET = "hunter-2-of-a-tenant"  # noqa: S105  (made up)


async def differences(server: TenantServer) -> list[str]:
    """Try the whole table as each role of tenant `a`; return the cells that are not as written."""
    found = []
    for role in ROLES:
        refusals: list[str] = []
        connection = await server.connect("a", role, refusals)
        cells = [(kind, subject, False) for kind, subject in OF_ALL]
        for kind, subject, may in OF_A_TENANT:
            cells.append((kind, subject.format(t="a"), role in may))
            cells.append((kind, subject.format(t="b"), False))
        for kind, subject, is_allowed in cells:
            refused = await is_refused(connection, refusals, kind, subject)
            if refused == is_allowed:
                found.append(f"{role} {'may not' if refused else 'may'} {kind} {subject}")
        await connection.close()
    return found


def test_a_tenants_user_is_confined_to_its_tenant(tmp_path: Path) -> None:
    """Broken if a user of one tenant reaches anything of another, or less than it needs."""
    with TenantServer(tmp_path, passwords=True) as server:
        assert asyncio.run(differences(server)) == []


@pytest.mark.parametrize("wider", WIDER, ids=lambda one: one[1])
def test_one_wider_permission_is_seen(tmp_path: Path, wider: tuple[str, str]) -> None:
    """Broken if the table above would not notice a permission too many."""
    with TenantServer(tmp_path, passwords=True, wider=wider) as server:
        assert asyncio.run(differences(server)) != []


def test_a_consumer_reads_what_its_subject_names(tmp_path: Path) -> None:
    """Broken if the payload of a request selects what its subject may not name."""
    with TenantServer(tmp_path, passwords=True) as server:
        server.member("deciding from now on", "fleet", "coordinator", "--tenant", "a")
        for lie, answer in asyncio.run(_lies(server)).items():
            assert "error" in answer, (lie, answer)


async def _lies(server: TenantServer) -> dict[str, Any]:
    connection = await server.connect("a", "watcher", [])
    subject = f"{CONSUMER}.CREATE.LP_CTL.x.lp.a.run.>"
    honest = {"name": "x", "filter_subject": "lp.a.run.>", "ack_policy": "none"}
    answers = {}
    for lie, config, stream in (
        ("another filter", {**honest, "filter_subject": "lp.b.run.>"}, "LP_CTL"),
        ("no filter", {"name": "x", "ack_policy": "none"}, "LP_CTL"),
        ("two filters", {**honest, "filter_subjects": ["lp.b.run.>", "lp.a.adm"]}, "LP_CTL"),
        ("filters only", {"name": "x", "filter_subjects": ["lp.b.run.>"]}, "LP_CTL"),
        ("another stream", honest, "KV_LP"),
    ):
        request = json.dumps({"stream_name": stream, "config": config}).encode()
        answer = await connection.request(subject, request, timeout=ANSWER_S)
        answers[lie] = json.loads(answer.data)
    request = json.dumps({"stream_name": "LP_CTL", "config": honest}).encode()
    answer = json.loads((await connection.request(subject, request, timeout=ANSWER_S)).data)
    assert "error" not in answer, answer
    await connection.close()
    return answers


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TenantServer]:
    """Two tenants on one log, each with a coordinator and an agent; all log in by key."""
    monkeypatch.setenv("AGENT_ALLOW_TARGET", NEAR)
    with TenantServer(tmp_path, passwords=False) as server:
        for tenant in ("a", "b"):
            of = ("--tenant", tenant)
            server.member("deciding from now on", "fleet", "coordinator", *of)
            name = ("--id", f"agent-{tenant}", "--cores", "1")
            server.member("coordinator found=true", "fleet", "agent", *of, *name)
        yield server


def test_what_the_programs_do_needs_no_more(
    shared: TenantServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a permission is missing: each tenant runs and reads, and sees its own runs only."""
    monkeypatch.setenv("ROLES_KEY", SECRET)
    loadpilot = Loadpilot(tmp_path / "work")
    runs = {}
    with Oracle(built_binary(), tmp_path / "oracle.jsonl", log_headers=True) as oracle:
        for tenant in ("a", "b"):
            flags = _flags(shared, tenant, "submitter")
            finished = loadpilot.run(SCENE, oracle.url, *flags, "--external-agents", "1")
            assert finished.judged == 0, finished.stderr
            assert finished.report["calls"]["outcomes"] == {"ok": 40}
            runs[tenant] = finished.run
        assert {one.header("x-api-key") for one in oracle.requests()} == {SECRET}
        assert len(oracle.requests()) == 80
    for tenant, other in (("a", "b"), ("b", "a")):
        flags = _flags(shared, tenant, "watcher")
        for words in (("runs",), ("report", "last"), ("verify", "last"), ("agents",)):
            answer = loadpilot.call(*words, *flags)
            assert answer.code == 0, (words, answer.stderr)
            assert runs[other] not in answer.stdout, words
        assert runs[tenant] in loadpilot.call("runs", *flags).stdout
        assert loadpilot.call("report", runs[other], *flags).code != 0
        # A user of one tenant that claims to be of the other gets nothing.
        assert loadpilot.call("runs", *flags[:-1], other).code != 0


def _flags(server: TenantServer, tenant: str, role: str) -> tuple[str, ...]:
    creds = server.creds(tenant, role)
    return ("--nats-url", server.url, "--creds", creds, "--tenant", tenant)
