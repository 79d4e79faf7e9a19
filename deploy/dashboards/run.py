"""The dashboard of one run: state, throughput, latency, errors, tasks, generator health."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grafana_foundation_sdk.models.dashboard import DynamicConfigValue

from .generators import health
from .layout import dashboard, one_run, scenarios, several, timeline
from .panels import (
    BAD,
    FAIR,
    GOOD,
    GRADES,
    HALF,
    QUARTER,
    VERDICTS,
    Query,
    dial,
    figure,
    heat,
    lines,
    rows,
    state,
)
from .queries import (
    FAILED,
    FINISHED,
    RESPONSE,
    RUN,
    SERVICE,
    TASK,
    certificate,
    count,
    last,
    last_count,
    last_quantile,
    mean,
    once,
    or_zero,
    quantile,
    rate,
    settled,
    share,
    total,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grafana_foundation_sdk.builders.dashboard import Dashboard
    from grafana_foundation_sdk.cog.builder import Builder
    from grafana_foundation_sdk.models.dashboard import Panel

    Panels = Sequence[Builder[Panel]]

CALLS = "loadpilot_calls_total"
PLANNED, STARTED, DROPPED = (
    f"loadpilot_arrivals_{name}_total" for name in ("planned", "started", "dropped")
)


def run() -> Dashboard:
    """Build it."""
    sections = {
        "Run": _state(),
        "Throughput": _throughput(),
        "Latency": _latency(),
        "Errors": _errors(),
        "Per task": _tasks(),
        "Generator health": health(),
    }
    text = (
        "One run of LoadPilot while it goes, or a past one: set the time range to that of the run."
    )
    variables = [scenarios(), one_run(), several("task", CALLS)]
    return dashboard("loadpilot-run", "Run", text, sections, variables).annotation(timeline())


def _state() -> Panels:
    passed = DynamicConfigValue(
        "mappings",
        [
            {
                "type": "value",
                "options": {
                    "0": {"text": "failed", "color": BAD, "index": 0},
                    "1": {"text": "passed", "color": GOOD, "index": 1},
                },
            }
        ],
    )
    coloured = DynamicConfigValue("custom.cellOptions", {"type": "color-text"})
    return [
        state(
            "Certificate",
            "Whether the load generator did what the plan says. Figures of an INVALID run say"
            " little about the target.",
            Query(certificate(), "{{certificate}}"),
            GRADES | {f"{grade} so far": colour for grade, colour in GRADES.items()},
        ),
        state(
            "Verdict",
            "Whether the thresholds held; known once the run has ended.",
            Query(settled("loadpilot_run_verdict", "verdict", is_state=True), "{{verdict}}"),
            VERDICTS,
        ),
        state(
            "Phase",
            "What the run does now.",
            Query(settled("loadpilot_run_phase", "phase", is_state=True), "{{phase}}"),
            {"running": GOOD},
        ),
        figure("Elapsed", "Since the start.", "s", last("loadpilot_elapsed_secs", "run")),
        figure("Agents", "That hold shards.", "none", last("loadpilot_run_agents", "run")),
        figure(
            "Planned",
            "Arrivals that are due by now, from the plan.",
            "short",
            last_count(PLANNED),
        ),
        figure("Started", "Arrivals that agents started.", "short", last_count(STARTED)),
        rows(
            "Findings",
            "Why the certificate is not VALID, and what else to know.",
            {},
            states=[_findings()],
        ),
        rows(
            "Thresholds",
            "As they stand; in the units of their names.",
            {
                "value": settled("loadpilot_threshold_value", "threshold"),
                "limit": settled("loadpilot_threshold_limit", "threshold"),
                "passed": settled("loadpilot_threshold_passed", "threshold"),
            },
            properties={"passed": [passed, coloured]},
        ),
    ]


def _findings() -> str:
    """Findings as they stand; of a run that is over, those that were found at any time.

    A run that is over is not `unfinished`, and a VALID one has no findings, whatever was found
    while it went on.
    """
    by = "run, level, finding"
    now = f"max by ({by}) (loadpilot_run_finding{{{RUN}}})"
    seen = last("loadpilot_run_finding", by, f'{RUN}, finding!="unfinished"')
    over = last("loadpilot_run_verdict", "run")
    valid = last("loadpilot_run_certificate", "run", f'{RUN}, certificate="VALID"')
    return (
        f"({now} unless on (run) {over})"
        f" or ({seen} and on (run) {over} unless on (run) ({valid} == 1))"
    )


def _throughput() -> Panels:
    return [
        lines(
            "Arrivals: planned and started",
            "The plan offers load whatever the target does. Started below planned: the generator"
            " could not keep up, and the rest was dropped.",
            "reqps",
            Query(f"max ({once(f'loadpilot_planned_rate{{{RUN}}}')})", "offered by the plan"),
            Query(rate(PLANNED), "planned"),
            Query(rate(STARTED), "started"),
            Query(rate(CALLS), "calls ended"),
        ),
        lines(
            "Dropped arrivals by reason",
            "Planned, never started.",
            "reqps",
            Query(rate(DROPPED, by="reason"), "{{reason}}"),
            stacked=True,
        ),
        lines(
            "Requests: current and target",
            "As the command shows them.",
            "reqps",
            Query(total(f"loadpilot_current_rps{{{RUN}}}"), "current"),
            Query(total(f"loadpilot_target_rps{{{RUN}}}"), "target"),
        ),
        lines(
            "Work in flight",
            "Arrivals that have begun and not ended, and busy workers.",
            "none",
            Query(total(f"loadpilot_arrivals_in_flight{{{RUN}}}"), "arrivals in flight"),
            Query(total(f"loadpilot_active_workers{{{RUN}}}"), "active workers"),
        ),
    ]


def _latency() -> Panels:
    percentiles = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1}
    return [
        lines(
            "Latency, corrected",
            "From the time an arrival is due: what users would wait. Percentiles of the shown"
            " interval, at most 1.1 % off; max is the upper bound of the highest bucket.",
            "s",
            *(Query(quantile(q, RESPONSE), name) for name, q in percentiles.items()),
        ),
        lines(
            "Corrected and uncorrected",
            "Uncorrected is from dispatch: it leaves out the wait for a late start. A gap between"
            " both comes from the generator, or from arrivals that wait for each other.",
            "s",
            Query(quantile(0.99, RESPONSE), "p99 corrected"),
            Query(quantile(0.99, SERVICE), "p99 uncorrected"),
            Query(mean(RESPONSE), "mean corrected"),
            Query(mean(SERVICE), "mean uncorrected"),
        ),
        heat(
            "Latency by time, corrected",
            "Needs native histograms, which past runs from `loadpilot dump` do not have.",
            "s",
            rate_of_histogram(RESPONSE),
        ),
        dial("p99", "Of the whole run, corrected.", "s", last_quantile(0.99, RESPONSE)),
        dial("p99, uncorrected", "Of the whole run.", "s", last_quantile(0.99, SERVICE)),
    ]


def rate_of_histogram(histogram: str) -> str:
    """Values a second in each bucket of a native histogram."""
    return f"sum (rate({histogram}{{{RUN}}}[$__rate_interval]))"


def _errors() -> Panels:
    errors, finished = f"{RUN}, {FAILED}", f"{RUN}, {FINISHED}"
    return [
        lines(
            "Error rate",
            "Of finished calls.",
            "percentunit",
            Query(share(rate(CALLS, errors), rate(CALLS, finished)), "errors"),
            width=HALF,
        ),
        lines(
            "Calls that were not ok, by outcome",
            "Cancelled and indeterminate calls are no errors, but lower coverage.",
            "reqps",
            Query(rate(CALLS, f'{RUN}, outcome!="ok"', by="outcome"), "{{outcome}}"),
            stacked=True,
        ),
        lines(
            "Calls and errors since the start",
            "Counts as the report has them.",
            "short",
            Query(count(CALLS), "calls"),
            Query(or_zero(count(CALLS, errors), count(CALLS)), "errors"),
            Query(count("loadpilot_arrivals_failed_total"), "failed arrivals"),
        ),
        figure(
            "Error rate",
            "Of the whole run.",
            "percentunit",
            share(last_count(CALLS, errors), last_count(CALLS, finished)),
            (0.01, FAIR),
            (0.05, BAD),
            width=QUARTER,
        ),
        figure(
            "Errors",
            "Of the whole run.",
            "short",
            or_zero(last_count(CALLS, errors), last_count(CALLS)),
            width=QUARTER,
        ),
    ]


def _tasks() -> Panels:
    errors, finished = f"{TASK}, {FAILED}", f"{TASK}, {FINISHED}"
    return [
        lines(
            "Latency by task, corrected",
            "p50 and p99 of the shown interval.",
            "s",
            Query(quantile(0.5, RESPONSE, TASK, "task"), "{{task}} p50"),
            Query(quantile(0.99, RESPONSE, TASK, "task"), "{{task}} p99"),
        ),
        lines(
            "Error rate by task",
            "Of finished calls.",
            "percentunit",
            Query(share(rate(CALLS, errors, "task"), rate(CALLS, finished, "task")), "{{task}}"),
        ),
        lines(
            "Calls by task",
            "That ended.",
            "reqps",
            Query(rate(CALLS, TASK, "task"), "{{task}}"),
        ),
        rows(
            "Calls of the whole run",
            "Latencies are corrected, in seconds.",
            {
                "calls": last_count(CALLS, TASK, "task, call"),
                "errors": or_zero(
                    last_count(CALLS, errors, "task, call"), last_count(CALLS, TASK, "task, call")
                ),
                "p50": last_quantile(0.5, RESPONSE, TASK, "task, call"),
                "p95": last_quantile(0.95, RESPONSE, TASK, "task, call"),
                "p99": last_quantile(0.99, RESPONSE, TASK, "task, call"),
            },
            properties={name: [DynamicConfigValue("unit", "s")] for name in ("p50", "p95", "p99")},
        ),
    ]
