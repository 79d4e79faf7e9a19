"""Permissions of a tenant's users at NATS beside another tenant, on a real server.

The table is written by hand, and shares no code with the module that writes permissions.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.deploy.local_processes import PROGRAMS
from tests.deploy.roles.tenant_server import ANSWER_S, TenantServer, is_refused
from tests.e2e.documents.shell_commands import commands
from tests.e2e.support.command import SCENARIOS, Loadpilot, Running
from tests.e2e.support.dropped_arrivals import all_but_late
from tests.e2e.support.fleet import NEAR, wait_until_handled
from tests.e2e.support.http_calls import Caller
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path("docs/howto/fleet/secure-a-nats-server.md")
HEARD_BY_OPERATOR = "agents of a shared fleet answer to its operator"
ROLES = ("submitter", "gateway", "watcher")
NO_ROLE: tuple[str, ...] = ()
REQUESTERS = ("submitter", "gateway")
RUN = "01forged"
CONSUMER = "$JS.API.CONSUMER"
LATER_ANSWERS = 50
"""Number of answers to await until an earlier one counts as absent."""
OF_A_TENANT = (
    # kind, subject of tenant {t}, roles that may use it in their own tenant; no role in another
    ("publish", f"lp.{{t}}.run.{RUN}.req", REQUESTERS),
    ("publish", f"lp.{{t}}.run.{RUN}.ctl", NO_ROLE),
    ("publish", f"lp.{{t}}.run.{RUN}.evt.x", NO_ROLE),
    ("publish", f"lp.{{t}}.run.{RUN}.delta.x", NO_ROLE),
    ("publish", "lp.{t}.adm", NO_ROLE),
    ("publish", "lp.{t}.hb.o-1", REQUESTERS),
    ("publish", f"lp.{{t}}.halt.{RUN}", REQUESTERS),
    ("publish", f"lp.{{t}}.live.{RUN}", NO_ROLE),
    ("publish", "lp.{t}.clock", REQUESTERS),
    ("publish", f"lp.{{t}}.secret.{RUN}.x", NO_ROLE),
    ("publish", f"$KV.LP.{{t}}.secret.{RUN}", REQUESTERS),
    ("publish", f"$KV.LP.{{t}}.owed.{RUN}.abc", REQUESTERS),
    ("publish", "$O.LP.M.lp.{t}.body.abc", REQUESTERS),
    ("publish", "$O.LP.C.lp.{t}.body.abc.x.0", REQUESTERS),
    ("read", f"$JS.API.DIRECT.GET.KV_LP.$KV.LP.{{t}}.secret.{RUN}", REQUESTERS),
    ("read", "$JS.API.DIRECT.GET.OBJ_LP.$O.LP.M.lp.{t}.body.abc", REQUESTERS),
    ("read", "$JS.API.DIRECT.GET.OBJ_LP.$O.LP.C.lp.{t}.body.abc.x.0", REQUESTERS),
    ("read", f"$JS.API.DIRECT.GET.LP_CTL.lp.{{t}}.run.{RUN}.ctl", NO_ROLE),
    ("read", f"{CONSUMER}.CREATE.LP_CTL.x.lp.{{t}}.run.>", ROLES),
    ("read", f"{CONSUMER}.CREATE.LP_CTL.x.lp.{{t}}.run.*.req", ROLES),
    ("read", f"{CONSUMER}.CREATE.LP_CTL.x.lp.{{t}}.>", NO_ROLE),
    ("read", f"{CONSUMER}.CREATE.LP_CTL.x.lp.{{t}}.adm", NO_ROLE),
    ("read", f"{CONSUMER}.CREATE.LP_DATA.x.lp.{{t}}.run.{RUN}.delta.*", ROLES),
    ("read", f"{CONSUMER}.CREATE.KV_LP.x.$KV.LP.{{t}}.>", NO_ROLE),
    ("read", f"{CONSUMER}.CREATE.OBJ_LP.x.$O.LP.M.lp.{{t}}.>", NO_ROLE),
    ("subscribe", "lp.{t}.live.*", ROLES),
    ("subscribe", "lp.{t}.hb.*", ROLES),
    ("subscribe", "lp.{t}.halt.*", NO_ROLE),
    ("subscribe", "lp.{t}.clock", NO_ROLE),
    ("subscribe", "lp.{t}.run.>", NO_ROLE),
    ("subscribe", "lp.{t}.secret.*.*", NO_ROLE),
    ("subscribe", "$KV.LP.{t}.>", NO_ROLE),
    ("subscribe", "_INBOX.{t}-coordinator.>", NO_ROLE),
)
OF_ALL = (
    # kind, subject that names no tenant, or all of them; no role may use it
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
from loadpilot import LoadClient, VUser, env, file, scenario, task

KEY = env("ROLES_KEY", secret=True)


@scenario(rps=20, duration="2s", mode="constant")
class Guarded(VUser):
    @task
    def get(self, client: LoadClient) -> None:
        client.post("/large", content=file("large.bin"), headers={"X-Api-Key": KEY})
"""
LARGE = bytes(range(256)) * 2_800
"""A body that the object store splits into three parts."""
SECRET = "hunter-2-of-a-tenant"  # noqa: S105  (made up)


