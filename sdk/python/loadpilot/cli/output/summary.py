"""The summary of a run: a pure function from its report to text.

``loadpilot run`` and ``loadpilot report`` print the same bytes for the same report, so nothing here
may read a clock, a terminal, a path or a flag. Text of users and targets is escaped.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from ...control.figures import (
    closed_loop,
    count,
    millis,
    number,
    percent,
    plural,
    seconds,
    sessions_started,
    size,
    user_times,
)
from ...control.outcome import requests_per_sec
from ...control.terminal import inert, safe
from .plan_summary import connections_text, pairs
from .sections.exchanges import exchange_lines, failure_lines
from .sections.load_curve import knee_text, level_rows
from .sections.metric_tables import tables
from .sections.omission import omission_lines
from .sections.steering import steered
from .verdict import LABEL_WIDTH, gate_lines, head_lines, labelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..._generated.report import Checks, Ladder, Report, TaskReport

NAME_WIDTH = 26
"""Width of the name of a task or call in a table, in columns."""
ERRORS_SHOWN_MAX = 5
"""Maximum number of shown errors of a task's Python; the results file holds more."""
ERROR_LABELS = {"check": "check failed", "task": "task failed", "blocking": "blocked"}
LOST_LINES_MAX = 10
"""Maximum number of listed lost intervals; the results file holds all."""
Rung = Literal["p50_us", "p75_us", "p90_us", "p95_us", "p99_us", "p99_9_us", "p99_99_us", "max_us"]
PERCENTILES: tuple[tuple[str, Rung], ...] = (
    ("p50", "p50_us"),
    ("p75", "p75_us"),
    ("p90", "p90_us"),
    ("p95", "p95_us"),
    ("p99", "p99_us"),
    ("p99.9", "p99_9_us"),
    ("p99.99", "p99_99_us"),
    ("max", "max_us"),
)
"""The percentiles: label and field of the report."""
VERBOSE_PERCENTILES = frozenset({"p75", "p99.99"})
"""Percentiles that only the full summary shows."""
HEADS = ("requests", "errors", "p50", "p95", "p99", "max", "min", "mean")
"""Columns of the rows of user types, tasks and calls."""
TASKS_SHOWN_MAX = 6
"""Maximum number of tasks with rows in the short summary."""


def summary(report: Report, *, verbose: bool = False) -> str:
    """Write the summary; ends with a line break.

    Verdict, gates, failures, latency and throughput come first and fit a screen; ``verbose`` adds
    the rest. A refused run has figures of nothing: they are left out.
    """
    parts = _parts(report, verbose=verbose)
    if report["run"]["state"] == "refused":
        parts = [head_lines(report), _which(report, verbose=verbose)]
    blocks = ["\n".join(lines) for part in parts if (lines := list(part))]
    return inert("\n\n".join(blocks)) + "\n"


def _parts(report: Report, *, verbose: bool) -> list[Iterable[str]]:
    """Write the parts of the summary in their order."""
    few = 1 < len(report["tasks"]) <= TASKS_SHOWN_MAX
    return [
        head_lines(report),
        gate_lines(report),
        _raised(report, verbose=verbose),
        _answers(report),
        steered(report, verbose=verbose),
        _measured(report),
        _latency(report, verbose=verbose),
        _streams(report),
        _offered(report),
        _load_curve(report, verbose=verbose),
        _types(report),
        _tasks(report, calls=verbose) if verbose or few else (),
        _foot(report) if verbose else (),
        _which(report, verbose=verbose),
        _exchanges(report),
    ]


def _offered(report: Report) -> Iterator[str]:
    """Write which part of the planned load was offered."""
    run, rates, arrivals = report["run"], report["rates"], report["arrivals"]
    users = run.get("users")
    achieved, started = number(rates["achieved_rps"]), count(arrivals["started"])
    if users is not None:
        loop = closed_loop(run)
        yield labelled("achieved", f"{achieved} arrivals/s, {_requests(report)}, {loop}")
        yield labelled(
            "arrivals", f"{started} started{sessions_started(arrivals)}; a closed loop plans none"
        )
    else:
        yield labelled(
            "achieved",
            f"{achieved} of {number(rates['planned_rps'])} arrivals/s planned"
            f"{_peak(report)}, {_requests(report)}, shortfall {percent(rates['shortfall_pct'])}",
        )
        waiting = arrivals["waiting"]
        yield labelled(
            "arrivals",
            f"{started} started of {count(arrivals['planned'])} planned"
            + (f", {count(waiting)} not yet reported" if waiting else ""),
        )
    words = connections_text(run.get("connections", {}))
    if words:
        yield labelled("connections", words)
    yield from _missing(report)


