"""Authentication, and hostile callers: they get an answer, and no other effect."""

from __future__ import annotations

import http.client
import json
import os
import re
import secrets
import socket
import ssl
import subprocess
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import pytest
from services.gateway.tests.gateways import API, MANY_REQUESTS, Gateway, Gateways, plan
from tests.e2e.support.http_calls import PATIENCE_S

from loadpilot_gateway.limits import ADJUST_BYTES_MAX, BODY_SECS, READERS_MAX

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

ORIGIN = {"Origin": "http://evil.test"}
OPENAPI = Path(__file__).parents[2] / "openapi.json"
OPEN = {("GET", "/healthz"), ("GET", "/readyz"), ("POST", f"{API}/session")}
"""Paths without authentication."""
WORD = "0123456789abcdef-token"
MEMORY_KIB_MAX = 500_000
"""Far above what a gateway needs, far below what the hostile bodies together have."""


def secret(folder: Path, text: str, mode: int = 0o600) -> str:
    """A file that holds a secret."""
    file = folder / f"secret-{secrets.token_hex(4)}"
    file.write_text(text, encoding="utf-8")
    file.chmod(mode)
    return str(file)


@pytest.fixture
def gateway(fleet: Fleet, gateways: Gateways) -> Gateway:
    """A gateway of a fleet with an agent."""
    fleet.coordinator()
    fleet.agent("a-1")
    return gateways.start(**MANY_REQUESTS)


def raw(gateway: Gateway, request: bytes) -> bytes:
    """Sends bytes, and reads until the other side closes the connection."""
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=PATIENCE_S) as connection:
        connection.sendall(request)
        answer = b""
        while part := connection.recv(65_536):
            answer += part
        return answer


@pytest.mark.slow
def test_pages_of_other_origins_and_other_hosts_are_rejected(gateway: Gateway) -> None:
    """Broken if a page of another origin can read or start anything here from a browser."""
    here = f"http://127.0.0.1:{gateway.port}"
    for headers, status in (
        ({}, 200),
        ({"Origin": here}, 200),
        ({"Host": "localhost:1"}, 200),
        ({"Host": "[::1]:80"}, 200),
        (ORIGIN, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": here.replace("http", "https")}, 403),
        ({"Origin": f"{here}.evil.test"}, 403),
        ({"Host": "evil.test"}, 403),
        ({"Host": "127.0.0.1.evil.test:80"}, 403),
        ({"Host": "10.0.0.1"}, 403),
        ({"Host": ""}, 403),
        ({"Host": "localhost", "Origin": "http://evil.test"}, 403),
    ):
        answer = gateway.api("/runs", headers)
        assert answer.status == status, (headers, answer.body)
        assert (answer.kind == "application/problem+json") == (status == 403), headers
    assert gateway.tell("/runs", {"plan": {}}, ORIGIN).status == 403
    assert gateway.ask("GET", "/healthz", headers=ORIGIN).status == 403
    twice = b"GET /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nHost: evil.test\r\n"
    assert raw(gateway, twice + b"Connection: close\r\n\r\n").startswith(b"HTTP/1.1 4")
    policy = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=PATIENCE_S)
    policy.request("GET", "/healthz")
    page_headers = policy.getresponse().headers
    assert "unsafe-inline" not in page_headers["Content-Security-Policy"]
    assert "default-src 'self'" in page_headers["Content-Security-Policy"]
    assert page_headers["X-Content-Type-Options"] == "nosniff"
    policy.close()


