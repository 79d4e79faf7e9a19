"""Connections to the target: settings of scenarios and flags, and which of them are refused."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from sdk.tests.conftest import HEAD

from loadpilot.cli.output.plan_summary import connections_text
from loadpilot.compile.plan import compile_scenario
from loadpilot.compile.scenario.connections import ConnectionFlags
from loadpilot.compile.scenario.settings import Overrides
from loadpilot.problem import Refused
from loadpilot.scenario_file.load import choose, load

if TYPE_CHECKING:
    from pathlib import Path

    from loadpilot.compile.plan import Compiled

SCENE = """
@scenario(rps=1, duration="1s", mode="constant"{said})
class S(VUser):
    @task
    def one(self, client): client.get("/")
"""
HTTPS = "https://shop.example"
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=user")


def identity(folder: Path, name: str) -> tuple[Path, Path]:
    """Make a certificate and its key; returns their files."""
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    made = ["openssl", "req", "-x509", *NEW_KEY, "-keyout", str(key), "-out", str(cert)]
    subprocess.run(made, check=True, capture_output=True)
    return cert, key


def compiled(folder: Path, said: str, flags: ConnectionFlags, target: str = HTTPS) -> Compiled:
    """Compile a scenario whose ``connections=`` is ``said``."""
    path = folder / "scene.py"
    text = SCENE.format(said=f", connections={said}" if said else "")
    path.write_text(HEAD + text, encoding="utf-8")
    loaded = load(path)
    overrides = Overrides(connections=flags)
    return compile_scenario(loaded, choose(loaded, None), target, overrides)


SAID: dict[str, tuple[dict[str, Any], str]] = {
    "": ({}, ""),
    "{'http': '1.1', 'reuse': 'always'}": ({}, ""),
    "{'http': '2', 'streams_max': 20}": (
        {"http": "2", "streams_max": 20},
        "HTTP/2, at most 20 requests at a time on a connection",
    ),
    "{'max': 50}": ({"max": 50}, "at most 50 connections an agent"),
    "{'max': 1, 'http': '2'}": (
        {"http": "2", "max": 1},
        "HTTP/2, at most 1 connection an agent",
    ),
    "{'open_first': 20, 'max': 20}": (
        {"max": 20, "open_first": 20},
        "at most 20 connections an agent, 20 connections an agent opened before the start",
    ),
    "{'other_targets': ['https://b.example', 'https://c.example/v2']}": (
        {"other_targets": ["https://b.example", "https://c.example/v2"]},
        "further targets https://b.example, https://c.example/v2",
    ),
    "{'ip': 6}": ({"ip": "6"}, "IPv6 only"),
    "{'http': 'auto'}": ({"http": "auto"}, "HTTP as the target chooses"),
    "{'reuse': 'never'}": ({"reuse": "never"}, "a new connection for every call"),
    "{'reuse': 0.3}": (
        {"reuse": {"share_ppm": 300_000}},
        "connections reused by 30.00 % of the calls",
    ),
    "{'requests_max': 100, 'age_max': '30s'}": (
        {"requests_max": 100, "age_us_max": 30_000_000},
        "connections closed after 100 requests, connections closed after 30 s",
    ),
    "{'connect_to': 'unix:/run/shop.sock'}": (
        {"connect_to": "unix:/run/shop.sock"},
        "connected to unix:/run/shop.sock",
    ),
    "{'sources': ['10.0.0.5:20000-30000', '[fd00::1]:7-9']}": (
        {"sources": ["10.0.0.5:20000-30000", "[fd00::1]:7-9"]},
        "from 10.0.0.5:20000-30000, [fd00::1]:7-9 in turn",
    ),
    "{'proxy': 'socks5://10.0.0.9:1080'}": (
        {"proxy": {"url": "socks5://10.0.0.9:1080"}},
        "through the proxy socks5://10.0.0.9:1080",
    ),
    "{'redirects': 1}": ({"redirects_max": 1}, "at most 1 redirect followed in a call"),
    "{'redirects': 0}": ({}, ""),
    "{'sources': ['127.0.0.2', '127.0.0.3'], 'resolve_every': 5}": (
        {"sources": ["127.0.0.2", "127.0.0.3"], "resolve_us": 5_000_000},
        "from 127.0.0.2, 127.0.0.3 in turn, name resolved every 5 s",
    ),
}


@pytest.mark.parametrize("said", SAID)
def test_settings_are_planned_and_shown(said: str, tmp_path: Path) -> None:
    """Broken if a setting is lost on its way, or if a run with unusual connections does not say
    so."""
    planned, words = SAID[said]
    target = "http://shop.example" if "unix:" in said else HTTPS
    plan = compiled(tmp_path, said, ConnectionFlags(), target).plan
    assert plan.get("connections", {}) == planned
    assert connections_text(planned) == words


def test_flags_win_setting_by_setting(tmp_path: Path) -> None:
    """Broken if a flag discards the scenario's other settings."""
    flags = ConnectionFlags(
        http="1.1", max="9", reuse="0.5", connect_to="10.0.0.7:80", sources=("::1",), redirects="0"
    )
    settings = "{'http': 'auto', 'requests_max': 7, 'reuse': 'never', 'max': 8, 'redirects': 5}"
    plan = compiled(tmp_path, settings, flags).plan
    assert plan["connections"] == {
        "max": 9,
        "reuse": {"share_ppm": 500_000},
        "requests_max": 7,
        "connect_to": "10.0.0.7:80",
        "sources": ["::1"],
    }


