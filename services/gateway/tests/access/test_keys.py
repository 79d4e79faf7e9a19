"""Keys, roles and tenants: each caller sees and does what its key permits, and nothing else."""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from services.gateway.tests.gateways import API, MANY_REQUESTS, Event, Gateway, Gateways, plan

from loadpilot.cli import main
from loadpilot.local.keys.key import Role, new_key
from loadpilot.local.keys.key_file import changing, create_file
from loadpilot_gateway.server.permissions import ROUTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

OPENAPI = Path(__file__).parents[2] / "openapi.json"
RUN = "01unknownrun"
VIEWER, RUNNER, ADMIN = "viewer", "runner", "admin"
READ_BY_ALL = {
    *(f"{API}/{path}" for path in ("runs", "compare", "scenarios", "agents", "me")),
    *(
        f"{API}/runs/{{run}}{path}"
        for path in (
            *("", "/plan", "/story", "/agents", "/series", "/heat", "/errors", "/live"),
            *("/annotations", "/page", "/file"),
        )
    ),
}
NEEDED = {
    **{("GET", path): VIEWER for path in READ_BY_ALL},
    ("GET", "/metrics"): VIEWER,
    ("GET", f"{API}/keys"): ADMIN,
    ("POST", f"{API}/plans/check"): VIEWER,
    ("POST", f"{API}/plans/adjust"): VIEWER,
    ("POST", f"{API}/runs/{{run}}/verdict"): VIEWER,
    ("POST", f"{API}/scenarios/plan"): RUNNER,
    ("POST", f"{API}/runs"): RUNNER,
    ("POST", f"{API}/runs/{{run}}/annotations"): RUNNER,
    ("POST", f"{API}/runs/{{run}}/rate"): RUNNER,
    ("POST", f"{API}/runs/{{run}}/{{wish}}"): RUNNER,
    ("POST", f"{API}/runs/{{run}}/halt"): ADMIN,
}
"""The role that each route needs, written without looking at the product."""
OPEN = {("GET", "/healthz"), ("GET", "/readyz"), ("POST", f"{API}/session")}