@pytest.mark.slow
def test_hostile_questions_are_answered_with_a_place(gateway: Gateway) -> None:
    """Broken if an invalid id, cursor or range is accepted, or makes the gateway fail."""
    for path, status in (
        ("/runs/01unknownrun", 404),
        ("/runs/01unknownrun/plan", 404),
        ("/runs/01unknownrun/story", 404),
        ("/runs/01unknownrun/live", 404),
        ("/runs/..%2f..%2fetc%2fpasswd", 404),
        ("/runs/A%20B", 422),
        ("/runs/" + "a" * 129, 422),
        ("/runs/%00", 422),
        ("/runs/a.b.%3E", 422),
        ("/runs/*", 422),
        ("/runs/01unknownrun/story?after=-1", 422),
        ("/runs/01unknownrun/story?limit=0", 422),
        ("/runs?limit=1000000", 422),
        ("/runs?limit=x", 422),
        ("/runs?cursor=%2e%2e", 422),
        ("/runs?state=asleep", 422),
        ("/runs?nonsense=1", 422),
        ("/runs?tag=novalue", 422),
        ("/runs?" + "&".join(["tag=a:b"] * 101), 422),
        ("/runs?q=" + "q" * 201, 422),
        ("/compare?run=01unknownrun", 422),
        ("/compare?" + "&".join(f"run=r{n}" for n in range(9)), 422),
        ("/compare?run=r1&run=r2", 404),
        ("/nonsense", 404),
    ):
        answer = gateway.api(path)
        assert answer.status == status, (path, answer.body)
        problem = answer.json
        assert answer.kind == "application/problem+json"
        assert problem["status"] == status
        if status == 422:
            assert problem["problems"], path
            assert problem["code"] == "usage"
    assert gateway.api("/runs/01unknownrun").json["code"] == "unknown_run"
    resumed = gateway.api("/runs/01unknownrun/live", {"Last-Event-ID": "x"})
    assert resumed.status == 422
    for path, body, status in (
        ("/runs/01unknownrun/stop", b"", 404),
        ("/runs/01unknownrun/halt", b"", 404),
        ("/runs/01unknownrun/fly", b"", 422),
        ("/runs/01unknownrun/rate", {"rate": "0"}, 422),
        ("/runs/01unknownrun/rate", {"rate": "fast"}, 422),
        ("/runs/01unknownrun/rate", {"rate": "5", "more": 1}, 422),
        ("/runs/01unknownrun/rate", b"{", 400),
        ("/runs/01unknownrun/rate", {"rate": "5"}, 404),
        ("/runs/01unknownrun/rate", {"rate": "5" * 100_000}, 413),
    ):
        answer = gateway.tell(path, body)
        assert answer.status == status, (path, answer.body)
    half = b'"\\ud800"'
    for path, body, status in (
        ("/session", b'{"token":' + half + b"}", 422),
        ("/session", b'{"token":"' + b"s3cret" * 100 + b'"}', 422),
        ("/session", b'{"token":"a",' + half + b":1}", 422),
        ("/runs/01unknownrun/rate", b'{"rate":' + half + b"}", 422),
        ("/runs/01unknownrun/verdict", b'{"thresholds":{' + half + b":1}}", 404),
        ("/runs/01unknownrun/verdict", b'{"thresholds":[{' + half + b":1}]}", 404),
        ("/runs", b'{"plan":{},"tags":' + half + b"}", 422),
    ):
        answer = gateway.tell(path, body)
        assert answer.status == status, (path, body, answer.body)
        assert answer.kind == "application/problem+json"
        assert b"s3cret" not in answer.body
    for head in (b"X-A: a\0b\r\n", b"X-A: a\rb\r\n", b"X A: b\r\n", b"\xff\xfe: b\r\n"):
        ask = b"GET /api/v1/runs HTTP/1.1\r\nHost: localhost\r\n" + head + b"\r\n"
        assert raw(gateway, ask).startswith(b"HTTP/1.1 400"), head
    long = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 200_000 + b"\r\n\r\n"
    with suppress(ConnectionResetError, BrokenPipeError):
        assert raw(gateway, long).startswith(b"HTTP/1.1 400")
    assert gateway.ask("GET", "/healthz").body == b"ok\n"