def test_a_private_key_is_a_secret(tmp_path: Path) -> None:
    """Broken if a key could be read from the plan, and so from the log and every report."""
    cert, key = identity(tmp_path, "user")
    flags = ConnectionFlags(cert=str(cert), key=str(key), cacert=str(cert))
    done = compiled(tmp_path, "", flags)
    tls = done.plan["connections"]["tls"]
    handle = tls["identity"]["key_secret"]
    assert tls["identity"]["certificate_pem"] == tls["roots_pem"] == cert.read_text()
    assert done.secrets == {handle: key.read_text()}
    assert key.read_text().splitlines()[1] not in done.plan_json()
    words = connections_text(done.plan["connections"])
    assert words == "certificates trusted as given, with a client certificate"


def test_a_key_of_another_certificate_is_refused(tmp_path: Path) -> None:
    """Broken if a stack starts before the agents find that certificate and key do not match, or if
    a key that agents cannot read is not refused."""
    cert, key = identity(tmp_path, "user")
    _, other = identity(tmp_path, "other")
    what = f"--cert: {other} of --key is not the private key of the certificate in {cert}"
    with pytest.raises(Refused, match=re.escape(what)):
        compiled(tmp_path, "", ConnectionFlags(cert=str(cert), key=str(other)))
    key.write_text("-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n")
    with pytest.raises(Refused, match="must be a certificate and its key") as refused:
        compiled(tmp_path, "", ConnectionFlags(cert=str(cert), key=str(key)))
    assert "hunter2" not in str(refused.value)


