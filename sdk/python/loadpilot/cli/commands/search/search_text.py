"""The lines of a search: its opening, its probes, its result. Pure functions from its JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....control.figures import number, percent, plural
from ....control.terminal import inert, safe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

URPS = 1_000_000
MARKS = {"passed": "✓ works", "failed": "✗ fails", "no_server": "✗ no server", "unjudged": "— void"}
GENERATOR = "generator"


def rate(urps: int) -> str:
    """Write a rate: ``1,270/s``."""
    return rps(urps / URPS)


def rps(value: float) -> str:
    """Write a number of arrivals per second, in full: two probed rates never look equal."""
    text = f"{value:,.6f}".rstrip("0").rstrip(".")
    return f"{text}/s"


def probe_line(place: int, purpose: str, probe: Mapping[str, Any]) -> str:
    """Write one probe: number, verdict, rate, latency, errors, run, and why it did not pass."""
    latency = "  ".join(f"{key} {_ms(probe[f'{key}_ms'])}" for key in ("p50", "p95", "p99"))
    errors = probe["error_rate_pct"]
    shown = "—" if errors is None else percent(errors)
    line = f"{place:>3}  {MARKS[probe['verdict']]:<12} {rate(probe['rate_urps']):>12}  {latency}"
    line += f"  errors {shown:>8}  {purpose:<8} {safe(probe['run'])}"
    reasons = list(probe["reasons"])
    if probe["limited_by"] == GENERATOR:
        reasons.insert(0, "the load generator was the limit, not the target")
    return "\n".join([line, *(f"       {safe(reason)}" for reason in reasons)])


def _ms(value: float | None) -> str:
    text = "—" if value is None else f"{value:.1f} ms"
    return f"{text:>11}"


def result_lines(search: Mapping[str, Any]) -> Iterator[str]:
    """Write the findings; the last line is the result."""
    yield from (safe(remark) for remark in search["remarks"])
    yield conclusion(search)


def conclusion(search: Mapping[str, Any]) -> str:
    """Write the result as one line."""
    lower, upper = search["lower_rps"], search["upper_rps"]
    maximum = search["max_rate_rps"]
    match search["state"]:
        case "found":
            times = sum(_passed_at(probe, maximum) for probe in search["probes"])
            why = _first_reason(search, upper)
            passed = f"it passed {plural(times, 'time')}, and {rps(upper)} failed"
            return f"maximum working rate {rps(maximum)}: {passed}{why}"
        case "at_limit":
            return f"maximum working rate {rps(maximum)} or more: the limit of the search passed"
        case "no_rate":
            why = _first_reason(search, upper)
            return f"no working rate: {rps(upper)} failed already{why}"
        case "unsettled":
            probes = plural(len(search["probes"]), "probe")
            return f"no maximum working rate after {probes}: the target passes and fails by chance"
    lost = bool(search["probes"]) and search["probes"][-1]["verdict"] == "no_server"
    what = "no server answers, and the search was" if lost else "the search was"
    if lower is None and upper is None:
        return f"{what} not completed: no rate was judged"
    least = "none is known to work" if lower is None else f"{rps(lower)} passed"
    most = "none failed" if upper is None else f"{rps(upper)} failed"
    return f"{what} not completed: {least}, {most}"


def _passed_at(probe: Mapping[str, Any], maximum: float) -> bool:
    return bool(probe["verdict"] == "passed" and probe["rate_urps"] / URPS == maximum)


def _first_reason(search: Mapping[str, Any], upper: float) -> str:
    for probe in search["probes"]:
        is_it = probe["verdict"] == "failed" and probe["rate_urps"] / URPS == upper
        if is_it and probe["reasons"]:
            return f" ({safe(probe['reasons'][0])})"
    return ""


def gate_text(gates: list[dict[str, Any]]) -> str:
    """Write the gates of a plan, as ``_native.plan_gates`` lists them."""
    texts = (f"{one['key']} {one['operator']} {number(one['limit'])}" for one in gates)
    return inert(safe(", ".join(texts)))