def _load_curve(report: Report, *, verbose: bool) -> Iterator[str]:
    """Write the knee of a run with several rates; ``verbose`` adds a row for each level."""
    curve = report.get("load_curve")
    if curve is None:
        return
    yield labelled("knee", knee_text(curve))
    if verbose:
        yield from level_rows(curve)


def _peak(report: Report) -> str:
    """Write the planned peak where the rate was lower for a part of the measured time."""
    peak = number(report["rps_target"])
    return "" if peak == number(report["rates"]["planned_rps"]) else f" (peak {peak})"


def _requests(report: Report) -> str:
    """Write the requests of the measured time per second."""
    return f"{number(requests_per_sec(report) or 0.0)} requests/s"


def _missing(report: Report) -> Iterator[str]:
    """Write the arrivals that were not started, or are not known."""
    arrivals, gaps = report["arrivals"], report["gaps"]
    users = report["run"].get("users")
    dropped = sum(arrivals["dropped"].values())
    if dropped:
        reasons = ", ".join(f"{name} {count(n)}" for name, n in arrivals["dropped"].items() if n)
        yield labelled("dropped", f"{count(dropped)} ({reasons})")
    elif users is None and arrivals["started"] == arrivals["planned"] and arrivals["lost"] == 0:
        yield labelled("dropped", "0: every planned arrival was started, nothing was omitted")
    else:
        yield labelled("dropped", "0")
    share = gaps.get("lost_time_pct")
    of_time = f"{percent(share)} of the time of its users" if share else None
    yield labelled("lost", of_time or count(arrivals["lost"]))
    lost = gaps["lost"]
    for gap in lost[:LOST_LINES_MAX]:
        begin, end = gap["from_tick"], gap["to_tick"] + 1
        tick_us = report["run"]["tick_us"]
        span = f"{seconds(begin * tick_us)} to {seconds(end * tick_us)}"
        holder = safe(f"{gap['holder']['agent']}/{gap['holder']['boot_id']}")
        if users is None:
            yield labelled("", f"{count(gap['arrivals'])} due from {span}, held by {holder}")
        else:
            known = f", {count(gap['arrivals'])} arrivals at least" if gap["arrivals"] else ""
            yield labelled("", f"from {span}, users of {holder}{known}")
    if len(lost) > LOST_LINES_MAX:
        yield labelled("", f"and {len(lost) - LOST_LINES_MAX} more intervals")
    if gaps["excess_arrivals"] or gaps["excess_calls"]:
        yield labelled(
            "excess",
            f"{count(gaps['excess_arrivals'])} arrivals, {count(gaps['excess_calls'])} calls of "
            "agents that had been superseded; outside of all figures",
        )
    if gaps["quarantined"] or gaps["late_deltas"]:
        yield labelled(
            "set aside",
            f"{count(len(gaps['quarantined']))} unreadable or contradictory events, "
            f"{count(gaps['late_deltas'])} deltas after the end",
        )


def _latency(report: Report, *, verbose: bool) -> Iterator[str]:
    """Write the percentiles, corrected and uncorrected side by side."""
    latency = report["latency"]
    response, service = latency.get("response"), latency.get("service")
    if response is None or service is None:
        yield labelled("latency", "nothing finished, so there is none")
        return
    if latency.get("unconnected", 0) >= response["count"]:
        yield labelled("latency", "not measured: no call reached a server")
        return
    if report["run"].get("users") is not None:
        yield from _closed_latency(response, verbose=verbose)
    else:
        yield f"{'latency':<{LABEL_WIDTH}}{'corrected':>16}{'uncorrected':>16}"
        for label, key in _distinct_percentiles(response, service, verbose=verbose):
            corrected, uncorrected = response[key], service[key]
            yield f"  {label:<{LABEL_WIDTH - 2}}{_ms(corrected):>16}{_ms(uncorrected):>16}"
        co_factor = latency.get("co_factor")
        factor = "—" if co_factor is None else number(co_factor)
        yield labelled("CO factor", f"{factor} (corrected p99 / uncorrected p99)")
        yield from (labelled("", text) for text in omission_lines(latency.get("omission")))
        yield labelled(
            "", "corrected counts from when a call was due, uncorrected from its dispatch"
        )
    ok, failed = latency.get("response_ok"), latency.get("response_failed")
    if failed is not None:
        ok_text = "ok: none" if ok is None else _short("ok", ok)
        yield labelled("split", f"{ok_text} · {_short('failed', failed)}")
        yield labelled("", "neither half alone is what users saw")