async def differences(server: TenantServer) -> list[str]:
    """Try the whole table as each role of tenant `a`; return the cells in which the server
    differs."""
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


@pytest.mark.parametrize("login", ["passwords", "jwts"])
def test_a_tenants_user_is_confined_to_its_tenant(tmp_path: Path, login: str) -> None:
    """Broken if a user of one tenant reaches subjects of another, or lacks subjects that it
    needs."""
    with TenantServer(tmp_path, passwords=login != "jwts", jwts=login == "jwts") as server:
        assert asyncio.run(differences(server)) == []


@pytest.mark.slow
@pytest.mark.parametrize("login", ["passwords", "jwts"])
@pytest.mark.parametrize("wider", WIDER, ids=lambda one: one[1])
def test_one_wider_permission_is_seen(tmp_path: Path, wider: tuple[str, str], login: str) -> None:
    """Broken if the table above does not detect an additional permission."""
    has_jwts = login == "jwts"
    with TenantServer(tmp_path, passwords=not has_jwts, jwts=has_jwts, wider=wider) as server:
        assert asyncio.run(differences(server)) != []


def test_a_consumer_reads_what_its_subject_names(tmp_path: Path) -> None:
    """Broken if the payload of a request can select messages that its subject may not name."""
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


@pytest.fixture(params=["keys", pytest.param("jwts", marks=pytest.mark.long)])
def shared(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[TenantServer]:
    """Two tenants that share a coordinator and an agent; all log in by key, or by key and JWT."""
    monkeypatch.setenv("AGENT_ALLOW_TARGET", NEAR)
    tenants = tmp_path / "tenants.toml"
    tenants.write_text("[tenants.a]\nmax_runs = 1\n[tenants.b]\n", encoding="utf-8")
    with TenantServer(tmp_path, passwords=False, jwts=request.param == "jwts") as server:
        flags = flags_of_page("coordinator")
        server.member("deciding from now on", "fleet", "coordinator", *flags)
        name = ("--id", "agent-1", "--cores", "1")
        server.member("coordinator found=true", "fleet", "agent", *flags_of_page("agent"), *name)
        yield server


def flags_of_page(program: str) -> list[str]:
    """The flags of a command in the document for operators, without those of the connection."""
    begin = f"loadpilot {program} --connect"
    (command,) = (one.text for one in commands(PAGE) if one.text.startswith(begin))
    return command.replace("\\\n", " ").split()[4:]


@pytest.mark.slow
def test_what_the_programs_do_needs_no_more(
    shared: TenantServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a permission is missing: each tenant runs and reads, and sees its own runs only."""
    monkeypatch.setenv("ROLES_KEY", SECRET)
    loadpilot = Loadpilot(tmp_path / "work")
    (loadpilot.folder / "large.bin").write_bytes(LARGE)
    runs, sent = {}, 0
    with Oracle(built_binary(), tmp_path / "oracle.jsonl", log_headers=True) as oracle:
        for tenant in ("a", "b"):
            flags = _flags(shared, tenant, "submitter")
            finished = loadpilot.run(SCENE, oracle.url, *flags, "--external-agents", "1")
            assert finished.judged == 0, finished.stderr
            own = all_but_late(finished.report, 20, 2)
            assert finished.report["calls"]["outcomes"] == {"ok": own}
            sent += own
            runs[tenant] = finished.run
        assert {one.header("x-api-key") for one in oracle.requests()} == {SECRET}
        assert {one.body_len for one in oracle.requests()} == {len(LARGE)}
        assert len(oracle.requests()) == sent
    for tenant, other in (("a", "b"), ("b", "a")):
        flags = _flags(shared, tenant, "watcher")
        for words in (("runs",), ("report", "last"), ("verify", "last"), ("agents",)):
            answer = loadpilot.call(*words, *flags)
            assert answer.code == 0, (words, answer.stderr)
            assert runs[other] not in answer.stdout, words
            assert (HEARD_BY_OPERATOR in answer.stderr) == (words == ("agents",))
        assert runs[tenant] in loadpilot.call("runs", *flags).stdout
        assert loadpilot.call("report", runs[other], *flags).code != 0
        # A user of one tenant that names the other tenant gets nothing.
        assert loadpilot.call("runs", *flags[:-1], other).code != 0


def _flags(server: TenantServer, tenant: str, role: str) -> tuple[str, ...]:
    creds = server.creds(tenant, role)
    return ("--nats-url", server.url, "--creds", creds, "--tenant", tenant)


@pytest.mark.slow
def test_a_run_is_stopped_by_its_own_tenant_only(shared: TenantServer, tmp_path: Path) -> None:
    """Broken if a submitter stops a run of another tenant, or cannot stop one of its own, or if
    `agents` does not say that the fleet's agents answer only to its operator.
    """
    loadpilot = Loadpilot(tmp_path / "work")
    scene = SCENARIOS / "weighted.py"
    with Oracle(built_binary(), tmp_path / "oracle.jsonl") as oracle:
        own = _flags(shared, "a", "submitter")
        load = ("--rps", "20", "--duration", "60s", "--external-agents", "1")
        with loadpilot.start(scene, oracle.url, *load, *own) as running:
            run = running.run_id()
            assert oracle.wait_count(20, 30)
            other = _flags(shared, "b", "submitter")
            assert loadpilot.call("stop", run, *other).code != 0
            assert loadpilot.call("stop", run, *other[:-1], "a").code != 0
            seen = loadpilot.call("agents", *own)
            assert "agent-1" in seen.stdout
            assert HEARD_BY_OPERATOR in seen.stderr
            doctor = loadpilot.call("doctor", *own)
            assert "none answered" in doctor.stdout
            assert HEARD_BY_OPERATOR in doctor.stdout, doctor.stdout
            counted = oracle.counts().received
            assert oracle.wait_count(counted + 20, 30), "another tenant stopped the load"
            stopped = loadpilot.call("stop", run, *own)
            assert stopped.code == 0, stopped.stderr
            assert running.end(30).judged == 0


@pytest.mark.slow
def test_a_gateway_serves_its_tenant_only(
    shared: TenantServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a gateway cannot read or request runs as the user of its role."""
    loadpilot = Loadpilot(tmp_path / "work")
    scene = SCENARIOS / "weighted.py"
    ended = {}
    with Oracle(built_binary(), tmp_path / "oracle.jsonl") as oracle:
        load = ("--rps", "20", "--duration", "1s", "--external-agents", "1")
        for tenant in ("a", "b"):
            flags = _flags(shared, tenant, "submitter")
            finished = loadpilot.run(scene, oracle.url, *load, *flags)
            assert finished.judged == 0, finished.stderr
            ended[tenant] = finished
        settings = {"NATS_URL": shared.url, "NATS_CREDS": shared.creds("a", "gateway")}
        for name, value in {**settings, "TENANT": "a", "PORT": "0"}.items():
            monkeypatch.setenv(f"LOADPILOT_GATEWAY_{name}", value)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        with Running([str(PROGRAMS["loadpilot-gateway"])], tmp_path, tmp_path / "no") as started:
            port = int(started.until("listening on").split(":")[2].split(",")[0])
            gateway = Caller(port)
            listed = gateway.ask("GET", "/api/v1/runs")
            assert [one["run"] for one in listed.json["runs"]] == [ended["a"].run]
            report = gateway.ask("GET", f"/api/v1/runs/{ended['a'].run}")
            assert report.json["calls"] == ended["a"].report["calls"]
            assert gateway.ask("GET", f"/api/v1/runs/{ended['b'].run}").status == 404


@pytest.mark.slow
def test_accounts_part_what_a_shared_one_cannot(tmp_path: Path) -> None:
    """Broken if the documented limitation of a shared account is gone, or if separate accounts have
    it, too.

    A server checks the subject of a request and not the subject of its answer. So a user can make
    it publish to any subject of the account.
    """
    for accounts, jwts in ((False, False), (True, False), (False, True), (True, True)):
        folder = tmp_path / f"{accounts}-{jwts}"
        folder.mkdir()
        with TenantServer(folder, passwords=not jwts, accounts=accounts, jwts=jwts) as server:
            assert asyncio.run(_answer_reaches_another(server)) == (not accounts)


async def _answer_reaches_another(server: TenantServer) -> bool:
    """Whether the answer to a request of one tenant reaches a subscription of another one."""
    refusals: list[str] = []
    mine = await server.connect("a", "submitter", refusals)
    other = await server.connect("b", "watcher", refusals)
    heard = await other.subscribe("lp.b.live.*")
    await wait_until_handled(other)
    await mine.publish("$JS.API.INFO", b"", reply="lp.b.live.forged")
    # The server answers in parallel: the first answer may come after some later ones.
    for _ in range(LATER_ANSWERS):
        await mine.request("$JS.API.INFO", b"", timeout=ANSWER_S)
        await wait_until_handled(other)
        if heard.pending_msgs:
            break
    count = heard.pending_msgs
    await mine.close()
    await other.close()
    assert not refusals, refusals
    return bool(count)


@pytest.mark.slow
@pytest.mark.parametrize("jwts", [False, True], ids=["keys", "jwts"])
def test_each_account_has_programs_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, jwts: bool
) -> None:
    """Broken if a tenant with an account to itself cannot run, or sees another's log."""
    monkeypatch.setenv("AGENT_ALLOW_TARGET", NEAR)
    loadpilot = Loadpilot(tmp_path / "work")
    with TenantServer(tmp_path, passwords=False, accounts=True, jwts=jwts) as server:
        for tenant in ("a", "b"):
            of = ("--tenant", tenant)
            server.member("deciding from now on", tenant, "coordinator", *of)
        name = ("--id", "agent-a", "--cores", "1")
        server.member("coordinator found=true", "a", "agent", "--tenant", "a", *name)
        with Oracle(built_binary(), tmp_path / "oracle.jsonl") as oracle:
            load = ("--rps", "20", "--duration", "1s", "--external-agents", "1")
            flags = _flags(server, "a", "submitter")
            finished = loadpilot.run(SCENARIOS / "weighted.py", oracle.url, *load, *flags)
            assert finished.judged == 0, finished.stderr
            assert oracle.counts().received == all_but_late(finished.report, 20, 1)
        runs = loadpilot.call("runs", *_flags(server, "b", "operator")[:-1], "a")
        assert finished.run not in runs.stdout
