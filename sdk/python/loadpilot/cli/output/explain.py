"""Why a percentile changed, as text: a sentence, then contributions that add up to the change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...control.figures import number, seconds
from ...control.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Iterator

PHASES = {
    "schedule_lag": "schedule lag",
    "queue": "queue",
    "dns": "DNS",
    "connect": "connect",
    "tls": "TLS",
    "first_byte": "first byte",
    "last_byte": "last byte",
}
"""Names of the phases of a call."""
NO_PHASE = "no phase"
SMALL = 0.01
"""Share of a change below which a call or a phase is not listed by itself."""
NOTHING = "nothing to explain: no percentile is better or worse beyond the threshold and chance"


def explanation_text(comparison: dict[str, Any]) -> str:
    """Write the explanations of a comparison."""
    explained = comparison["explained"]
    lines = [line for one in explained for line in ("", *_lines(one))]
    return "".join(f"{line}\n" for line in lines or ["", NOTHING])


def _lines(explained: dict[str, Any]) -> Iterator[str]:
    shift = explained["current_ms"] - explained["baseline_ms"]
    listed = [call for call in explained["calls"] if abs(call["ms"]) >= SMALL * abs(shift)]
    yield _sentence(explained, shift)
    for call in listed:
        when = _when(call) or "all the time"
        moved = f"{_signed(call['requests_pct'])} %"
        yield _row(call["ms"], f"{moved:<10} {_name(call)}: {_phases(call)}; {when}")
    rest = sum(call["ms"] for call in explained["calls"]) - sum(call["ms"] for call in listed)
    if rest:
        yield _row(rest, "other calls")
    if explained["mix_ms"]:
        yield _row(explained["mix_ms"], "another mix of calls")
    yield _row(shift, f"in all, beside run {safe(explained['beside'])}")


def _sentence(explained: dict[str, Any], shift: float) -> str:
    label = explained["figure"].removesuffix("_ms")
    task = "" if explained["task"] is None else f" of task {safe(explained['task'])}"
    before, now = explained["baseline_ms"], explained["current_ms"]
    moved = f"{label}{task} {'rose' if shift > 0 else 'fell'} by {number(abs(shift))} ms"
    moved += f", from {number(before)} to {number(now)} ms"
    call = max(explained["calls"], key=lambda call: call["ms"] / shift, default=None)
    if call is None or call["ms"] / shift <= abs(explained["mix_ms"] / shift):
        return f"{moved}, mostly by another mix of calls"
    phase = max(call["phases"].items(), key=lambda item: abs(item[1]), default=None)
    where = "" if phase is None else f", most of it in phase {PHASES[phase[0]]}"
    value = number(min(before, now))
    change = "are beyond" if shift > 0 else "are no longer beyond"
    of = "all requests" if explained["task"] is None else "its requests"
    moved_pct = number(round(abs(call["requests_pct"]), 2))
    when = _when(call)
    return (
        f"{moved}: {100 * call['ms'] / shift:.0f} % of that by {_name(call)}{where}; "
        f"{moved_pct} % of {of} {change} {value} ms because of it{f', {when}' if when else ''}"
    )


def _row(ms: float, text: str) -> str:
    return f"  {f'{_signed(ms)} ms':>12}  {text}"


def _name(call: dict[str, Any]) -> str:
    return f"{safe(call['call'])} of task {safe(call['task'])}"


def _phases(call: dict[str, Any]) -> str:
    parts = [(PHASES[phase], ms) for phase, ms in call["phases"].items()]
    parts.append((NO_PHASE, call["other_ms"]))
    parts = [part for part in parts if abs(part[1]) >= SMALL * abs(call["ms"])]
    parts.sort(key=lambda part: abs(part[1]), reverse=True)
    return ", ".join(f"{name} {_signed(ms)} ms" for name, ms in parts)


def _when(call: dict[str, Any]) -> str:
    if call["during_us"] is None:
        return ""
    start, end = call["during_us"]
    return f"due from {seconds(start)} to {seconds(end)}"


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{number(round(value, 3))}"