def _distinct_percentiles(*ladders: Ladder, verbose: bool) -> Iterator[tuple[str, Rung]]:
    """List the percentiles to show: with few calls the last ones all are the longest call."""
    longest = [ladder["max_us"] for ladder in ladders]
    for label, key in PERCENTILES[:-1]:
        if not verbose and label in VERBOSE_PERCENTILES:
            continue
        if [ladder[key] for ladder in ladders] == longest:
            yield f"{label} = max", key
            return
        yield label, key
    yield PERCENTILES[-1]


def _closed_latency(response: Ladder, *, verbose: bool) -> Iterator[str]:
    """Write the percentiles of a closed loop, and what they leave out."""
    yield f"{'latency':<{LABEL_WIDTH}}{'closed loop':>16}"
    for label, key in _distinct_percentiles(response, verbose=verbose):
        yield f"  {label:<{LABEL_WIDTH - 2}}{_ms(response[key]):>16}"
    yield labelled("", "not counted from a schedule: while users wait for a slow answer they send")
    yield labelled("", "nothing, and what they did not send is left out (coordinated omission)")


def _answers(report: Report) -> Iterator[str]:
    """Write outcomes, causes, status codes and errors."""
    calls = report["calls"]
    yield labelled("requests", f"{count(calls['attempted'])} in the whole run, warm-up included")
    yield labelled("outcomes", _counts(calls["outcomes"]))
    yield from _task_errors(report)
    for outcome, causes in calls.get("causes", {}).items():
        why = ", ".join(
            f"{safe(cause).replace('_', ' ')} {count(n)}"
            for cause, n in sorted(causes.items(), key=lambda item: (-item[1], item[0]))
        )
        yield labelled("", f"{safe(outcome)}: {why}")
    if calls["in_flight"]:
        yield labelled("in flight", count(calls["in_flight"]))
    yield labelled("status", _counts(report["status"]))
    error_rate = report.get("error_rate_pct")
    rate = "—" if error_rate is None else percent(error_rate)
    yield labelled("errors", f"{count(report['errors_total'])} of what finished, {rate}")
    resent = report["generator"].get("resent", 0)
    if resent:
        again = "sent again on a new connection, the kept one had been closed unanswered"
        yield labelled("", f"{count(resent)} requests {again}")
    yield from _redirects(report["generator"])


def _redirects(generator: Mapping[str, Any]) -> Iterator[str]:
    """Write how many redirects were followed, and how many calls ended with one."""
    followed, left = generator.get("redirects", 0), generator.get("redirects_not_followed", 0)
    if followed or left:
        beyond = "beyond the limit or to another origin"
        more = f"; {count(left)} not followed, {beyond}" if left else ""
        yield labelled("redirects", f"followed: {count(followed)}{more}")


def _task_errors(report: Report) -> Iterator[str]:
    """Write how many tasks raised an error, and how many of those after an ok request."""
    raises = report.get("task_raises")
    if raises is None:
        return
    ok, failed = raises.get("after_ok", 0), raises.get("after_failed", 0)
    none = raises.get("without_call", 0)
    parts = {"after an ok request": ok, "after a failed one": failed, "without a request": none}
    text = ", ".join(f"{words} {count(n)}" for words, n in parts.items() if n)
    yield labelled("task_error", f"{count(ok + failed + none)} tasks raised an error: {text}")


def _types(report: Report) -> Iterator[str]:
    """Write a row per user type of a mix, and its share or its number of users."""
    types = report.get("types", [])
    if not types:
        return
    yield f"{'user type, ms':<{NAME_WIDTH}}" + "".join(f"{head:>9}" for head in HEADS)
    for one in types:
        yield _row(safe(one["name"]), one["finished"], one["errors"], one.get("response"))
    shares = sum(one["share"] for one in types)
    for place, one in enumerate(types):
        users, arrivals = one.get("users"), one["arrivals"]
        planned = f"of {count(arrivals['planned'])} planned"
        of = planned if users is None else f"{plural(users, 'user')}{user_times(one)}"
        started = f"{count(arrivals['started'])} arrivals started{sessions_started(arrivals)}"
        text = f"{safe(one['name'])}: share {percent(one['share'] * 100 / shares)}, {started}, {of}"
        yield labelled("" if place else "mix", text)


