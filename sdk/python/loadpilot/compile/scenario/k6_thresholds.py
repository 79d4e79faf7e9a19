"""Thresholds as k6 writes them: ``p(99)<500``, ``http_req_failed rate<0.01``, in our words.

k6 counts in shares where LoadPilot counts in percent. A form that means something else here, or
more than one thing, is an error that names ours.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from ... import _native
from ...problem import shown

DURATION, FAILED, CHECKS = "http_req_duration", "http_req_failed", "checks"
NAMES = (
    DURATION,
    FAILED,
    CHECKS,
    *("data_received", "data_sent", "dropped_iterations", "http_reqs", "iteration_duration"),
    *("iterations", "vus", "vus_max", "group_duration", "http_req_blocked", "http_req_connecting"),
    *("http_req_receiving", "http_req_sending", "http_req_tls_handshaking", "http_req_waiting"),
)
"""k6's own metrics."""
FORM = re.compile(
    rf"(?:(?P<task>[^{{}}]+):)??\s*(?:(?P<name>{'|'.join(NAMES)})(?P<tags>\{{.*\}})?[\s:]+)?"
    r"(?P<aggregate>p\(\s*[\d.]+\s*\)|avg|min|med|max|rate|count|value)"
)
LIMIT = re.compile(r"\s*(?P<operator>[<>]=?)\s*(?P<number>\S+)\s*")
DURATIONS = {"med": "p50_ms", "avg": "mean_ms", "max": "max_ms"}
SHARES = {FAILED: "error_rate", CHECKS: "checks"}
"""Metrics whose rate is a share in k6 and a percentage here."""


class Ambiguous(ValueError):
    """A form of k6 without one meaning here; the text names a form that has one."""


def is_k6(key: str) -> bool:
    """Whether a key is in a form of k6."""
    return FORM.fullmatch(key) is not None


def translated(key: str, limit: object) -> tuple[str, str]:
    """Translate a key and a limit of k6; raises Ambiguous."""
    found = FORM.fullmatch(key)
    sided = LIMIT.fullmatch(limit) if isinstance(limit, str) else None
    if found is None or sided is None:
        raise Ambiguous('k6\'s form needs an operator, such as "p(99)<500": here p99_ms=500')
    task, name, tags, aggregate = found.group("task", "name", "tags", "aggregate")
    operator, number = sided.groups()
    if tags is not None:
        raise Ambiguous("tags of k6 select nothing here; name a task: TASK:p99_ms<500")
    if aggregate == "rate":
        metric = _share(name, operator, number)
        number = _percentage(metric, operator, number)
    else:
        metric = _duration(name, aggregate)
    return f"{task}:{metric}" if task else metric, f"{operator} {number}"


def _duration(name: str | None, aggregate: str) -> str:
    """Find the key of a response time."""
    metric = DURATIONS.get(aggregate, "")
    if aggregate.startswith("p("):
        metric = f"p{aggregate[2:-1].strip().replace('.', '_')}_ms"
    known = [key for key in _native.metric_keys() if key.endswith("_ms")]
    if name not in {None, DURATION} or metric not in known:
        form = f"{name} {aggregate}" if name else aggregate
        what = f"{shown(form)} of k6 has no counterpart here; response times are"
        raise Ambiguous(f"{what} {', '.join(known)}, loads achieved_rps and dropped_rate")
    return metric


def _share(name: str | None, operator: str, number: str) -> str:
    """Find the key of a share; without a name it is that of failed requests."""
    if name is None and operator.startswith(">"):
        what = f"rate{operator}{number} may mean checks or errors"
        raise Ambiguous(f"{what}; write checks{operator}PERCENT or error_rate{operator}PERCENT")
    metric = SHARES.get(name or FAILED)
    if metric is None:
        what = f"the rate of k6's {name} has no counterpart here"
        raise Ambiguous(f"{what}; the started arrivals per second are achieved_rps>=50")
    return metric


def _percentage(metric: str, operator: str, number: str) -> str:
    try:
        share = Decimal(number)
    except InvalidOperation:
        share = Decimal("NaN")
    if not (share.is_finite() and 0 <= share <= 1):
        what = f"k6's rate is a share from 0 to 1 (got {shown(number)})"
        raise Ambiguous(f"{what}; in percent write {metric}{operator}PERCENT")
    return f"{(share * 100).normalize():f}"
