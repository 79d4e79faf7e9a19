"""PromQL of the dashboards, from the metrics of a run and their labels.

Several exporters may show the same run: the command, gateways, coordinators. Counts take the
highest of them before they are summed, so that a run counts once. Histograms are summed over
them: twice the same distribution has the same percentiles.
"""

from __future__ import annotations

from typing import Final

RUN: Final = 'scenario=~"$scenario", run=~"$run"'
"""Selects the runs of the dashboard's variables."""
TASK: Final = f'{RUN}, task=~"$task"'
AGENT: Final = f'{RUN}, agent=~"$agent"'
FINISHED: Final = 'outcome!~"cancelled|indeterminate"'
"""Calls that ended by themselves, as the report counts them for its error rate."""
FAILED: Final = 'outcome!~"ok|cancelled|indeterminate"'
EXPORTERS: Final = "instance, job, exporter"
"""Labels that tell exporters of one run apart."""
RESPONSE: Final = "loadpilot_request_duration_seconds"
"""From due: corrected for coordinated omission."""
SERVICE: Final = "loadpilot_request_service_duration_seconds"
"""From dispatch: uncorrected."""
RATE_INTERVAL: Final = "$__rate_interval"
RANGE: Final = "$__range"
"""The time range of the dashboard, at whose end instant queries are evaluated."""


def once(expression: str) -> str:
    """Count each run once, however many exporters show it."""
    return f"max without ({EXPORTERS}) ({expression})"


def rate(counter: str, selector: str = RUN, by: str = "") -> str:
    """Rate of a counter a second, summed."""
    return total(f"rate({counter}{{{selector}}}[{RATE_INTERVAL}])", by)


def count(counter: str, selector: str = RUN, by: str = "") -> str:
    """Count since the start of the run, summed."""
    return total(f"{counter}{{{selector}}}", by)


def last_count(counter: str, selector: str = RUN, by: str = "") -> str:
    """Newest count of the time range, summed; also of a run that ended before its end."""
    return total(newest(counter, selector), by)


def total(expression: str, by: str = "") -> str:
    """Sum series of runs, each counted once; `by` has labels to keep."""
    return f"sum{_by(by)} ({once(expression)})"


def newest(metric: str, selector: str = RUN) -> str:
    """Newest value of the time range."""
    return f"last_over_time({metric}{{{selector}}}[{RANGE}])"


def last(gauge: str, by: str, selector: str = RUN) -> str:
    """Newest value of a gauge, for each value of the labels in `by`."""
    return f"max by ({by}) ({newest(gauge, selector)})"


def settled(gauge: str, by: str, *, is_state: bool = False) -> str:
    """Newest value of a gauge that may go up and down, for each value of the labels in `by`.

    Of a run that is over, exporters that ended before it did are left out; those that know its end
    export a verdict. A state is 1 where the label has its name, and else left out.
    """
    found = newest(gauge) + (" == 1" if is_state else "")
    verdict = newest("loadpilot_run_verdict")
    final = f"{found} and on (run, {EXPORTERS}) {verdict}"
    return f"max by ({by}) (({final}) or ({found} unless on (run) {verdict}))"


def certificate() -> str:
    """Certificate of each run as the label `certificate`; of one that goes on, with "so far".

    Before its end no run is VALID, as it is `unfinished`. Until then its other findings decide.
    """
    grades, verdict = newest("loadpilot_run_certificate"), newest("loadpilot_run_verdict")
    by = "run, scenario"
    final = f"max by ({by}, certificate) ({grades} == 1 and on (run, {EXPORTERS}) {verdict})"
    open_runs = f"max by ({by}) ({grades}) unless on (run) {verdict}"
    invalid, degraded = (
        f'loadpilot_run_finding{{{RUN}, level="{level}", finding!="unfinished"}}'
        for level in ("INVALID", "DEGRADED")
    )
    so_far = {
        "INVALID": f"{open_runs} and on (run) {invalid}",
        "DEGRADED": f"{open_runs} unless on (run) {invalid} and on (run) {degraded}",
        "VALID": f"{open_runs} unless on (run) {invalid} unless on (run) {degraded}",
    }
    named = (
        f'label_replace({runs}, "certificate", "{grade} so far", "", "")'
        for grade, runs in so_far.items()
    )
    return " or ".join((final, *named))


def share(part: str, whole: str) -> str:
    """Quotient of two sums; 0 where the part has no series yet."""
    return f"({or_zero(part, whole)}) / {whole}"


def or_zero(part: str, whole: str) -> str:
    """A sum that is 0 where it has no series yet, as another one of the same labels has."""
    return f"{part} or {whole} * 0"


def quantile(q: float, histogram: str, selector: str = RUN, by: str = "") -> str:
    """Percentile over the rate interval, from native buckets, else from classic ones."""
    native, classic = (
        f"rate({name}{{{selector}}}[{RATE_INTERVAL}])"
        for name in (histogram, f"{histogram}_bucket")
    )
    return f"{_quantile(q, native, by)} or {_quantile(q, classic, by, is_classic=True)}"


def last_quantile(q: float, histogram: str, selector: str = RUN, by: str = "") -> str:
    """Percentile over the whole run, as of the newest value of the time range.

    Prometheus 2 has no newest value of native histograms: there it is the percentile over the time
    range, without what came before its first scrape.
    """
    native = newest(histogram, selector)
    ranged = f"increase({histogram}{{{selector}}}[{RANGE}])"
    classic = newest(f"{histogram}_bucket", selector)
    return (
        f"{_quantile(q, native, by)} or {_quantile(q, ranged, by)}"
        f" or {_quantile(q, classic, by, is_classic=True)}"
    )


def mean(histogram: str, selector: str = RUN, by: str = "") -> str:
    """Mean over the rate interval, from a native histogram, else from a classic one."""
    native = f"sum{_by(by)} (rate({histogram}{{{selector}}}[{RATE_INTERVAL}]))"
    parts = [
        f"sum{_by(by)} (rate({histogram}_{part}{{{selector}}}[{RATE_INTERVAL}]))"
        for part in ("sum", "count")
    ]
    return f"histogram_sum({native}) / histogram_count({native}) or {parts[0]} / {parts[1]}"


def _quantile(q: float, values: str, by: str, *, is_classic: bool = False) -> str:
    keep = ", ".join(label for label in ("le" if is_classic else "", by) if label)
    return f"histogram_quantile({q}, sum{_by(keep)} ({values}))"


def _by(labels: str) -> str:
    return f" by ({labels})" if labels else ""
