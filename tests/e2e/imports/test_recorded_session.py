"""A scenario that `loadpilot record` wrote sends the recorded requests again."""

from __future__ import annotations

import gzip
import signal
import socket
import ssl
from typing import TYPE_CHECKING
from urllib.parse import quote

import httpx
import pytest
from tests.e2e.imports.request_comparison import seen
from tests.e2e.support.certificates import identity
from tests.e2e.support.echo import echo
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Finished, Loadpilot, Running

HEADERS = {"content-type", "x-trace"}
ONCE = ("--rps", "1", "--duration", "1s", "--mode", "constant")


def begun(loadpilot: Loadpilot, target: str, *flags: str) -> tuple[Running, str]:
    """Start a recording; return it and its URL."""
    recording = loadpilot.begin("record", "--target", target, "--listen", "0", *flags)
    return recording, recording.until("recording: ").split()[1]


def ended(recording: Running) -> Finished:
    """End a recording."""
    recording.signal(signal.SIGINT)
    return recording.end()


@pytest.mark.slow
def test_a_recorded_session_is_sent_again(loadpilot: Loadpilot, tmp_path: Path) -> None:
    """Broken if a request is lost or changed, by the proxy or by the scenario. 5 s."""
    scenario = tmp_path / "scenario.py"
    with Oracle(built_binary(), tmp_path / "recorded.jsonl", log_headers=True) as oracle:
        recording, url = begun(loadpilot, oracle.url, "-o", str(scenario))
        with recording, httpx.Client(base_url=url) as client:
            client.get("/products", params={"q": "dark blue", "path": "a/b"})
            client.post("/api/orders", json={"product": 7}, headers={"X-Trace": "one"})
            client.put("/notes/5", content=b"\x00\xff plain", headers={"X-Trace": "two"})
            client.post("/profile", data={"name": "Ann", "town": "New York"})
            client.delete("/notes/5")
            client.get("/logo.png")
            recording.signal(signal.SIGINT)
            finished = recording.end()
        assert finished.code == 0, finished.stderr
        assert "6 requests were recorded" in finished.stderr
        assert "images are left out" in finished.stderr
        wanted = seen(oracle.requests(), HEADERS)
    assert len(wanted) == 6
    with Oracle(built_binary(), tmp_path / "sent.jsonl", log_headers=True) as oracle:
        ran = loadpilot.run(scenario, oracle.url, *ONCE)
        assert ran.judged == 0, ran.stderr
        assert seen(oracle.requests(), HEADERS) == wanted[:-1]


def test_what_names_the_proxy_is_changed_on_both_ways(loadpilot: Loadpilot, tmp_path: Path) -> None:
    """Broken if a target that checks the origin refuses requests that it accepts from its own
    pages. 2 s."""
    with Oracle(built_binary(), tmp_path / "o.jsonl", log_headers=True) as oracle:
        recording, url = begun(loadpilot, oracle.url)
        with recording:
            headers = {"Origin": url, "Referer": f"{url}/basket", "Connection": "close, x-hop"}
            answer = httpx.post(f"{url}/a", headers=headers | {"X-Hop": "1"}, content=b"x")
            assert answer.status_code == 200
            recording.signal(signal.SIGTERM)
            finished = recording.end()
        (request,) = oracle.requests()
    sent = dict(request.headers or ())
    assert sent["host"] == oracle.url.removeprefix("http://")
    assert (sent["origin"], sent["referer"]) == (oracle.url, f"{oracle.url}/basket")
    assert "x-hop" not in sent
    assert 'client.post("/a"' in finished.stdout, "without -o the scenario is not printed"