class Keys:
    """A file of keys, and the texts of the keys by name."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "keys.json"
        self.texts: dict[str, str] = {}
        self.ids: dict[str, str] = {}
        create_file(self.file, [])

    def add(
        self, name: str, role: str, tenant: str = "local", expires: int | None = None
    ) -> dict[str, str]:
        """Adds a key; returns the header that contains it."""
        key, text = new_key(name, tenant, Role(role), int(time.time()), expires)
        with changing(self.file) as keys:
            keys.append(key)
        self.texts[name], self.ids[name] = text, key.id
        return bearer(text)

    def revoke(self, name: str) -> None:
        """Revokes a key as the command does."""
        assert main(["keys", "revoke", self.ids[name], "--file", str(self.file)]) == 0


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path)


def tenants_file(folder: Path, *names: str) -> str:
    file = folder / "tenants.toml"
    file.write_text("".join(f"[tenants.{name}]\n" for name in names), encoding="utf-8")
    return str(file)


def status_of(gateway: Gateway, method: str, path: str, headers: dict[str, str]) -> int:
    """The status alone: the body of a live view does not end."""
    body = b"{}" if method == "POST" else b""
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    ask = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{head}Content-Length: {len(body)}\r\n"
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as connection:
        connection.sendall(f"{ask}Content-Type: application/json\r\n\r\n".encode() + body)
        return int(connection.recv(64).split()[1])


@pytest.mark.slow
def test_every_route_asks_for_its_role(fleet: Fleet, gateways: Gateways, keys: Keys) -> None:
    """Broken if a route, also a new one, is open to a caller who must not use it."""
    fleet.coordinator()
    now = int(time.time())
    keys.add("revoked", ADMIN)
    keys.revoke("revoked")
    callers = {
        "none": {},
        "expired": keys.add("expired", ADMIN, expires=now - 1),
        "revoked": bearer(keys.texts["revoked"]),
        "forged": bearer(f"lpk_{keys.ids['revoked']}_{'0' * 64}"),
        "elsewhere": keys.add("elsewhere", ADMIN, tenant="other"),
        VIEWER: keys.add("v", VIEWER),
        RUNNER: keys.add("r", RUNNER),
        ADMIN: keys.add("a", ADMIN),
    }
    gateway = gateways.start(KEYS_FILE=str(keys.file), **MANY_REQUESTS)
    paths = json.loads(OPENAPI.read_text(encoding="utf-8"))["paths"]
    routes = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert routes == OPEN | NEEDED.keys()
    assert {(method, path) for method, path, _ in ROUTES} <= routes
    order = [VIEWER, RUNNER, ADMIN]
    for (method, path), needed in sorted(NEEDED.items()):
        named = path.replace("{run}", RUN).replace("{wish}", "stop")
        for caller, headers in callers.items():
            status = status_of(gateway, method, named, headers)
            if caller in order:
                is_allowed = order.index(caller) >= order.index(needed)
                assert (status != 403) == is_allowed, (method, path, caller, status)
                assert status != 401, (method, path, caller)
            else:
                wanted = 403 if caller == "elsewhere" else 401
                assert status == wanted, (method, path, caller, status)
    refused = gateway.tell(f"/runs/{RUN}/halt", headers=callers[RUNNER])
    assert refused.kind == "application/problem+json"
    assert refused.json["detail"] == "needs the role admin; the caller has runner"
    for method in ("PUT", "DELETE", "PATCH", "get"):
        assert status_of(gateway, method, f"{API}/runs", callers[VIEWER]) == 403, method
    me = gateway.api("/me", callers[RUNNER]).json
    seen = (me["tenant"], me["role"], me["key"], me["can_start"], me["can_halt"])
    assert seen == ("local", RUNNER, keys.ids["r"], True, False)
    listed = gateway.api("/keys", callers[ADMIN])
    assert {one["name"] for one in listed.json["keys"]} == {"revoked", "expired", "v", "r", "a"}
    assert b"sha256" not in listed.body


@pytest.mark.slow
def test_a_key_acts_and_ends_at_once(
    fleet: Fleet,
    gateways: Gateways,
    keys: Keys,
    loadpilot: Loadpilot,
    oracle: Oracle,
) -> None:
    """Broken if a revoked key, its browser session or its live view continues, or if an invalid
    file gives access."""
    fleet.coordinator()
    fleet.agent("a-1")
    gateway = gateways.start(KEYS_FILE=str(keys.file))
    ann, bob = keys.add("ann", RUNNER), keys.add("bob", VIEWER)
    sound = {"plan": plan(loadpilot, oracle, 20, 60)}
    run = gateway.tell("/runs", sound, ann).json["run"]
    signed_in = gateway.tell("/session", {"token": keys.texts["bob"]})
    assert signed_in.status == 204
    cookie = {"Cookie": cookie_of(gateway, keys.texts["bob"])}
    assert gateway.api("/me", cookie).json["user"] == "bob"
    assert gateway.tell(f"/runs/{run}/stop", headers=cookie).status == 403
    with gateway.live(run, bob) as live:
        events = live.events()
        next(events)
        keys.revoke("bob")
        assert gateway.api("/runs", bob).status == 401
        assert gateway.api("/me", cookie).status == 401
        last = [event for event in events if event.kind == "fault"]
    assert [one.data["code"] for one in last] == ["unauthorized"]
    assert gateway.tell(f"/runs/{run}/stop", headers=ann).status == 200
    whole = keys.file.read_text(encoding="utf-8")
    keys.file.write_text(whole[:-20], encoding="utf-8")
    assert gateway.api("/runs", ann).status == 401
    keys.file.write_text(whole, encoding="utf-8")
    assert gateway.api("/runs", ann).status == 200
    keys.file.chmod(0o644)
    assert gateway.api("/runs", ann).status == 401
    keys.file.unlink()
    assert gateway.api("/runs", ann).status == 401
    said = gateways.processes[0].output
    assert "no caller is accepted by" in said
    for text in keys.texts.values():
        secret = text.rpartition("_")[2]
        assert secret not in said
        assert secret not in whole
        for store in (fleet.folder / "store").rglob("*"):
            assert not store.is_file() or secret.encode() not in store.read_bytes(), store
        for argv in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                assert secret.encode() not in argv.read_bytes()
            except OSError:
                continue


def cookie_of(gateway: Gateway, text: str) -> str:
    """Signs in, and returns the cookie."""
    body = json.dumps({"token": text}).encode()
    head = f"POST {API}/session HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as connection:
        connection.sendall((head + kind).encode() + body)
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    found = re.search(rb"set-cookie: ([^;]+);", answer, re.IGNORECASE)
    assert found is not None, answer
    assert text.encode() not in answer
    return found[1].decode()


@pytest.mark.slow
def test_a_tenant_sees_nothing_of_another(
    fleet: Fleet,
    gateways: Gateways,
    keys: Keys,
    loadpilot: Loadpilot,
    oracle: Oracle,
    tmp_path: Path,
) -> None:
    """Broken if a run of another tenant is found, is listed, or differs from an unknown one."""
    for tenant in ("shop", "bank"):
        fleet.coordinator("--tenant", tenant)
        fleet.agent(f"a-{tenant}", "--tenant", tenant)
    shop, bank = keys.add("ci", ADMIN, "shop"), keys.add("ci2", ADMIN, "bank")
    same = keys.add("ci", ADMIN, "bank")
    settings = {"KEYS_FILE": str(keys.file), "TENANTS_FILE": tenants_file(tmp_path, "shop", "bank")}
    gateway = gateways.start(**settings)
    sound = {"plan": plan(loadpilot, oracle, 20, 1)}
    once = {"Idempotency-Key": "build-1"}
    run = gateway.tell("/runs", sound, shop | once).json["run"]
    with gateway.live(run, shop) as live:
        assert list(live.events())[-1].kind == "sealed"
    gateway.api(f"/runs/{run}", shop)
    assert [one["run"] for one in gateway.api("/runs", shop).json["runs"]] == [run]
    assert gateway.api("/runs", bank).json["runs"] == []
    routes = [(method, path) for method, path in NEEDED if "{run}" in path]
    routes += [("POST", f"{API}/plans/adjust"), ("POST", f"{API}/runs?bodies_of={{run}}")]
    sent = {"annotations": {"text": "theirs"}, "verdict": {"thresholds": {}}, "rate": {"rate": "1"}}
    tag = gateway.api(f"/runs/{run}/series", shop)
    for method, path in sorted(routes):
        named = path.replace("{wish}", "stop")
        bodies: list[Any] = []
        for one in (run, RUN, run[:8], "last"):
            body: object = sent.get(path.rpartition("/")[2], b"") if method == "POST" else b""
            if "{run}" not in path:
                body = {"run": one}
            elif "bodies_of" in path:
                body = sound
            answer = gateway.ask(method, named.replace("{run}", one), body, bank)
            assert answer.status == 404, (method, path, one, answer.body)
            bodies.append(answer.body.replace(one.encode(), b"RUN"))
        assert len(set(bodies)) == 1, (method, path, bodies)
    assert tag.status == 200
    # The owner gets an answer: the requests are valid.
    for name, valid in sent.items():
        assert gateway.tell(f"/runs/{run}/{name}", valid, shop).status in {200, 409}, name
    assert gateway.tell("/plans/adjust", {"run": run}, shop).status == 200
    compared = gateway.api(f"/compare?run={run}&run={run}", bank)
    assert compared.status == 404
    theirs = gateway.tell("/runs", sound, same | once)
    assert (theirs.status, theirs.json["run"] != run) == (202, True), theirs.body
    with gateway.live(theirs.json["run"], bank) as live:
        assert list(live.events())[-1].kind == "sealed"
    again = gateway.tell("/runs", sound, shop | once)
    assert (again.status, again.json["run"]) == (200, run)
    assert oracle.counts().received == 40


def behind_proxy(
    gateways: Gateways, folder: Path, text: str, **settings: str
) -> tuple[Gateway, dict[str, str]]:
    """Starts a gateway with these rules in rules.toml; returns it with the headers of its proxy."""
    secret, rules = folder / "secret", folder / "rules.toml"
    word = secrets.token_hex(16)
    secret.write_text(word, encoding="utf-8")
    secret.chmod(0o600)
    rules.write_text(text, encoding="utf-8")
    gateway = gateways.start(
        PROXY_HEADER="X-User",
        PROXY_FROM="127.0.0.0/8",
        PROXY_SECRET_FILE=str(secret),
        PUBLIC_NAMES="load.example.test",
        PROXY_RULES_FILE=str(rules),
        PROXY_GROUP_HEADER="X-Groups",
        **settings,
    )
    return gateway, {"Host": "load.example.test", "X-LoadPilot-Proxy-Secret": word}


SRE = '[[rule]]\ngroup = "sre"\ntenant = "local"\nrole = "admin"\n'
SHOP = '[[rule]]\nuser = "*@shop.example"\ntenant = "local"\nrole = "viewer"\n'


def test_rules_of_a_proxy_give_tenant_and_role(
    fleet: Fleet, gateways: Gateways, tmp_path: Path
) -> None:
    """Broken if a user whom no rule names gets access, or if groups are ignored."""
    fleet.coordinator()
    gateway, base = behind_proxy(gateways, tmp_path, SRE + SHOP)
    for user, groups, role in (
        ("ann@shop.example", "", "viewer"),
        ("ann@shop.example", "dev, sre", "admin"),
        ("eve@shop.example.evil.test", "", None),
        ("eve@evil.test", "sre2", None),
    ):
        answer = gateway.api("/me", {**base, "X-User": user, "X-Groups": groups})
        if role is None:
            assert (answer.status, "no rule" in answer.json["detail"]) == (403, True), user
        else:
            assert (answer.status, answer.json["role"]) == (200, role), user
    assert gateway.api("/me", base).status == 401
    (tmp_path / "rules.toml").write_text("[[rule]]\nusr = 1\n", encoding="utf-8")
    assert gateway.api("/me", {**base, "X-User": "ann@shop.example"}).status == 403


def test_a_user_without_a_rule_signs_in_with_a_key(
    fleet: Fleet, gateways: Gateways, keys: Keys, tmp_path: Path
) -> None:
    """Broken if a proxy's user with a key cannot open a session, or if its cookie, which the proxy
    receives over TLS, can be sent without TLS."""
    fleet.coordinator()
    keys.add("bob", VIEWER)
    gateway, base = behind_proxy(gateways, tmp_path, SRE, KEYS_FILE=str(keys.file))
    unmapped = {**base, "X-User": "eve@shop.example"}
    refused = gateway.api("/me", unmapped)
    assert (refused.status, "no rule" in refused.json["detail"]) == (401, True)
    assert gateway.tell("/session", {"token": "wrong"}, unmapped).status == 401
    session = gateway.post(f"{API}/session", {"token": keys.texts["bob"]}, unmapped)
    opened = session.getresponse()
    session.close()
    assert opened.status == 204
    cookie, _, terms = opened.headers["Set-Cookie"].partition(";")
    assert (cookie.startswith("__Host-"), "Secure" in terms.split("; ")) == (True, True)
    assert "max-age" in opened.headers["Strict-Transport-Security"]
    assert gateway.api("/me", {**unmapped, "Cookie": cookie}).json["user"] == "bob"


@pytest.mark.slow
def test_a_live_view_ends_with_its_rule(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if a user still sees the run whom no rule admits any more, or whom one admits to
    another tenant only, or if a change of the file ends the views of others."""
    fleet.coordinator()
    fleet.agent("a-1")
    gateway, base = behind_proxy(gateways, tmp_path, SRE + SHOP)
    rules = tmp_path / "rules.toml"
    ann = {**base, "X-User": "ann@shop.example"}
    bob = {**base, "X-User": "bob@shop.example"}
    sre = {**base, "X-User": "sue", "X-Groups": "dev, sre"}
    run = gateway.tell("/runs", {"plan": plan(loadpilot, oracle, 20, 60)}, sre).json["run"]
    with ExitStack() as opened:
        views = [opened.enter_context(gateway.live(run, one)).events() for one in (ann, bob, sre)]
        for view in views:
            next(view)
        replace_file(rules, SRE + SHOP.replace("*@", "bob@"))
        assert faults(views[0]) == ["unauthorized"]
        replace_file(rules, SRE + SHOP.replace('"local"', '"other"'))
        assert faults(views[1]) == ["unauthorized"]
        assert gateway.tell(f"/runs/{run}/stop", headers=sre).status == 200
        assert list(views[2])[-1].kind == "sealed"


