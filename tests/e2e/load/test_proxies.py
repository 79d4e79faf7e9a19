"""Load through real proxies, compared with the counts of the target."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.certificates import identity
from tests.e2e.support.echo import echo
from tests.e2e.support.files import files_below, files_with
from tests.e2e.support.fleet import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.support.command import Finished, Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

RPS = 40
SCENE = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(rps=40, duration="1s", mode="constant")
class Shop(VUser):
    @task
    def look(self, client: LoadClient) -> None:
        client.get("/")
"""
USER, PASSWORD = "loader", "made-up-word"
LISTENS_S = 10.0
"""Timeout until a proxy listens."""
CONFIG = """
Port {port}
Listen 127.0.0.1
Timeout 60
MaxClients 100
LogFile "{log}"
LogLevel Connect
Allow 127.0.0.1
"""
LOGIN = ("--proxy-credentials-env", "PROXY_LOGIN")


def needed(program: str) -> str:
    """The path of a proxy; skips the test where it is absent."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"needs {program}: apt-get install {program}")
    return path


@contextmanager
def tinyproxy(folder: Path, *lines: str) -> Iterator[tuple[str, Path]]:
    """Starts a proxy for CONNECT; yields its URL and its log."""
    program = needed("tinyproxy")
    port, config, log = free_port(), folder / "tinyproxy.conf", folder / "tinyproxy.log"
    config.write_text("\n".join([CONFIG.format(port=port, log=log), *lines, ""]), "utf-8")
    with _running([program, "-d", "-c", str(config)], port):
        yield f"http://127.0.0.1:{port}", log


@contextmanager
def microsocks(*flags: str) -> Iterator[str]:
    """Starts a proxy for SOCKS 5; yields its URL."""
    port = free_port()
    with _running([needed("microsocks"), "-i", "127.0.0.1", "-p", str(port), *flags], port):
        yield f"socks5://127.0.0.1:{port}"


@contextmanager
def _running(argv: list[str], port: int) -> Iterator[None]:
    quiet = subprocess.DEVNULL
    with subprocess.Popen(argv, stdin=quiet, stdout=quiet, stderr=quiet) as process:
        try:
            _wait(process, port)
            yield
        finally:
            process.kill()


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    for _ in range(int(LISTENS_S / 0.05)):
        try:
            socket.create_connection(("127.0.0.1", port), LISTENS_S).close()
        except ConnectionRefusedError:
            try:
                process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
            raise AssertionError("the proxy ended before it listened") from None
        else:
            return
    raise AssertionError("the proxy does not listen")


def opened(proxies: ExitStack, kind: str, folder: Path, *, login: bool = False) -> str:
    """The URL of a proxy of one kind."""
    if kind == "socks5":
        flags = ("-u", USER, "-P", PASSWORD) if login else ()
        return proxies.enter_context(microsocks(*flags))
    lines = (f"BasicAuth {USER} {PASSWORD}",) if login else ()
    return proxies.enter_context(tinyproxy(folder, *lines))[0]


def assert_failed(finished: Finished, cause: str) -> None:
    assert finished.report["calls"]["outcomes"] == {"connect": RPS}, finished.stderr
    assert finished.report["calls"]["causes"] == {"connect": {cause: RPS}}


@pytest.mark.parametrize("kind", ["http", "socks5"])
@pytest.mark.parametrize("flags", [(), ("--reuse", "never")])
def test_all_of_the_load_goes_through_the_proxy(
    kind: str, flags: tuple[str, ...], loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if a request bypasses the proxy, or if the report does not name the proxy.

    Costs 3 s each.
    """
    with ExitStack() as proxies:
        url = opened(proxies, kind, tmp_path)
        finished = loadpilot.run(SCENE, oracle.url, "--proxy", url, *flags)
    assert finished.judged == 0, finished.stderr
    report = finished.report
    assert oracle.counts().received == report["calls"]["attempted"] == RPS
    assert report["calls"]["outcomes"] == {"ok": RPS}
    assert oracle.counts().connections == report["generator"]["connections_opened"]
    assert report["run"]["connections"]["proxy"] == {"url": url}
    assert f"through the proxy {url}" in finished.stdout