@pytest.mark.slow
def test_hostile_plans_start_nothing(
    gateways: Gateways, gateway: Gateway, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a body that is too large, too deep or ambiguous costs more than its answer."""
    sound = plan(loadpilot, oracle)
    text = json.dumps(sound).encode()
    tasks = json.dumps({**sound, "tasks": sound["tasks"][:1] * 100_000}).encode()
    key = {"Idempotency-Key": "one"}
    for body, headers, status, problem in (
        (b"", {}, 422, "body: cannot be read"),
        (b"{", {}, 422, "body: cannot be read"),
        (b"[]", {}, 422, "body: cannot be read"),
        (text + b"{}", {}, 422, "body: cannot be read"),
        (b'{"plan":' + b"[" * 10_000 + b"]" * 10_000 + b"}", {}, 422, "body: cannot be read"),
        (text[:-1] + b',"warm_up_us":0}', {}, 422, 'the key "warm_up_us" stands twice'),
        (b'{"' + b"k" * 5_000_000 + b'":1}', {}, 422, "plan."),
        (text.replace(b'"GET"', b'"STEAL"'), {}, 422, "method"),
        (b'{"plan":' + text + b',"agents":{"want":0}}', {}, 422, "agents.want: must be 1 to"),
        (b'{"plan":' + text + b',"nonsense":1}', {}, 422, "unknown field `nonsense`"),
        (b'{"plan":' + text + b',"run":"abc"}', {}, 422, "run: must be absent"),
        (tasks, {}, 422, "tasks: must"),
        (text, {"Content-Type": "text/plain"}, 415, ""),
        (text, {"Idempotency-Key": "a b"}, 422, "Idempotency-Key"),
        (text, {"Idempotency-Key": "k" * 201}, 422, "Idempotency-Key"),
        (b'{"plan":' + text + b',"secrets":{"A":["s3cret"]}}', key, 422, "secrets: must be"),
    ):
        answer = gateway.tell("/runs", body, headers)
        assert answer.status == status, (body[:80], answer.body[:300])
        assert problem in answer.problems, (body[:80], answer.body[:300])
        assert len(answer.body) < 40_000, body[:80]
        assert b"s3cret" not in answer.body
        if len(body) < ADJUST_BYTES_MAX:  # else it is cut while it is sent
            adjusted = gateway.tell("/plans/adjust", body)
            assert adjusted.status in {200, 400, 422}, (body[:80], adjusted.body[:300])
            assert adjusted.status != 200 or adjusted.json["problems"] or adjusted.json["facts"]
            assert b"s3cret" not in adjusted.body
        if status == 422 and "Idempotency" not in problem and "must be absent" not in problem:
            checked = gateway.tell("/plans/check", body)
            assert checked.status == 200, checked.body[:300]
            assert checked.json["problems"] or checked.json["facts"] is None
    too_large(gateway)
    (process,) = gateways.processes
    status_file = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    peak = next(line for line in status_file.splitlines() if line.startswith("VmHWM"))
    assert int(peak.split()[1]) < MEMORY_KIB_MAX
    checked = gateway.tell("/plans/check", sound).json
    assert checked["problems"] == []
    assert checked["facts"]["planned"] == 150
    assert gateway.api("/runs").json["runs"] == []
    assert oracle.counts().received == 0


def too_large(gateway: Gateway) -> None:
    """A body with a length is refused unread, a body without one when it reaches the limit."""
    head = f"POST {API}/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=PATIENCE_S) as long:
        long.sendall(f"{head}Content-Length: 40000000000\r\n\r\n".encode())
        assert long.recv(64).startswith(b"HTTP/1.1 413 ")
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=PATIENCE_S) as endless:
        endless.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        with pytest.raises(OSError, match=r"reset|pipe"):
            endless.sendall(b"8000000\r\n" + bytes(0x8000000))


@pytest.mark.slow
def test_a_silent_caller_is_cut(fleet: Fleet, gateways: Gateways, tmp_path: Path) -> None:
    """Broken if connections with half a request keep others out, or stay for ever."""
    fleet.coordinator()
    most = 30
    gateway = gateways.start(TOKEN_FILE=secret(tmp_path, WORD), ADDRESS_CONNECTIONS=str(most + 1))
    head = f"GET {API}/runs HTTP/1.1\r\nHost: localhost\r\n"
    silent = [socket.create_connection(("127.0.0.1", gateway.port)) for _ in range(most)]
    for number, one in enumerate(silent):
        one.settimeout(PATIENCE_S)
        if number % 3:
            # The answer shows that the gateway has counted the connection.
            length = "Content-Length: 9\r\n" if number % 3 == 1 else ""
            one.sendall(f"{head}{length}\r\n".encode())
            assert one.recv(65_536).startswith(b"HTTP/1.1 401 ")
        one.sendall(b"half" if number % 3 == 1 else head.encode())
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=PATIENCE_S) as last:
        last.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert last.recv(65_536).startswith(b"HTTP/1.1 200 ")
        with pytest.raises(OSError, match=r"reset|closed|pipe"):
            gateway.ask("GET", "/healthz")
    for one in silent:
        # A time-out would raise another exception.
        with suppress(ConnectionResetError):
            while one.recv(65_536):
                pass
        one.close()
    for _ in range(most):
        assert gateway.ask("GET", "/healthz").status == 200
    assert f"holds {most + 1} connections" in gateways.processes[0].output


@pytest.mark.slow
def test_slow_checks_of_plans_block_no_start(gateway: Gateway) -> None:
    """Broken if callers with the role viewer can keep all others of their tenant from starting
    runs."""
    with ExitStack() as held:
        for _ in range(READERS_MAX):
            slow = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=PATIENCE_S)
            held.enter_context(closing(slow))
            slow.putrequest("POST", f"{API}/plans/check")
            slow.putheader("Content-Type", "application/json")
            slow.putheader("Content-Length", "9")
            slow.endheaders(b"{")
        assert gateway.api("/me").status == 200
        began = monotonic()
        assert gateway.tell("/runs", {"plan": {}}).status == 422
        assert monotonic() - began < BODY_SECS / 2


@pytest.mark.slow
def test_callers_with_the_token_are_authenticated(
    fleet: Fleet, gateways: Gateways, tmp_path: Path
) -> None:
    """Broken if a caller without the token or its cookie is authenticated."""
    fleet.coordinator()
    gateway = gateways.start(TOKEN_FILE=secret(tmp_path, WORD))
    authorized = {"Authorization": f"Bearer {WORD}"}
    assert gateway.api("/runs", authorized).status == 200
    for wrong in ("", "Bearer ", f"Bearer {WORD[:-1]}", f"Basic {WORD}", f"Bearer {WORD}x"):
        assert gateway.api("/runs", {"Authorization": wrong}).status == 401, wrong
    paths = json.loads(OPENAPI.read_text(encoding="utf-8"))["paths"]
    described = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    described |= {("GET", f"{API}/openapi.json"), ("GET", f"{API}/nonsense")}
    assert described > OPEN
    for method, path in described - OPEN:
        assert gateway.ask(method, re.sub(r"{\w+}", "x", path)).status == 401, path
    for path in ("/healthz", "/readyz"):
        assert gateway.ask("GET", path).status == 200, path
    assert gateway.tell("/session", {"token": "wrong"}).status == 401
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=PATIENCE_S)
    connection.request(
        "POST", f"{API}/session", json.dumps({"token": WORD}), {"Content-Type": "application/json"}
    )
    opened = connection.getresponse()
    cookie = opened.headers["Set-Cookie"]
    assert opened.status == 204
    assert "HttpOnly; SameSite=Strict" in cookie
    assert WORD not in cookie
    connection.close()
    pair = cookie.partition(";")[0]
    assert gateway.api("/me", {"Cookie": pair}).status == 200
    # All ports of a host share cookies: other servers may set any cookie.
    others = ("other=1", 'prefs={"mode":"dark"}', "a=x y", "user[id]=7", "flag", "ü", f"x{pair}0")
    for other in others:
        for cookies in (f"{other}; {pair}", f"{pair};{other}"):
            assert gateway.api("/me", {"Cookie": cookies}).status == 200, cookies
    assert gateways.start(TOKEN_FILE=secret(tmp_path, WORD)).api("/me").status == 401
    name, _, value = pair.partition("=")
    until, _, signed = value.partition(".")
    for forged in (f"9{until}.{signed}", f"{until}.{'0' * 64}", until, "", f"{until}.", "é.é"):
        refused = gateway.api("/me", {"Cookie": f"{name}={forged}"})
        assert refused.status == 401, forged
    assert gateway.api("/me", {"Cookie": pair, **ORIGIN}).status == 403
    for process in gateways.processes:
        assert WORD not in process.output


@pytest.mark.slow
def test_a_proxy_is_trusted_from_its_address_only(
    fleet: Fleet, gateways: Gateways, tmp_path: Path
) -> None:
    """Broken if a caller can name itself without the proxy, or if a proxied page is rejected, also
    on an IPv6 socket that accepts IPv4."""
    fleet.coordinator()
    settings = {
        "PROXY_HEADER": "X-User",
        "PUBLIC_NAMES": "load.example.test, LOAD2.example.test",
        "PROXY_SECRET_FILE": secret(tmp_path, WORD),
    }
    proxied = gateways.start(PROXY_FROM="127.0.0.0/8", **settings)
    proxied_headers = {"Host": "load.example.test", "X-LoadPilot-Proxy-Secret": WORD}
    named = {"X-User": "ann@example.test", **proxied_headers}
    me = proxied.api("/me", {**named, "Origin": "https://load.example.test"})
    assert (me.status, me.json["user"]) == (200, "ann@example.test")
    assert proxied.api("/me", {**named, "Host": "load2.example.test:8443"}).status == 200
    assert proxied.api("/me", {**named, **ORIGIN}).status == 403
    assert proxied.api("/me", proxied_headers).status == 401
    # Another process of this machine, and a page whose own name resolves to this machine.
    for wrong in ("", WORD[:-1], f"{WORD}x"):
        assert proxied.api("/me", {**named, "X-LoadPilot-Proxy-Secret": wrong}).status == 401
    for host in ("evil.test", "localhost", "127.0.0.1", "load.example.test.evil.test"):
        refused = proxied.api("/me", {**named, "Host": host})
        assert (refused.status, "PUBLIC_NAMES" in refused.json["detail"]) == (403, True), host
    twice = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    ask = f"GET {API}/me HTTP/1.1\r\n{twice}X-User: eve\r\nConnection: close\r\n\r\n"
    assert raw(proxied, ask.encode()).startswith(b"HTTP/1.1 403")
    assert proxied.ask("GET", "/healthz").status == 200
    for network in ("127.0.0.0/8", "::ffff:127.0.0.0/104"):
        of_both = gateways.start(HOST="::", PROXY_FROM=network, **settings)
        assert of_both.api("/me", named).status == 200, network
    elsewhere = gateways.start(PROXY_FROM="10.0.0.0/8,192.0.2.1", **settings)
    assert elsewhere.api("/me", named).status == 401
    for process in gateways.processes:
        assert WORD not in process.output
    near = {"HOST": "0.0.0.0", "PROXY_FROM": "0.0.0.0/0", "PROXY_HEADER": "X-User"}
    mapped = near | {"PROXY_FROM": "::ffff:0:0/96"}
    for wrong in ({"PROXY_FROM": "10.0.0.0/8", "PROXY_HEADER": "X-User"}, near, mapped):
        ended = gateways.process("--check-config", **wrong).end(30)
        for name in ("PROXY_SECRET_FILE", "PUBLIC_NAMES"):
            must = f"{name}: must be set for a proxy on loopback"
            assert (ended.code, must in ended.stderr) == (2, True), ended.stderr
    far = {"HOST": "0.0.0.0", "PROXY_FROM": "10.0.0.0/8", "PROXY_HEADER": "X-User"}
    assert gateways.process("--check-config", **far).end(30).code == 0


def certificate(folder: Path) -> tuple[str, str]:
    """A certificate of 127.0.0.1 and its key."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt"),
            *("ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=test"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(cert)),
        ],
        check=True,
        capture_output=True,
    )
    key.chmod(0o600)
    return str(cert), str(key)