def test_credentials_of_a_proxy_are_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a password could be read from the plan or a message. Costs 0.1 s."""
    monkeypatch.setenv("PATH", "no login")
    monkeypatch.setenv("PROXY_LOGIN", "me:hunter2:x")
    flags = ConnectionFlags(proxy="http://proxy:80", proxy_credentials_env="PROXY_LOGIN")
    done = compiled(tmp_path, "", flags)
    proxy = done.plan["connections"]["proxy"]
    assert done.secrets == {proxy["credentials_secret"]: "me:hunter2:x"}
    assert "hunter2" not in done.plan_json()
    words = connections_text(done.plan["connections"])
    assert words == "through the proxy http://proxy:80, with credentials"
    for secret in ("me:", ":hunter2", "hunter2", "me:hunt\ner2"):
        monkeypatch.setenv("PROXY_LOGIN", secret)
        with pytest.raises(Refused) as refused:
            compiled(tmp_path, "", flags)
        assert "hunt" not in str(refused.value)


def test_unverified_tls_is_shown(tmp_path: Path) -> None:
    """Broken if the opening does not say that the certificate is not verified."""
    plan = compiled(tmp_path, "", ConnectionFlags(insecure=True)).plan
    assert "NOT verified" in connections_text(plan["connections"])


REFUSED: dict[str, tuple[str, ConnectionFlags, str, str]] = {
    "not a dict": ("['http']", ConnectionFlags(), HTTPS, "must be a dict"),
    "unknown": ("{'htp': '2'}", ConnectionFlags(), HTTPS, "must be one of other_targets, http, "),
    "version": ("{'http': 2}", ConnectionFlags(), HTTPS, "http: must be one of 1.1, 2, auto"),
    "targets": (
        "{'other_targets': 'http://b'}",
        ConnectionFlags(),
        HTTPS,
        'must be a list such as ["http://other:8000"]',
    ),
    "a target of the other scheme": (
        "{'other_targets': ['http://b.example']}",
        ConnectionFlags(),
        HTTPS,
        "or https like them",
    ),
    "flag": ("", ConnectionFlags(http="3"), HTTPS, "--http: must be one of 1.1, 2, auto"),
    "share": ("", ConnectionFlags(reuse="1.5"), HTTPS, "--reuse: must be always, never"),
    "share is no bool": ("{'reuse': True}", ConnectionFlags(), HTTPS, "must be always, never"),
    "count": ("{'requests_max': 0}", ConnectionFlags(), HTTPS, "of at least 1"),
    "user in a proxy": (
        "{'proxy': 'http://u:p@proxy:80'}",
        ConnectionFlags(),
        HTTPS,
        "without user and password; --proxy-credentials-env names their variable",
    ),
    "https proxy": ("", ConnectionFlags(proxy="https://p:1"), HTTPS, "socks5://host:port"),
    "credentials alone": (
        "",
        ConnectionFlags(proxy_credentials_env="PATH"),
        HTTPS,
        "--proxy-credentials-env: needs a proxy",
    ),
    "no such variable": (
        "{'proxy': 'http://proxy:80'}",
        ConnectionFlags(proxy_credentials_env="NO_SUCH_LOGIN"),
        HTTPS,
        "must be a variable of the environment (got 'NO_SUCH_LOGIN')",
    ),
    "no credentials": (
        "{'proxy': 'http://proxy:80', 'proxy_credentials_env': 'HOME'}",
        ConnectionFlags(),
        HTTPS,
        "the value of HOME must be user:password in printable ASCII",
    ),
    "redirects": ("{'redirects': -1}", ConnectionFlags(), HTTPS, "number of at least 0"),
    "many redirects": (
        "",
        ConnectionFlags(redirects="21"),
        HTTPS,
        "--redirects: must be 1 to 20",
    ),
    "many redirects of the scenario": (
        "{'redirects': 21}",
        ConnectionFlags(),
        HTTPS,
        "connections redirects: must be 1 to 20",
    ),
    "age": ("{'age_max': '0s'}", ConnectionFlags(), HTTPS, "must be longer than 0"),
    "place": ("", ConnectionFlags(connect_to="shop"), HTTPS, "--connect-to: must be host:port"),
    "source": ("", ConnectionFlags(sources=("eth0",)), HTTPS, "must be an IP address"),
    "one port": (
        "",
        ConnectionFlags(sources=("10.0.0.5:80",)),
        HTTPS,
        "as in 10.0.0.5:20000-30000",
    ),
    "family": ("{'ip': 5}", ConnectionFlags(), HTTPS, "ip: must be 4 or 6"),
    "family by flag": ("", ConnectionFlags(ip="v6"), HTTPS, "--ip: must be 4 or 6"),
    "family of the target": (
        "",
        ConnectionFlags(ip="6"),
        "http://10.0.0.1:80",
        "must be the address family",
    ),
    "family of another place": (
        "{'connect_to': '[fd00::1]:80'}",
        ConnectionFlags(ip="4"),
        HTTPS,
        "must be the address family of [fd00::1]:80",
    ),
    "family of a socket": (
        "{'ip': 4, 'connect_to': 'unix:/s'}",
        ConnectionFlags(),
        "http://s",
        "unix:/s",
    ),
    "family of a source": (
        "{'ip': 4, 'sources': ['10.0.0.5', '[fd00::1]:7-9']}",
        ConnectionFlags(),
        HTTPS,
        "must be an IPv4 address, as connections.ip says (got '[fd00::1]:7-9')",
    ),
    "no connections": ("{'max': 0}", ConnectionFlags(), HTTPS, "max: must be a whole number"),
    "no connections by flag": (
        "",
        ConnectionFlags(max="0"),
        HTTPS,
        "--connections: must be a whole",
    ),
    "some connections": ("", ConnectionFlags(max="ten"), HTTPS, "--connections: must be a whole"),
    "shared by none": (
        "{'http': '2', 'reuse': 'never', 'max': 5}",
        ConnectionFlags(),
        HTTPS,
        "must be left out with HTTP/2",
    ),
    "opened and never used": (
        "{'reuse': 'never'}",
        ConnectionFlags(open_first="5"),
        HTTPS,
        "no call may use an open connection",
    ),
    "more opened than allowed": (
        "{'max': 4}",
        ConnectionFlags(open_first="5"),
        HTTPS,
        "must be at most connections.max (got '5')",
    ),
    "none opened": ("", ConnectionFlags(open_first="0"), HTTPS, "--open-first: must be a whole"),
    "streams": ("{'streams_max': 9}", ConnectionFlags(), HTTPS, "one request at a time"),
    "auto in the clear": ("", ConnectionFlags(http="auto"), "http://s", "cannot negotiate"),
    "insecure in the clear": ("", ConnectionFlags(insecure=True), "http://s", "is http, not"),
    "socket and TLS": ("{'connect_to': 'unix:/s'}", ConnectionFlags(), HTTPS, "over TCP only"),
    "key alone": ("", ConnectionFlags(key="k.pem"), HTTPS, "--key: needs --cert"),
    "no file": ("", ConnectionFlags(cacert="/no/ca.pem"), HTTPS, "--cacert: /no/ca.pem cannot"),
    "no certificate": ("", ConnectionFlags(cacert=pytest.__file__), HTTPS, "must be a PEM file"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_where_it_was_said(case: str, tmp_path: Path) -> None:
    """Broken if a mistake is ignored, or if its message does not name it."""
    said, flags, target, words = REFUSED[case]
    with pytest.raises(Refused) as refused:
        compiled(tmp_path, said, flags, target)
    assert words in str(refused.value)