def test_a_dead_target_is_said_and_nothing_is_written(loadpilot: Loadpilot, tmp_path: Path) -> None:
    """Broken if a request without a response becomes part of the scenario. 2 s."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    scenario = tmp_path / "scenario.py"
    recording, url = begun(loadpilot, f"http://127.0.0.1:{port}", "-o", str(scenario))
    with recording:
        assert httpx.get(f"{url}/a").status_code == 502
        assert "the target does not answer" in recording.until("GET /a")
        recording.signal(signal.SIGINT)
        finished = recording.end()
    assert finished.code == 2
    assert "has no request that can be carried over" in finished.stderr
    assert not scenario.exists()


def test_a_target_may_be_written_in_any_way(loadpilot: Loadpilot, tmp_path: Path) -> None:
    """Broken if capitals or the default port in --target lose the whole session. 2 s."""
    with Oracle(built_binary(), tmp_path / "o.jsonl") as oracle:
        target = oracle.url.replace("http://127.0.0.1", "HTTP://LocalHost")
        recording, url = begun(loadpilot, f"{target}/")
        with recording:
            assert httpx.get(f"{url}/a").status_code == 200
            finished = ended(recording)
    assert finished.code == 0, finished.stderr
    assert 'client.get("/a"' in finished.stdout
    with loadpilot.begin("record", "--target", "https://Shop.example:443", "--listen=0") as idle:
        assert "-> https://shop.example;" in idle.until("recording: ")


def test_a_compressed_body_reaches_the_target_as_it_came(loadpilot: Loadpilot) -> None:
    """Broken if the target gets another body than its headers describe, or if the scenario has a
    compressed body that hides a secret. 2 s."""
    packed, unreadable = gzip.compress(b'{"product": 7, "password": "hunter2"}'), b"\x0b\x02\x80a"
    headers = {"Content-Type": "application/json"}
    with echo() as (target, received):
        recording, url = begun(loadpilot, target)
        with recording, httpx.Client(base_url=url, headers=headers) as client:
            client.post("/a", content=packed, headers={"Content-Encoding": "gzip"})
            client.post("/b", content=unreadable, headers={"Content-Encoding": "br"})
            finished = ended(recording)
    assert [(path, body) for _, path, _, body in received] == [("/a", packed), ("/b", unreadable)]
    assert [dict(sent)["content-encoding"] for _, _, sent, _ in received] == ["gzip", "br"]
    assert '"product": 7' in finished.stdout
    assert "encoding" not in finished.stdout.lower()
    assert "hunter2" not in finished.stdout
    assert "POST /b: is not recorded: its content coding, br, cannot be read" in finished.stderr
    assert "1 requests were not recorded" in finished.stderr


def test_an_offer_of_another_protocol_is_answered_in_this_one(
    loadpilot: Loadpilot, tmp_path: Path
) -> None:
    """Broken if clients that offer HTTP/2 without TLS are refused as WebSockets. 2 s."""
    offer = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAAB"}
    socket_of_web = {"Connection": "keep-alive, Upgrade", "Upgrade": "websocket"}
    with Oracle(built_binary(), tmp_path / "o.jsonl", log_headers=True) as oracle:
        recording, url = begun(loadpilot, oracle.url)
        with recording:
            assert httpx.get(f"{url}/a", headers=offer).status_code == 200
            assert httpx.post(f"{url}/b", headers=offer, content=b"x").status_code == 200
            assert httpx.get(f"{url}/c", headers=socket_of_web).status_code == 501
            finished = ended(recording)
        requests = oracle.requests()
    assert [one.path for one in requests] == ["/a", "/b"]
    assert not {"upgrade", "http2-settings"} & {name for name, _ in requests[1].headers or ()}
    assert "2 requests were recorded" in finished.stderr
    assert "http2" not in finished.stdout.lower()


def test_a_body_does_not_wait_for_the_target(loadpilot: Loadpilot) -> None:
    """Broken if the proxy passes on Expect, and waits for a target that sends no interim response.
    2 s."""
    with echo() as (target, received):
        recording, url = begun(loadpilot, target)
        with recording:
            headers = {"Expect": "100-continue"}
            assert httpx.post(f"{url}/a", content=b"x", headers=headers).status_code == 200
            finished = ended(recording)
    ((_, _, sent, body),) = received
    assert (dict(sent).get("expect"), body) == (None, b"x")
    assert 'client.post("/a", content="x")' in finished.stdout
    assert "Expect" not in finished.stderr


def test_a_body_above_the_limit_is_said_and_counted(loadpilot: Loadpilot) -> None:
    """Broken if the scenario silently lacks a request. 2 s."""
    with echo() as (target, received):
        recording, url = begun(loadpilot, target)
        with recording:
            assert httpx.post(f"{url}/large", content=bytes((16 << 20) + 1)).status_code == 413
            assert httpx.get(f"{url}/a").status_code == 200
            finished = ended(recording)
    assert [path for _, path, _, _ in received] == ["/a"]
    assert "POST /large: a body of more than 16 MiB is not passed on" in finished.stderr
    assert "1 requests were not recorded" in finished.stderr


def test_only_redirects_to_the_target_lead_back(loadpilot: Loadpilot) -> None:
    """Broken if a redirect to another port becomes an invalid address. 1 s."""
    with echo() as (target, _):
        recording, url = begun(loadpilot, target)
        with recording:

            def led(location: str) -> str:
                path = f"/redirect-to/{quote(location, safe='')}"
                return httpx.get(url + path).headers["location"]

            for rest in ("", "/x", "?x=1", "#x"):
                assert led(target + rest) == url + rest
            for other in (f"{target}0/x", "/x", "https://shop.example/x"):
                assert led(other) == other
            assert led(target.replace("http", "HTTP") + "/x") == f"{url}/x"


def test_cookies_whose_names_need_tls_are_kept(loadpilot: Loadpilot) -> None:
    """Broken if a browser refuses __Host- and __Secure- cookies, or if the target or the scenario
    gets them under another name. 1 s."""
    with echo() as (target, received):
        recording, url = begun(loadpilot, target)
        with recording, httpx.Client(base_url=url) as client:
            client.get("/set-prefixed-cookies")
            kept = {cookie.name: (cookie.value, cookie.secure) for cookie in client.cookies.jar}
            client.get("/a")
            client.get("/b", headers={"Cookie": "a__Host-x=1; recorded__Host-other=o-1"})
            finished = ended(recording)
    assert kept == {"recorded__Host-sid": ("h-1", False), "recorded__Secure-id": ("s-1", False)}
    cookies = [dict(headers).get("cookie") for _, _, headers, _ in received]
    assert cookies[1] is not None
    assert {*cookies[1].split("; ")} == {"__Host-sid=h-1", "__Secure-id=s-1"}
    assert cookies[2] == "a__Host-x=1; __Host-other=o-1"
    assert "cookies that the target sets are left to each user" in finished.stderr
    assert '"__Host-other"' in finished.stdout
    assert "recorded__" not in finished.stdout


def test_a_download_that_the_client_ends_is_no_think_time(loadpilot: Loadpilot) -> None:
    """Broken if an aborted response makes each user wait for a minute. 2 s."""
    with echo(answers={"/large": ("identity", bytes(32 << 20))}) as (target, _):
        recording, url = begun(loadpilot, target)
        with recording:
            with httpx.stream("GET", f"{url}/large") as answer:
                assert next(answer.iter_raw(1))
            assert httpx.get(f"{url}/a").status_code == 200
            finished = ended(recording)
    assert "2 requests were recorded" in finished.stderr
    assert "think times" not in finished.stderr


def test_the_certificate_of_a_target_is_verified(loadpilot: Loadpilot, tmp_path: Path) -> None:
    """Broken if an untrusted certificate of a target is accepted, or if a target with an authority
    of its own cannot be reached. 3 s."""
    own = identity(tmp_path / "tls", "IP:127.0.0.1")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(own.cert, own.key)
    flags: dict[tuple[str, ...], int] = {
        (): 502,
        ("--cacert", str(own.authority)): 200,
        ("--insecure",): 200,
    }
    with echo(tls) as (target, _):
        for given, status in flags.items():
            recording, url = begun(loadpilot, target, *given)
            with recording:
                assert httpx.get(f"{url}/a").status_code == status, given


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--target", "http://h/base"), "--target: must be an origin"),
        (("--target", "ftp://h"), "--target: must be http://host"),
        (("--target", "http://h", "--listen", "0.0.0.0:80"), "--listen: must be a port"),
        (("--target", "http://h", "-o", __file__), "is there already; name a new file"),
        (
            ("--target", "https://h", "--cacert", "no.pem"),
            "--cacert: no.pem cannot be read: No such",
        ),
        (("--target", "https://h", "--cacert", __file__), "--cacert: must be a PEM file with a"),
    ],
)
def test_a_wrong_value_starts_nothing(
    loadpilot: Loadpilot, flags: tuple[str, ...], says: str
) -> None:
    """Broken if a wrong value, such as an existing or impossible file, is named only after the
    recording."""
    finished = loadpilot.call("record", *flags)
    assert finished.code == 2, finished.stderr
    assert says in finished.stderr
