"""The limit of requests: for a tenant, and for an address without a valid key; and what it
costs."""

from __future__ import annotations

import asyncio
import math
import socket
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from services.gateway.tests.access.test_keys import ADMIN, RUNNER, VIEWER, Keys
from services.gateway.tests.gateways import API, MANY_REQUESTS, Gateways
from tests.e2e.support.http_calls import PATIENCE_S

from loadpilot.control.exit_code import ExitCode
from loadpilot_gateway import gateway as state
from loadpilot_gateway.limits import (
    ADDRESS_BUCKETS_MAX,
    BODY_TOKENS_MAX,
    RUN_TOKENS,
    STORED_TOKENS,
)
from loadpilot_gateway.problem import ApiError
from loadpilot_gateway.server.request_limit import (
    AddressBuckets,
    Bucket,
    RequestLimit,
    TenantBuckets,
    tokens_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from services.gateway.tests.gateways import Gateway
    from tests.e2e.support.fleet import Fleet
    from tests.e2e.support.http_calls import Answer

BURST = 20
SLOW = {"REQUESTS_PER_SECOND": "1", "REQUEST_BURST": str(BURST)}
"""Settings with a bucket that a test empties, and that gains little meanwhile."""
SCRAPE = "loadpilot_gateway_http_limited_total"


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path)


@given(
    per_second=st.integers(1, 1000),
    burst=st.integers(1, 500),
    steps=st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 50)), max_size=200),
)
def test_a_bucket_admits_what_a_plain_one_does(
    per_second: int, burst: int, steps: list[tuple[int, int]]
) -> None:
    """Broken if the bucket admits more or less than one that counts tokens in whole numbers."""
    bucket, now_ms = Bucket(RequestLimit(per_second, burst)), 0
    # Thousandths of a token: a millisecond gains `per_second` of them.
    level = burst * 1000
    for later_ms, tokens in steps:
        now_ms += later_ms
        level = min(burst * 1000, level + later_ms * per_second)
        excess = bucket.take(tokens, now_ms / 1000)
        assert (excess is None) == (level >= 1000), (now_ms, level)
        if excess is None:
            level -= tokens * 1000
        else:
            assert math.isclose(excess.wait_secs, (1000 - level) / 1000 / per_second, abs_tol=1e-6)


def test_expensive_requests_count_as_more() -> None:
    """Broken if a flood of large requests for runs costs its tenant no more than reads."""

    def head(length: int) -> list[tuple[bytes, bytes]]:
        return [(b"content-length", str(length).encode())]

    assert tokens_of("GET", f"{API}/runs", []) == 1
    assert tokens_of("POST", f"{API}/plans/check", head(100)) == 1
    assert tokens_of("POST", f"{API}/runs/a/annotations", head(100)) == STORED_TOKENS
    assert tokens_of("POST", f"{API}/runs", head(100)) == RUN_TOKENS
    assert tokens_of("POST", f"{API}/runs", head(400_000)) == RUN_TOKENS + 24
    most = RUN_TOKENS + BODY_TOKENS_MAX
    assert tokens_of("POST", f"{API}/runs", head(30 << 20)) == most
    # A body of unknown length counts as a large one, so that no header makes it cheap.
    assert tokens_of("POST", f"{API}/runs", [(b"transfer-encoding", b"chunked")]) == most
    for hostile in (b"-1", b"9" * 5000, b"x", b"\xb2"):
        tokens = tokens_of("POST", f"{API}/runs", [(b"content-length", hostile)])
        assert RUN_TOKENS <= tokens <= most


def test_the_end_of_a_run_has_a_bucket_of_its_own() -> None:
    """Broken if a tenant that floods cannot stop its own run."""
    buckets = TenantBuckets(RequestLimit(1, 2))
    for _ in range(2):
        buckets.admit("shop", "GET", f"{API}/runs", 1, 0.0)
    with pytest.raises(ApiError):
        buckets.admit("shop", "POST", f"{API}/runs/a/rate", 1, 0.0)
    for way in ("stop", "halt"):
        buckets.admit("shop", "POST", f"{API}/runs/a/{way}", 1, 0.0)
    with pytest.raises(ApiError):
        buckets.admit("shop", "POST", f"{API}/runs/a/halt", 1, 0.0)
    assert buckets.limited == 2