def _tasks(report: Report, *, calls: bool) -> Iterator[str]:
    """Write a row per task, and with ``calls`` one per call of a task with several."""
    yield f"{'task, ms':<{NAME_WIDTH}}" + "".join(f"{head:>9}" for head in HEADS)
    for task in report["tasks"]:
        yield _row(safe(task["name"]), task["finished"], task["errors"], task.get("response"))
        if calls and len(task["calls"]) > 1:
            yield from _calls(task)


def _raised(report: Report, *, verbose: bool) -> Iterator[str]:
    """Write the errors of checks and tasks by frequency; ``verbose`` adds tracebacks."""
    for task in report["tasks"]:
        name, raised = safe(task["name"]), task.get("raised", [])
        for one in raised[:ERRORS_SHOWN_MAX]:
            yield labelled(ERROR_LABELS[one["by"]], f"{name}, {count(one['count'])} times")
            yield from (labelled("", safe(line)) for line in one["text"].split("\n"))
            trace = one.get("trace")
            if verbose and trace is not None:
                yield from (labelled("", f"  {safe(line)}") for line in trace.split("\n"))
        if len(raised) > ERRORS_SHOWN_MAX:
            more = count(len(raised) - ERRORS_SHOWN_MAX)
            yield labelled("", f"{name}: {more} other errors are in the report")


def _measured(report: Report) -> Iterator[str]:
    """Write how many checks passed, and the metrics of the scenario."""
    every = report.get("checks")
    if every is not None:
        yield labelled("checks", _passed(every))
        of_tasks = ((task["name"], task.get("checks")) for task in report["tasks"])
        checked = [(name, checks) for name, checks in of_tasks if checks is not None]
        if len(checked) > 1:
            yield from (
                labelled("", f"{safe(name)}: {_passed(checks)}") for name, checks in checked
            )
    metrics = report.get("metrics")
    if metrics is not None:
        yield from tables(metrics, NAME_WIDTH)


def _passed(checks: Checks) -> str:
    total = checks["passed"] + checks["failed"]
    share = checks["passed"] * 100 / total
    # Rounded up, a check that failed would be hidden.
    shown = "99.99 %" if checks["failed"] and share > 99.99 else percent(share)
    return f"{shown} of {count(total)} passed"


def _calls(task: TaskReport) -> Iterator[str]:
    for call in task["calls"]:
        response = call.get("response")
        finished = response["count"] if response is not None else 0
        yield _row(f"  {safe(call['name'])}", finished, None, response)


def _row(name: str, finished: int, errors: int | None, ladder: Ladder | None) -> str:
    figures = [count(finished), "" if errors is None else count(errors)]
    if ladder is None:
        figures += ["—"] * 6
    else:
        figures += _rungs(ladder, "p50_us", "p95_us", "p99_us", "max_us", "min_us", "mean_us")
    return f"{_cut(name):<{NAME_WIDTH}}" + "".join(f"{figure:>9}" for figure in figures)


def _cut(name: str) -> str:
    return name if len(name) < NAME_WIDTH else name[: NAME_WIDTH - 2] + "…"


def _streams(report: Report) -> Iterator[str]:
    """Write the time to the first token of streamed answers, and the gaps between tokens."""
    of_tasks = ((safe(task["name"]), task.get("streams")) for task in report["tasks"])
    rows = [(name, streams) for name, streams in of_tasks if streams is not None]
    every = report.get("streams")
    if not rows or every is None:
        return
    heads = ("tokens", "first p50", "p95", "p99", "gap p50", "p95", "p99", "max")
    yield f"{'streams, ms':<{NAME_WIDTH}}" + "".join(f"{head:>10}" for head in heads)
    if len(rows) > 1:
        rows.append(("all", every))
    for name, streams in rows:
        first, gap = streams.get("first_token"), streams.get("token_gap")
        figures = [count(streams["tokens"])]
        figures += _rungs(first, "p50_us", "p95_us", "p99_us")
        figures += _rungs(gap, "p50_us", "p95_us", "p99_us", "max_us")
        yield f"{_cut(name):<{NAME_WIDTH}}" + "".join(f"{figure:>10}" for figure in figures)
    if report["run"].get("users") is None:
        yield labelled("", "the first token is counted from when its call was due")