def test_a_proxy_sees_every_connection(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if the test above does not use its proxy at all. Costs 3 s."""
    with tinyproxy(tmp_path) as (url, log):
        finished = loadpilot.run(SCENE, oracle.url, "--proxy", url, "--reuse", "never")
    assert finished.judged == 0, finished.stderr
    asked = f"CONNECT {oracle.url.removeprefix('http://')} HTTP/1.1"
    assert log.read_text("utf-8").count(asked) == oracle.counts().connections == RPS


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["http", "socks5"])
def test_tls_ends_at_the_target(kind: str, loadpilot: Loadpilot, tmp_path: Path) -> None:
    """Broken if a proxy can read the requests of a scenario, or if a certificate is not verified.

    Costs 5 s each.
    """
    own = identity(tmp_path / "own", "IP:127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own.cert, own.key)
    with ExitStack() as proxies, echo(context) as (target, received):
        url = opened(proxies, kind, tmp_path)
        trusted = ("--cacert", str(own.authority), "--proxy", url)
        finished = loadpilot.run(SCENE, target, *trusted)
        assert finished.judged == 0, finished.stderr
        assert len(received) == RPS
        untrusted = loadpilot.run(SCENE, target, "--proxy", url)
    assert untrusted.report["calls"]["causes"] == {"tls": {"certificate_untrusted": RPS}}
    assert len(received) == RPS


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["http", "socks5"])
def test_credentials_come_from_the_environment_and_stay_secret(
    kind: str,
    loadpilot: Loadpilot,
    oracle: Oracle,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Broken if a password is in a file, or if a wrong password looks like a fault of the target.

    Costs 7 s each.
    """
    folder = tmp_path / "proxy"
    folder.mkdir()
    with ExitStack() as proxies:
        url = opened(proxies, kind, folder, login=True)
        monkeypatch.setenv("PROXY_LOGIN", f"{USER}:{PASSWORD}")
        right = loadpilot.run(SCENE, oracle.url, "--proxy", url, *LOGIN)
        assert right.judged == 0, right.stderr
        assert oracle.counts().received == RPS
        assert f"through the proxy {url}, with credentials" in right.stdout
        monkeypatch.setenv("PROXY_LOGIN", f"{USER}:other-made-up-word")
        wrong = loadpilot.run(SCENE, oracle.url, "--proxy", url, *LOGIN)
        none = loadpilot.run(SCENE, oracle.url, "--proxy", url)
    for refused in (wrong, none):
        assert_failed(refused, "proxy_credentials")
    assert oracle.counts().received == RPS
    for done in (right, wrong):
        assert "made-up-word" not in done.stdout + done.stderr
    assert files_with("made-up-word", files_below(loadpilot.folder)) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["http", "socks5"])
def test_a_proxy_that_is_not_there_is_told_apart(
    kind: str, loadpilot: Loadpilot, oracle: Oracle, closed_port: int, tmp_path: Path
) -> None:
    """Broken if requests bypass a dead proxy, or if a dead target looks like a dead proxy.

    Costs 5 s each.
    """
    dead = loadpilot.run(SCENE, oracle.url, "--proxy", f"{kind}://127.0.0.1:{closed_port}")
    assert_failed(dead, "refused")
    assert oracle.counts().connections == 0
    with ExitStack() as proxies:
        url = opened(proxies, kind, tmp_path)
        without_target = loadpilot.run(SCENE, f"http://127.0.0.1:{closed_port}", "--proxy", url)
    # tinyproxy answers 500 for a dead target.
    assert_failed(without_target, "proxy_refused" if kind == "http" else "proxy_no_connection")


@pytest.mark.slow
def test_an_agent_of_a_fleet_allows_proxies_only_if_told(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if a plan can reach, through a proxy, an address to which an agent may not connect.

    Costs 8 s.
    """
    fleet.coordinator()
    fleet.agent("a-1")
    with tinyproxy(tmp_path) as (url, _):
        flags = ("--proxy", url, "--external-agents", "1")
        closed = fleet.run(loadpilot, SCENE, oracle.url, *flags)
        assert closed.judged != 0
        assert "--allow-proxy" in closed.stdout + closed.stderr
        assert oracle.counts().connections == 0
        fleet.agent("a-2", "--allow-proxy", "--label", "way=proxy")
        opened = fleet.run(loadpilot, SCENE, oracle.url, "--proxy", url, "--need", "way=proxy")
    assert opened.judged == 0, opened.stderr
    assert oracle.counts().received == RPS