def test_the_number_of_addresses_in_memory_has_a_limit() -> None:
    """Broken if many addresses fill the memory of a gateway, or if one takes another's tokens."""
    addresses = AddressBuckets(RequestLimit(1, 1))
    for number in range(ADDRESS_BUCKETS_MAX + 10):
        addresses.admit(f"site-{number}", 1, 0.0, is_probe=False)
    assert len(addresses._buckets) == ADDRESS_BUCKETS_MAX
    last = f"site-{ADDRESS_BUCKETS_MAX + 9}"
    addresses.admit(last, 1, 0.0, is_probe=True)
    with pytest.raises(ApiError):
        addresses.admit(last, 1, 0.0, is_probe=False)


def drained(
    gateway: Gateway, path: str, headers: dict[str, str], status: int
) -> tuple[int, Answer]:
    """Sends requests until the first 429; returns the number of answers before it, which have this
    status, and the 429."""
    for number in range(10 * BURST):
        answer = gateway.api(path, headers)
        if answer.status == 429:
            return number, answer
        assert answer.status == status, answer.body
    raise AssertionError("no request was refused")


def overdraw(gateway: Gateway, headers: dict[str, str]) -> None:
    """Requests a run until the drained bucket has a token again. The request is admitted and takes
    RUN_TOKENS, so that the bucket is empty for some seconds."""
    give_up = time.monotonic() + PATIENCE_S
    while gateway.tell("/runs", b"{", headers).status == 429:
        assert time.monotonic() < give_up


@pytest.mark.slow
def test_the_requests_of_a_tenant_are_limited_and_no_others(
    fleet: Fleet, gateways: Gateways, keys: Keys, tmp_path: Path
) -> None:
    """Broken if a tenant has no limit, if its keys or another tenant's limit do not count, if the
    answer does not say what to do, or if the operator does not see it."""
    fleet.coordinator()
    links, token = tmp_path / "links.toml", tmp_path / "metrics"
    links.write_text(
        f"[tenants.a]\nrequests_per_second = 1\nrequest_burst = {BURST}\n[tenants.b]\n"
    )
    token.write_text("0123456789abcdef")
    token.chmod(0o600)
    files = {"KEYS_FILE": str(keys.file), "TENANTS_FILE": str(links)}
    gateway = gateways.start(METRICS_TOKEN_FILE=str(token), **files)
    one, same, other = (
        keys.add("one", ADMIN, "a"),
        keys.add("same", VIEWER, "a"),
        keys.add("other", RUNNER, "b"),
    )
    begun = time.monotonic()
    admitted, refused = drained(gateway, "/me", one, 200)
    took = time.monotonic() - begun
    assert BURST <= admitted <= BURST + took + 1
    assert refused.retry_after == "1"
    assert refused.kind == "application/problem+json"
    assert refused.json["code"] == "too_many_requests"
    assert refused.json["exit_code"] == ExitCode.INFRASTRUCTURE
    (wrong,) = refused.json["problems"]
    assert wrong["field"] == "requests_per_second"
    assert f"1 requests/s, and {BURST} at once, of tenant a" in wrong["rule"]
    assert int(wrong["value"].removesuffix("/s")) >= 1
    # Another key of the tenant shares the bucket; other callers do not.
    shared, _ = drained(gateway, "/me", same, 200)
    assert admitted + shared <= BURST + time.monotonic() - begun + 1
    for _ in range(3 * BURST):
        assert gateway.api("/me", other).status == 200
    assert gateway.api("/me").status == 401
    assert gateway.ask("GET", "/healthz").status == 200
    scraped = gateway.ask(
        "GET", "/metrics", headers={"Authorization": "Bearer 0123456789abcdef"}
    ).body.decode()
    assert f'{SCRAPE}{{tenant="a"}} 2' in scraped, scraped
    assert f'{SCRAPE}{{tenant="b"}} 0' in scraped
    refused_at = time.monotonic()
    while gateway.api("/me", one).status == 429:
        assert time.monotonic() < refused_at + PATIENCE_S