def test_it_serves_over_tls(fleet: Fleet, gateways: Gateways, tmp_path: Path) -> None:
    """Broken if the certificate is wrong, or a browser sends the cookie elsewhere."""
    fleet.coordinator()
    cert, key = certificate(tmp_path)
    settings = {"TLS_CERT": cert, "TLS_KEY": key, "TOKEN_FILE": secret(tmp_path, WORD)}
    gateway = gateways.start(HOST="0.0.0.0", **settings)
    context = ssl.create_default_context(cafile=cert)
    connection = http.client.HTTPSConnection(
        "127.0.0.1", gateway.port, timeout=PATIENCE_S, context=context
    )
    connection.request(
        "POST", f"{API}/session", json.dumps({"token": WORD}), {"Content-Type": "application/json"}
    )
    opened = connection.getresponse()
    assert opened.status == 204
    assert opened.headers["Set-Cookie"].startswith("__Host-")
    assert "; Secure" in opened.headers["Set-Cookie"]
    assert "max-age" in opened.headers["Strict-Transport-Security"]
    connection.close()


@pytest.mark.slow
def test_every_mistake_of_the_settings_is_reported_and_no_secret(
    fleet: Fleet, gateways: Gateways, tmp_path: Path
) -> None:
    """Broken if the gateway starts with a typing error, reports one mistake at a time, or shows a
    secret."""
    cert, key = certificate(tmp_path)
    open_token = secret(tmp_path, "short-s3cret", 0o644)
    checked = gateways.process("--check-config")
    assert checked.end(30).code == 0
    assert "configuration is valid" in checked.output
    assert fleet.token not in checked.output
    process = gateways.process(
        "--check-config",
        HOST="0.0.0.0",
        PORT="99999",
        TOKEN_FILE=open_token,
        TLS_CERT=key,
        TLS_KEY=cert,
        NATS_URL="http://user:s3cret@example.test",
        NATS_CREDS="/nowhere",
        TENANT="A B",
        PROXY_HEADER="X User",
        HOTS="x",
    )
    ended = process.end(30)
    assert ended.code == 2
    for place in (
        "PORT: Input should be",
        "TOKEN_FILE: must be readable by its owner only",
        "TOKEN_FILE: must hold a token",
        "TLS_CERT: must be a certificate",
        "NATS_URL: must be nats://",
        "NATS_CREDS: must be a credentials file",
        "TENANT: must be",
        "PROXY_FROM: must be set too",
        "HOTS: is not a setting of the gateway; did you mean LOADPILOT_GATEWAY_HOST?",
    ):
        assert f"LOADPILOT_GATEWAY_{place}" in ended.stderr, ended.stderr
    assert "s3cret" not in ended.stderr
    for missing in ({}, {"TOKEN_FILE": secret(tmp_path, WORD)}):
        ended = gateways.process(HOST="0.0.0.0", **missing).end(30)
        assert (ended.code, "must be on loopback, or have TLS" in ended.stderr) == (2, True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = gateways.process(PORT=str(taken.getsockname()[1])).end(30)
    assert (ended.code, "cannot listen at" in ended.stderr) == (4, True)
    assert os.environ.get("LOADPILOT_GATEWAY_HOST") is None
