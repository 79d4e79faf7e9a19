"""How the report of each peer is read: from text or JSON, with its units turned into µs."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.measure.spread import quantile
from bench.tools.tool import Report

if TYPE_CHECKING:
    from pathlib import Path

US_PER_UNIT = {"us": 1.0, "ms": 1e3, "s": 1e6, "m": 60e6}
"""Units that wrk and h2load write behind a time."""
Times = tuple[float | None, float | None, float | None, float | None]


@dataclass(frozen=True)
class Output:
    """Output and files of a peer after its run."""

    path: str
    """Its program: vegeta makes its report in a second run."""
    folder: Path
    stdout: str

    def file(self, name: str) -> dict[str, Any]:
        """Read a JSON file that the peer wrote."""
        found: dict[str, Any] = json.loads((self.folder / name).read_text(encoding="utf-8"))
        return found


def wrk(output: Output) -> Report:
    """Read wrk's text; socket errors and statuses above 399 count as failed."""
    sent = re.search(r"(\d+) requests in", output.stdout)
    most = re.search(r"Latency\s+\S+\s+\S+\s+([\d.]+)(us|ms|s|m)\b", output.stdout)
    found = re.findall(r"(\d+)%\s+([\d.]+)(us|ms|s|m)\b", output.stdout)
    points = {share: float(value) * US_PER_UNIT[unit] for share, value, unit in found}
    if sent is None or most is None:
        raise ValueError("wrk printed no summary")
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", output.stdout)
    errors = re.search(r"connect (\d+), read (\d+), write (\d+), timeout (\d+)", output.stdout)
    failed = sum(int(one) for found in (bad, errors) if found for one in found.groups())
    points["max"] = float(most[1]) * US_PER_UNIT[most[2]]
    times = _times(points, ("50", "90", "99", "max"), 1)
    return Report(int(sent[1]), *times, failed)


def h2load(output: Output) -> Report:
    """Read h2load's text, which has mean and extremes of latency but no percentile."""
    counts = re.search(r"requests: .* (\d+) done, (\d+) succeeded", output.stdout)
    times = re.search(r"time for request:\s+\S+\s+([\d.]+)(us|ms|s)", output.stdout)
    if counts is None or times is None:
        raise ValueError("h2load printed no summary")
    done, good = int(counts[1]), int(counts[2])
    return Report(done, max_us=float(times[1]) * US_PER_UNIT[times[2]], failed=done - good)


def hey(output: Output) -> Report:
    """Read hey's text; times have four decimals of a second."""
    found = re.findall(r"\[(\d{3})\]\s+(\d+) responses", output.stdout)
    statuses = {code: int(count) for code, count in found}
    points = dict(re.findall(r"(\d+)%+ in ([\d.]+) secs", output.stdout))
    most = re.search(r"Slowest:\s+([\d.]+) secs", output.stdout)
    if not statuses or most is None:
        raise ValueError("hey printed no summary")
    times = _times({**points, "max": most[1]}, ("50", "90", "99", "max"), 1e6)
    return Report(sum(statuses.values()), *times, _not_2xx(statuses))


def oha(output: Output) -> Report:
    """Read oha's JSON; times in seconds. A request cut off by the end of the run did not fail."""
    found = json.loads(output.stdout)
    statuses = found["statusCodeDistribution"]
    cut = (count for why, count in found["errorDistribution"].items() if "deadline" not in why)
    points = {**found["latencyPercentiles"], "max": found["summary"]["slowest"]}
    times = _times(points, ("p50", "p90", "p99", "max"), 1e6)
    return Report(sum(statuses.values()), *times, sum(cut) + _not_2xx(statuses))


def vegeta(output: Output) -> Report:
    """Let vegeta make its report from its results, outside the measured run; times in ns."""
    argv = [output.path, "report", "-type=json", str(output.folder / "results.bin")]
    found = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
    times = _times(found["latencies"], ("50th", "90th", "99th", "max"), 1e-3)
    sent = found["requests"]
    return Report(sent, *times, sent - found["status_codes"].get("200", 0))


def k6(output: Output) -> Report:
    """Read the summary of the k6 script; times in ms.

    The time of a request begins when it is sent: without the wait for a user or a connection.
    """
    found = output.file("summary.json")
    sent = found["http_reqs"]["values"]["count"]
    dropped = found.get("dropped_iterations", {"values": {"count": 0}})["values"]["count"]
    times = _times(found["http_req_duration"]["values"], ("med", "p(90)", "p(99)", "max"), 1e3)
    failed = found["http_req_failed"]["values"]["passes"]
    return Report(sent, *times, failed, sent + dropped, f"{dropped:,} dropped" if dropped else "")


def locust(output: Output) -> Report:
    """Read Locust's JSON: a histogram a route in whole ms, in tens of ms above 100 ms."""
    routes = json.loads(output.stdout)
    histograms = (pair for route in routes for pair in route["response_times"].items())
    times_ms = sorted(float(ms) for ms, count in histograms for _ in range(count))
    if not times_ms:
        raise ValueError("Locust reported no request")
    p50, p90, p99 = (quantile(times_ms, share) * 1e3 for share in (0.5, 0.9, 0.99))
    most = max(route["max_response_time"] for route in routes) * 1e3
    sent, failed = (sum(one[key] for one in routes) for key in ("num_requests", "num_failures"))
    return Report(sent, p50, p90, p99, most, failed)


def original(output: Output) -> Report:
    """Read the original's results file: latencies that it measures itself, in ms."""
    found = output.file("results.json")
    p50, p99, most = (found[key] * 1e3 for key in ("p50_ms", "p99_ms", "max_ms"))
    return Report(found["requests_total"], p50, None, p99, most, found["errors_total"])


def _times(points: dict[str, Any], keys: tuple[str, str, str, str], us: float) -> Times:
    """Take p50, p90, p99 and max in µs; absent where the tool has none."""
    p50, p90, p99, most = (
        None if (one := points[key]) is None else float(one) * us for key in keys
    )
    return p50, p90, p99, most


def _not_2xx(statuses: dict[str, int]) -> int:
    return sum(count for status, count in statuses.items() if not status.startswith("2"))