def _rungs(ladder: Ladder | None, *keys: Literal[Rung, "min_us", "mean_us"]) -> list[str]:
    return ["—" if ladder is None else millis(ladder[key]) for key in keys]


def _exchanges(report: Report) -> Iterator[str]:
    """Write the exchanges of --debug-requests."""
    for seen in report.get("exchanges", []):
        yield from exchange_lines(seen, _sender(report))


def failed_calls(report: Report, examples: Sequence[Mapping[str, Any]]) -> str:
    """Write examples of failed calls; empty without any."""
    lines = "\n".join(failure_lines(examples, _sender(report)))
    return f"\n{inert(lines)}\n" if lines else ""


def _sender(report: Report) -> str:
    """Return what the number of an exchange counts."""
    return "arrival" if report["run"].get("users") is None else "user"


def _foot(report: Report) -> Iterator[str]:
    """Write the bytes moved, and the state of the generator."""
    moved = report["bytes"]
    yield labelled(
        "bytes",
        f"sent {size(moved['sent'])} ({size(moved['sent_per_sec'])}/s), "
        f"received {size(moved['received'])} ({size(moved['received_per_sec'])}/s)",
    )
    generator = report["generator"]
    schedule_lag, queue = generator.get("schedule_lag"), generator.get("queue")
    lag = "—" if schedule_lag is None else _ms(schedule_lag["p99_us"])
    queued = "—" if queue is None else _ms(queue["p99_us"])
    stall = _ms(generator["stall_us_max"])
    yield labelled(
        "generator", f"schedule lag p99 {lag}, queue p99 {queued}, longest stall {stall}"
    )
    busiest, busy = generator["busiest_core_permille"] / 10, generator["busy_deltas_pct"]
    yield labelled("", f"busiest core {percent(busiest)}; above 90 % in {percent(busy)}")
    opened, reused = generator["connections_opened"], generator["connections_reused"]
    yield labelled("connections", f"{count(opened)} opened, reused {count(reused)} times")
    again, full = generator.get("retransmits_max", 0), generator.get("listen_overflows_max", 0)
    if again or full:
        yield labelled(
            "network",
            f"on an agent's machine, by all its programs: {count(again)} TCP segments sent again, "
            f"{count(full)} connections found a listener's queue full",
        )


def _which(report: Report, *, verbose: bool) -> Iterator[str]:
    """Write the warm-up that was left out, and the identity of the run."""
    warm_up = report["warm_up"]
    if warm_up["warm_up_us"]:
        yield labelled(
            "warm-up",
            f"the first {seconds(warm_up['warm_up_us'])} are left out of gates, rates and "
            f"percentiles: {count(warm_up['arrivals'])} arrivals, {count(warm_up['calls'])} calls",
        )
    yield labelled("scenario", f"{safe(report['scenario'])} against {safe(report['target_url'])}")
    run = report["run"]
    run_id, start_at, planned = safe(run["id"]), run.get("start_at"), seconds(run["profile_us"])
    started = "never started" if start_at is None else _instant(start_at)
    holders = len({holder["holder"]["agent"] for holder in run["holders"]})
    agents = f"{holders} agent{'s' if holders != 1 else ''}"
    if any(holder.get("development") for holder in run["holders"]):
        agents += ", development build"
    yield labelled("run", f"{run_id}, {started}, {planned} planned, {agents}")
    if verbose:
        yield labelled("seed", f"{run['seed']}")
    for label, texts in (("parameters", run.get("parameters")), ("tags", run.get("tags"))):
        if texts:
            yield labelled(label, pairs(texts))
    if not verbose:
        yield labelled("more", f"loadpilot report {run_id} -v")


def _ms(us: float) -> str:
    return f"{millis(us)} ms"


def _short(label: str, ladder: Ladder) -> str:
    return f"{label} p50 {_ms(ladder['p50_us'])}, p99 {_ms(ladder['p99_us'])}"


def _counts(counts: Mapping[str, int]) -> str:
    shown: Iterable[str] = (f"{safe(name)} {count(n)}" for name, n in counts.items() if n)
    return " · ".join(shown) or "none"


def _instant(at_us: int) -> str:
    """Write an instant in UTC, so that a report reads the same everywhere."""
    return datetime.fromtimestamp(at_us // 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
