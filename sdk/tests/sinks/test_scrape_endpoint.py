"""The endpoint of `--metrics`: its number of connections, and when a command waits for a scrape."""

from __future__ import annotations

import http.client
import socket
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from loadpilot.cli.sinks import scrape_endpoint
from loadpilot.cli.sinks.outs import read_metrics, split_address
from loadpilot.cli.sinks.scrape_endpoint import (
    CONNECTIONS_MAX,
    SCRAPE_TIMEOUT,
    Scrape,
    ScrapeEndpoint,
    is_loopback,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http import HTTPStatus

    from loadpilot.problem import Problem

TIMEOUT_S = 20.0


@pytest.fixture
def endpoint() -> Iterator[tuple[ScrapeEndpoint, str]]:
    """An endpoint without runs, and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    endpoint = ScrapeEndpoint(address)
    yield endpoint, address
    endpoint.close()


def scrape(address: str) -> int:
    """The status of a scrape."""
    with closing(http.client.HTTPConnection(address, timeout=TIMEOUT_S)) as connection:
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        answer.read()
        return answer.status


def silent(address: str, number: int) -> list[socket.socket]:
    """Connections that send nothing."""
    connections = [socket.create_connection(split_address(address)) for _ in range(number)]
    for connection in connections:
        connection.settimeout(TIMEOUT_S)
    return connections


def test_connections_above_the_limit_are_closed(
    endpoint: tuple[ScrapeEndpoint, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if silent connections take threads without limit."""
    monkeypatch.setattr(Scrape, "timeout", 3 * TIMEOUT_S)
    _, address = endpoint
    held, above = silent(address, CONNECTIONS_MAX), silent(address, 3)
    assert [connection.recv(1) for connection in above] == [b""] * len(above)
    for connection in [*held, *above]:
        connection.close()


def test_silent_connections_do_not_keep_a_scraper_out(
    endpoint: tuple[ScrapeEndpoint, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if silent connections stay open for ever."""
    monkeypatch.setattr(Scrape, "timeout", 0.3)
    _, address = endpoint
    connections = silent(address, CONNECTIONS_MAX)
    assert [connection.recv(1) for connection in connections] == [b""] * len(connections)
    assert scrape(address) == 200
    for connection in connections:
        connection.close()


@pytest.mark.parametrize(
    ("scraped_at", "comes_at", "ends_at"),
    [
        ([], [], 10.0),
        ([9.0], [], 10.0),
        ([-20.0, 9.0], [], 10.0),
        # With one scraper, until its next scrape, but at most two intervals and a second.
        ([7.0, 8.0, 9.0], [10.3], 10.5),
        ([7.0, 8.0, 9.0], [], 12.0),
        ([-1.0, 9.0], [19.0], 19.0),
        # With two scrapers of the same interval, until both of them came.
        ([6.0, 6.1, 8.0, 8.1, 10.0], [10.1, 12.0], 12.5),
    ],
)
def test_a_command_waits_for_the_scrapes_that_are_expected(
    endpoint: tuple[ScrapeEndpoint, str],
    monkeypatch: pytest.MonkeyPatch,
    scraped_at: list[float],
    comes_at: list[float],
    ends_at: float,
) -> None:
    """Broken if the end of a command waits for a scraper that is not there, does not wait for one
    that comes each second, or waits only for the first of two."""
    subject, _ = endpoint
    now = 10.0
    monkeypatch.setattr(scrape_endpoint, "monotonic", lambda: now)
    subject._scraped_at = list(scraped_at)
    subject.ended()

    class Pause:
        """A pause in which scrapes come."""

        def wait(self, _secs: float) -> None:
            nonlocal now
            now += 0.5
            scrapes = [at for at in comes_at if now - 0.5 < at <= now]
            subject._scraped_at += scrapes
            subject._delivered_at = max([subject._delivered_at, *scrapes])

    monkeypatch.setattr(scrape_endpoint.threading, "Event", Pause)
    subject.wait_for_last_scrape(lambda: False)
    assert now == pytest.approx(ends_at, abs=0.5)


@pytest.mark.parametrize(
    ("timeout", "sent_after_s", "waits_s"),
    [("10", 0.0, 0.0), ("10", 4.9, 0.0), ("10", 5.1, 3.0), ("10", 11.0, 3.0), ("soon", 11.0, 0.0)],
)
def test_an_answer_that_came_too_late_is_no_last_scrape(
    endpoint: tuple[ScrapeEndpoint, str],
    monkeypatch: pytest.MonkeyPatch,
    timeout: str,
    sent_after_s: float,
    waits_s: float,
) -> None:
    """Broken if the end of a command takes an answer that Prometheus discarded, or discards before
    it arrives, for its last scrape."""
    subject, address = endpoint
    now = begun = 10.0
    monkeypatch.setattr(scrape_endpoint, "monotonic", lambda: now)
    send = Scrape._answer

    def send_slowly(scrape: Scrape, status: HTTPStatus, kind: str, body: bytes) -> None:
        nonlocal now
        send(scrape, status, kind, body)
        now += sent_after_s

    monkeypatch.setattr(Scrape, "_answer", send_slowly)
    subject.ended()
    with socket.create_connection(split_address(address), timeout=TIMEOUT_S) as connection:
        connection.sendall(f"GET /metrics HTTP/1.0\r\n{SCRAPE_TIMEOUT}: {timeout}\r\n\r\n".encode())
        answer = b""
        # The endpoint closes the connection only after it has finished with the answer.
        while part := connection.recv(65_536):
            answer += part
    assert answer.split()[1] == b"200"
    subject._scraped_at = [begun - 1, begun]
    now = begun

    class Pause:
        """A pause in which nothing comes."""

        def wait(self, _secs: float) -> None:
            nonlocal now
            now += 0.5

    monkeypatch.setattr(scrape_endpoint.threading, "Event", Pause)
    subject.wait_for_last_scrape(lambda: False)
    assert now - begun == pytest.approx(waits_s, abs=0.5)


def test_a_signal_ends_the_wait(
    endpoint: tuple[ScrapeEndpoint, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if Ctrl-C does not end a command that waits for a scrape."""
    subject, _ = endpoint
    monkeypatch.setattr(scrape_endpoint, "monotonic", lambda: 10.0)
    subject._scraped_at = [8.0, 9.0]
    subject.ended()
    subject.wait_for_last_scrape(lambda: True)


@pytest.mark.parametrize(
    ("header", "allowed"),
    [
        ("", True),
        ("localhost:9090", True),
        ("127.0.0.1:9090", True),
        ("127.9.9.9", True),
        ("[::1]:9090", True),
        ("[::1]", True),
        ("evil.example", False),
        ("10.0.0.1:9090", False),
        ("127.0.0.1.evil.example:80", False),
    ],
)
def test_only_names_of_loopback_are_served(header: str, *, allowed: bool) -> None:
    """Broken if a web page whose host resolves to loopback can read the figures."""
    assert is_loopback(header) == allowed


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [
        ("127.0.0.1:9090", True),
        ("localhost:1", True),
        ("[::1]:9090", True),
        ("::1:9090", False),
        ("0.0.0.0:9090", False),
        (":9090", False),
        ("127.0.0.1:65536", False),
        ("127.0.0.1:+1", False),
    ],
)
def test_addresses(text: str, *, is_taken: bool) -> None:
    """Broken if the endpoint listens at an address off loopback, or at an invalid one."""
    problems: list[Problem] = []
    outs = read_metrics(text, problems)
    assert (len(outs), len(problems)) == ((1, 0) if is_taken else (0, 1))
