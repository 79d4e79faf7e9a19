"""The Python driver against the real binary, with the standard library's HTTP client."""

from __future__ import annotations

import http.client
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from oracle import CountKind, Oracle, OracleError, Outcome, built_binary, read_log

if TYPE_CHECKING:
    from pathlib import Path


def get(oracle: Oracle, path: str, *, request_id: str = "") -> int:
    """One request on a connection of its own."""
    client = http.client.HTTPConnection("127.0.0.1", oracle.port, timeout=20)
    try:
        client.request("GET", path, headers={"X-Id": request_id} if request_id else {})
        answer = client.getresponse()
        answer.read()
        return answer.status
    finally:
        client.close()


def test_requests_are_what_was_sent(tmp_path: Path) -> None:
    """Broken if the log loses, doubles or garbles a request: every test that counts with this
    driver would be wrong."""
    log = tmp_path / "log"
    with Oracle(built_binary(), log, id_header="X-Id", log_headers=True) as oracle:
        for n in range(20):
            assert get(oracle, f"/a?n={n}", request_id=str(n)) == 200
        seen = oracle.requests()
        counts = oracle.counts()
    assert [request.id for request in seen] == [str(n) for n in range(20)]
    assert [request.path for request in seen] == [f"/a?n={n}" for n in range(20)]
    assert {request.route for request in seen} == {"/a"}
    assert (counts.received, counts.broken, counts.connections) == (20, 0, 20)
    assert counts.first_us == seen[0].arrival_us
    assert {request.outcome for request in seen} == {Outcome.ANSWERED}
    assert all(request.service_us is not None and request.service_us >= 0 for request in seen)
    assert seen[0].header("X-Id") == "0"
    assert read_log(log) == seen, "the log of the ended oracle differs"


@pytest.mark.skipif(sys.platform != "linux", reason="other kernels tell no receive times of TCP")
def test_the_kernel_had_it_before_the_oracle_read_it(tmp_path: Path) -> None:
    """Broken if the kernel's time is that of another clock or another request: the bench measures
    by it."""
    with Oracle(built_binary(), tmp_path / "log", kernel_times=True) as oracle:
        for _ in range(1_000):  # the first packets may come without a time
            get(oracle, "/")
            timed = [request for request in oracle.requests() if request.kernel_us is not None]
            if len(timed) == 3:
                break
    assert len(timed) == 3
    for earlier, request in zip([None, *timed], timed, strict=False):
        assert request.kernel_us is not None
        assert request.kernel_us <= request.arrival_us
        assert earlier is None or earlier.end_us is None or earlier.end_us <= request.kernel_us
    with Oracle(built_binary(), tmp_path / "log") as oracle:
        get(oracle, "/")
        assert oracle.requests()[0].kernel_us is None


def test_a_freeze_can_be_waited_for(tmp_path: Path) -> None:
    """Broken if a request is counted as received only with its answer: a test could not act in the
    middle of a freeze."""
    with Oracle(built_binary(), tmp_path / "log") as oracle:
        oracle.freeze()
        threads = [threading.Thread(target=get, args=(oracle, "/")) for _ in range(5)]
        for thread in threads:
            thread.start()
        assert oracle.wait_count(5, 20)
        assert {request.outcome for request in oracle.requests()} == {Outcome.OPEN}
        oracle.unfreeze()
        for thread in threads:
            thread.join()
        assert oracle.wait_count(5, 20, CountKind.ENDED)
        assert [request.status for request in oracle.requests()] == [200] * 5
        assert not oracle.wait_count(6, 0.001)


def test_every_behaviour_has_a_method(tmp_path: Path) -> None:
    """Broken if a method sends a line that the oracle does not know."""
    with Oracle(built_binary(), tmp_path / "log", behaviours=["status 500 path=/bad"]) as oracle:
        assert get(oracle, "/bad") == 500
        oracle.clear()
        oracle.delay(0.5, fraction=0.1)
        oracle.status(404, path="/none/*")
        oracle.size(3)
        oracle.drip(0.1, path="/drip")
        oracle.truncate(path="/truncate")
        oracle.reset(path="/reset")
        oracle.silent(path="/silent")
        oracle.close_after()
        oracle.slow_accept(0)
        oracle.freeze(after_first_ms=0, for_ms=1)
        assert get(oracle, "/none/1") == 404
        assert get(oracle, "/drip") == 200
        with pytest.raises(http.client.IncompleteRead):
            get(oracle, "/truncate")
        with pytest.raises(ConnectionResetError):
            get(oracle, "/reset")
        first = oracle.first_request_us()
        assert first is not None
        assert oracle.freezes() == [(first, first + 1000)]
        oracle.refuse()
        with pytest.raises(ConnectionRefusedError):
            get(oracle, "/")
        oracle.accept()
        assert get(oracle, "/") == 200
        with pytest.raises(OracleError, match="fraction"):
            oracle.status(500, fraction=2)


def test_broken_requests_are_apart(tmp_path: Path) -> None:
    """Broken if half a request counts as a request, or vanishes."""
    with Oracle(built_binary(), tmp_path / "log") as oracle:
        client = http.client.HTTPConnection("127.0.0.1", oracle.port, timeout=20)
        client.putrequest("GET", "/", skip_host=True)
        client.endheaders()
        assert client.getresponse().status == 400
        client.close()
        assert oracle.requests() == []
        assert [(r.outcome, r.error) for r in oracle.broken()] == [(Outcome.MALFORMED, "host")]


def test_a_dead_oracle_is_an_error(tmp_path: Path) -> None:
    """Broken if a test can count against a log that stopped early."""
    oracle = Oracle(built_binary(), tmp_path / "log")
    os.kill(oracle.pid, signal.SIGKILL)
    with pytest.raises(OracleError, match="ended with -9"):
        oracle.stop()
    with pytest.raises(OracleError, match="ended with 2"):
        Oracle(built_binary(), tmp_path / "log", behaviours=["nap"])
