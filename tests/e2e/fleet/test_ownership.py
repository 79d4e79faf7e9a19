"""Proof of ownership: above a tenant's rate, agents look for a token on the target."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, ClassVar

import pytest
from tests.e2e.support.command import SCENARIOS
from tests.e2e.support.short_run import PLANNED, SHORT, assert_whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.support.command import Finished, Loadpilot
    from tests.e2e.support.fleet import Fleet

WEIGHTED = SCENARIOS / "weighted.py"
HOME = ("--tenant", "fleet")
FILE = "/.well-known/loadpilot"


class PublishingTarget(BaseHTTPRequestHandler):
    """A target that publishes files, and counts all requests by published path, or as `load`."""

    protocol_version = "HTTP/1.1"
    published: ClassVar[dict[str, tuple[int, str]]] = {}
    received: ClassVar[Counter[str]] = Counter()
    loaded: ClassVar[threading.Event] = threading.Event()
    file_delay_s: ClassVar[float] = 0
    lock = threading.Lock()

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        route = self.path.partition("?")[0]
        kind = route if route in self.published or route == FILE else "load"
        if route == FILE:
            time.sleep(self.file_delay_s)
        with self.lock:
            self.received[kind] += 1
        if kind == "load":
            self.loaded.set()
        status, text = self.published.get(route, (404 if route == FILE else 200, ""))
        body = text.encode()
        self.send_response(status)
        if status == 302:
            self.send_header("location", "/elsewhere")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def publishing_target() -> Iterator[str]:
    """Starts a target; yields its URL."""
    PublishingTarget.published.clear()
    PublishingTarget.received.clear()
    PublishingTarget.loaded.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), PublishingTarget) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """The operator's key."""
    path = tmp_path / "ownership.key"
    path.write_text("k" * 40 + "\n", encoding="utf-8")
    path.chmod(0o600)
    return path


def shared(fleet: Fleet, key: Path) -> None:
    tenants = fleet.folder / "tenants.toml"
    text = f"""
[tenants.shop]
unproven_rate = 10

[tenants.search]
unproven_rate = 10

[fleet]
ownership_key_file = "{key}"
"""
    tenants.write_text(text, encoding="utf-8")
    fleet.coordinator(*HOME, "--tenants", str(tenants))
    fleet.agent("a-1", *HOME)


@pytest.mark.slow
def test_a_target_is_loaded_above_the_rate_only_with_the_token_of_the_tenant(
    fleet: Fleet, loadpilot: Loadpilot, key: Path
) -> None:
    """Broken if a tenant loads a target whose owner did not publish its token, or a redirect, or
    the token of another tenant, counts as a proof."""
    shared(fleet, key)

    def token(tenant: str, host: str) -> str:
        made = loadpilot.call("admin", "ownership-token", tenant, host, "--key-file", str(key))
        assert made.code == 0, made.stderr
        return made.stdout.splitlines()[0]

    def run(url: str, *flags: str) -> Finished:
        return fleet.run(loadpilot, WEIGHTED, url, *flags, "--tenant", "shop")

    with publishing_target() as url:
        ours, theirs = token("shop", url), token("search", url)
        assert ours == token("shop", "127.0.0.1") != theirs

        # Below the rate, agents request no token.
        slow = run(url, "--rps", "10", "--duration", "1s")
        assert slow.judged == 0, slow.stderr
        assert (PublishingTarget.received[FILE], PublishingTarget.received["load"]) == (0, 10)

        for status, text, found in (
            (404, "", "it answers with status 404"),
            (200, f"# other\n{theirs}\n", "the file has no such line"),
            (302, "", "it answers with status 302"),
            (200, ours + "x" * 70_000, "the file is longer than 64 KiB"),
        ):
            PublishingTarget.received.clear()
            PublishingTarget.published[FILE] = (status, text)
            PublishingTarget.published["/elsewhere"] = (200, ours)
            refused = run(url, *SHORT)
            said = refused.stdout + refused.stderr
            for part in (
                "tenant shop must prove that it owns 127.0.0.1",
                "50/s is above unproven_rate, 10/s",
                f"{url}{FILE} must have the line {ours}",
                found,
            ):
                assert part in said, said
            assert refused.code not in {0, 1}
            assert (PublishingTarget.received["load"], PublishingTarget.received["/elsewhere"]) == (
                0,
                0,
            )

        PublishingTarget.received.clear()
        PublishingTarget.published[FILE] = (200, f"# LoadPilot\r\n{theirs}\r\n{ours}\r\n")
        assert_whole(run(url, *SHORT), PLANNED)
        assert (PublishingTarget.received[FILE], PublishingTarget.received["load"]) == (1, PLANNED)

        # A closed loop can be as fast as the target.
        PublishingTarget.published[FILE] = (404, "")
        PublishingTarget.received.clear()
        users = run(url, "--users", "1", "--duration", "1s")
        assert "1 users are more than unproven_users, 0" in users.stdout + users.stderr
        assert PublishingTarget.received["load"] == 0


@pytest.mark.slow
def test_all_targets_are_asked_at_once(
    fleet: Fleet, loadpilot: Loadpilot, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if slow targets of one run, each with a token, are checked one after the other: the
    agent would be late, and the run would be cancelled. 8 s."""
    shared(fleet, key)
    monkeypatch.setattr(PublishingTarget, "file_delay_s", 2.5)
    token = ("admin", "ownership-token", "shop", "127.0.0.1", "--key-file", str(key))
    ours = loadpilot.call(*token).stdout.splitlines()[0]
    with ExitStack() as sites:
        first, *others = [sites.enter_context(publishing_target()) for _ in range(8)]
        PublishingTarget.published[FILE] = (200, ours)
        flags = [text for url in others for text in ("--target", url)]
        finished = fleet.run(loadpilot, WEIGHTED, first, *flags, *SHORT, "--tenant", "shop")
        assert_whole(finished, PLANNED)
        assert (PublishingTarget.received[FILE], PublishingTarget.received["load"]) == (8, PLANNED)


@pytest.mark.slow
def test_a_rate_is_not_raised_without_a_proof(
    fleet: Fleet, loadpilot: Loadpilot, key: Path
) -> None:
    """Broken if a tenant starts slowly and then raises the rate of an unproven run."""
    shared(fleet, key)
    with publishing_target() as url:
        slow = ("--rps", "10", "--duration", "60s", "--tenant", "shop")
        with fleet.start(loadpilot, WEIGHTED, url, *slow) as running:
            run = running.run_id()
            assert PublishingTarget.loaded.wait(30)
            at = ("--nats-url", fleet.url, "--tenant", "shop")
            steered = loadpilot.call("rate", run, "11/s", *at)
            assert steered.code == 2
            assert "11/s is above unproven_rate, 10/s" in steered.stdout + steered.stderr
            assert loadpilot.call("stop", run, *at).code == 0
            running.end(30)


def test_a_key_that_others_may_read_is_refused(loadpilot: Loadpilot, key: Path) -> None:
    """Broken if any user of the machine can make tokens, or if a key is printed."""
    for mode, text, rule in (
        (0o644, "k" * 40, "only its owner may read"),
        (0o600, "hunter2", "a key of 32 to 1024 bytes"),
    ):
        key.write_text(text, encoding="utf-8")
        key.chmod(mode)
        asked = ("admin", "ownership-token", "shop", "shop.example", "--key-file", str(key))
        refused = loadpilot.call(*asked)
        assert refused.code == 2
        assert rule in refused.stderr
        assert text not in refused.stdout + refused.stderr