def replace_file(file: Path, text: str) -> None:
    """Replaces a file atomically: a gateway may read it at any time."""
    beside = file.with_suffix(".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(file)


def faults(events: Iterator[Event]) -> list[str]:
    """The codes of the faults in a live view, read to its end."""
    return [event.data["code"] for event in events if event.kind == "fault"]


@pytest.mark.slow
def test_credentials_of_the_log_rotate_while_a_run_is_followed(
    fleet: Fleet,
    gateways: Gateways,
    keys: Keys,
    loadpilot: Loadpilot,
    oracle: Oracle,
    tmp_path: Path,
) -> None:
    """Broken if a gateway continues to use credentials that are no longer in their file."""
    fleet.coordinator()
    fleet.agent("a-1")
    conf = fleet.folder / "nats.conf"
    text = conf.read_text(encoding="utf-8")
    token = tmp_path / "nats-token"
    token.write_text(fleet.token, encoding="utf-8")
    token.chmod(0o600)
    ann = keys.add("ann", RUNNER)
    gateway = gateways.start(KEYS_FILE=str(keys.file), NATS_TOKEN_FILE=str(token))
    run = gateway.tell("/runs", {"plan": plan(loadpilot, oracle, 20, 4)}, ann).json["run"]
    with gateway.live(run, ann) as live:
        events = live.events()
        next(events)
        # An unused connection and an indexed run, both with the current credentials.
        assert gateway.api(f"/runs/{run}", ann).status == 200
        token.write_text("wrong-and-long-enough", encoding="utf-8")
        refused = gateway.api(f"/runs/{run}", ann)
        assert refused.status == 503, refused.body
        token.write_text(fleet.token, encoding="utf-8")
        assert gateway.api(f"/runs/{run}", ann).status == 200
        assert list(events)[-1].kind == "sealed"
    assert conf.read_text(encoding="utf-8") == text
    assert oracle.counts().received == 80


def test_every_mistake_of_the_files_is_reported(
    gateways: Gateways, keys: Keys, tmp_path: Path
) -> None:
    """Broken if the gateway starts with a file that it cannot read completely."""
    token = tmp_path / "token"
    token.write_text("0123456789abcdef", encoding="utf-8")
    token.chmod(0o600)
    keys.file.write_text('{"version": 1, "keys": [{"id": 5}]}', encoding="utf-8")
    tenants = tmp_path / "tenants.toml"
    tenants.write_text(
        '[tenants.shop]\ncred = "x"\n[tenants."A B"]\n[tenants.bank]\ncreds = "/nowhere"\n',
        encoding="utf-8",
    )
    ended = gateways.process(
        "--check-config",
        KEYS_FILE=str(keys.file),
        TOKEN_FILE=str(token),
        TENANTS_FILE=str(tenants),
        PROXY_GROUP_HEADER="X-Groups",
    ).end(30)
    assert ended.code == 2
    for place in (
        "keys[0]: must have the members id, name",
        "TOKEN_FILE: authenticates callers, and so does KEYS_FILE",
        "tenants.shop: cred: is not a key; did you mean creds?",
        "tenants.A B: must be 1 to 128 characters",
        "tenants.bank.creds: must be a file",
        "PROXY_GROUP_HEADER: has no effect without",
    ):
        assert place in ended.stderr, ended.stderr
    assert os.environ.get("LOADPILOT_GATEWAY_KEYS_FILE") is None