@pytest.mark.slow
def test_an_address_without_a_key_is_limited_and_stops_no_caller_with_one(
    fleet: Fleet, gateways: Gateways, keys: Keys
) -> None:
    """Broken if guessing keys has no limit, or if the limit blocks probes and callers of the same
    address."""
    fleet.coordinator()
    gateway = gateways.start(KEYS_FILE=str(keys.file), **SLOW)
    valid = keys.add("valid", VIEWER)
    guess = {"Authorization": "Bearer guess"}
    admitted, _ = drained(gateway, "/me", guess, 401)
    assert admitted >= BURST
    overdraw(gateway, guess)
    assert gateway.tell("/session", {"token": "guess"}).status == 429
    assert gateway.ask("GET", "/index.html").status == 429
    assert gateway.ask("GET", "/readyz").status == 200
    assert gateway.api("/me", valid).status == 200
    assert any(gateway.ask("GET", "/healthz").status == 429 for _ in range(10 * BURST))
    assert gateway.api("/me", valid).status == 200


@pytest.mark.slow
def test_a_request_above_the_limit_is_answered_before_its_body(
    fleet: Fleet, gateways: Gateways
) -> None:
    """Broken if the gateway waits for the body of a request that it refuses."""
    fleet.coordinator()
    gateway = gateways.start(**SLOW)
    drained(gateway, "/me", {}, 200)
    overdraw(gateway, {})
    head = f"POST {API}/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 400000\r\n"
    kind = "Content-Type: application/json\r\n\r\n"
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as connection:
        connection.sendall((head + kind).encode())
        assert connection.recv(64).split()[1] == b"429"
        # The body is discarded as it comes, and the connection serves the next request.
        connection.sendall(b"{" * 400_000)
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        rest = b""
        while b"ok\n" not in rest:
            chunk = connection.recv(65536)
            assert chunk, rest
            rest += chunk
        assert b"HTTP/1.1 200" in rest


@pytest.mark.slow
def test_wrong_limits_are_named_with_their_place(
    fleet: Fleet, gateways: Gateways, keys: Keys, tmp_path: Path
) -> None:
    """Broken if a gateway starts without a limit because its setting is invalid."""
    links = tmp_path / "links.toml"
    links.write_text(
        "[tenants.a]\nrequests_per_second = 0\nrequest_burst = true\n"
        "[tenants.b]\nrequest_per_second = 9\n"
    )
    files = {"KEYS_FILE": str(keys.file), "TENANTS_FILE": str(links)}
    ended = gateways.process("--check-config", REQUEST_BURST="0", **files).end()
    assert ended.code == 2
    assert "LOADPILOT_GATEWAY_REQUEST_BURST" in ended.stderr
    for name, value in (("requests_per_second", "0"), ("request_burst", "true")):
        assert f"tenants.a.{name}" in ended.stderr, ended.stderr
        assert value in ended.stderr.split(f"tenants.a.{name}", 1)[1].splitlines()[0].lower()
    assert "did you mean requests_per_second?" in ended.stderr
    assert gateways.process("--check-config", **MANY_REQUESTS).end().code == 0
    assert fleet.url


def test_a_request_for_a_run_waits_for_its_place_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Broken if a request waits for ever behind slow ones, or if a place is lost."""

    async def requests() -> None:
        places = asyncio.Semaphore(1)
        async with state.body_slot(places):
            monkeypatch.setattr(state, "PLACE_SECS", 0.01)
            with pytest.raises(ApiError, match="try again later"):
                async with state.body_slot(places):
                    pass
            monkeypatch.undo()
            waiting = asyncio.ensure_future(state.body_slot(places).__aenter__())
            await asyncio.sleep(0)
        await waiting

    asyncio.run(requests())
