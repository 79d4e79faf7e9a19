"""Figures as text for people: the same value always gives the same text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SIZES = ("B", "kB", "MB", "GB", "TB")


def count(value: int) -> str:
    """Write a count: ``12,345``."""
    return f"{value:,}"


def plural(value: int, noun: str) -> str:
    """Write a count with its noun: ``1 agent``, ``2 agents``."""
    return f"{count(value)} {noun}{'' if value == 1 else 's'}"


def closed_loop(load: Mapping[str, Any]) -> str:
    """Write the load of a closed loop: ``closed loop, 64 users``.

    ``load`` is a plan, or the facts of a run: ``users``, of stages the maximum; ``user_stages``;
    ``rest``, the pacing or think time between two tasks; and ``session``, the length of sessions.
    """
    users, stages = plural(load["users"], "user"), load.get("user_stages")
    text = f"closed loop, {users}"
    if stages:
        text = f"closed loop, up to {users} in {plural(len(stages), 'stage')}"
    return text + user_times(load)


def user_times(load: Mapping[str, Any]) -> str:
    """Write how long users of a closed loop pause and stay; empty where they do neither."""
    return think_time(load.get("rest")) + session_length(load.get("session"))


def sessions_started(arrivals: Mapping[str, Any]) -> str:
    """Write the sessions of arrivals: `` in 523 sessions, of which 401 are over``; or nothing."""
    sessions = arrivals.get("sessions")
    if sessions is None:
        return ""
    over = f"{count(sessions['ended'])} {'is' if sessions['ended'] == 1 else 'are'} over"
    return f" in {plural(sessions['started'], 'session')}, of which {over}"


def session_length(length: Mapping[str, Any] | None) -> str:
    """Write how long users stay: ``, sessions of 12 min``; empty when they do for the whole run."""
    text = _times(length, minutes)
    return f", sessions of {text}" if text else ""


def think_time(rest: Mapping[str, Any] | None) -> str:
    """Write the pause of a user between two tasks: ``, thinking 2 s``; empty without one."""
    if rest is not None and "pacing" in rest:
        return f", each begins every {seconds(rest['pacing']['every_us'])}"
    text = _times(rest, seconds)
    return f", thinking {text}" if text else ""


def _times(times: Mapping[str, Any] | None, written: Callable[[int], str]) -> str:
    """Write the distribution of a time of users; empty without one."""
    match times:
        case {"between": uniform} | {"wait": uniform}:
            from_us, to_us = uniform["from_us"], uniform["to_us"]
            least = f"{written(from_us)} to " if from_us != to_us else ""
            return f"{least}{written(to_us)}"
        case {"exponential": {"median_us": median_us}}:
            return f"{written(median_us)} in the median (exponential)"
        case {"lognormal": {"median_us": median_us, "p99_us": p99_us}}:
            return f"{written(median_us)} in the median, {written(p99_us)} at p99 (lognormal)"
        case _:
            return ""


def number(value: float) -> str:
    """Write a measured number with its significant digits: ``0.25``, ``99.7``, ``1,234``.

    Only zero looks like zero.
    """
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) < 0.001:
        return f"{value:.2g}"
    places = 3 if abs(value) < 10 else 2 if abs(value) < 100 else 1
    return f"{value:,.{places}f}".rstrip("0").rstrip(".")


def against(actual: float, limit: float) -> tuple[str, str]:
    """Write a figure and its limit; unequal ones must never look equal."""
    shown = number(actual), number(limit)
    same = shown[0] == shown[1] and actual != limit
    return (repr(actual), repr(limit)) if same else shown


def percent(value: float) -> str:
    """Write a percentage; only zero looks like zero."""
    if 0 < value < 0.01:
        return "<0.01 %"
    return f"{value:.2f} %"


def millis(us: float) -> str:
    """Write microseconds as milliseconds, to the microsecond below 100 ms."""
    ms = us / 1000
    places = 3 if ms < 100 else 2 if ms < 1_000 else 1
    return f"{ms:.{places}f}"


def seconds(us: float) -> str:
    """Write microseconds as seconds: ``9.5 s``."""
    return f"{us / 1_000_000:,.3f}".rstrip("0").rstrip(".") + " s"


def minutes(us: float) -> str:
    """Write microseconds as minutes where they are whole ones, else as seconds: ``12 min``."""
    whole, left = divmod(us, 60_000_000)
    return f"{whole:,.0f} min" if whole and not left else seconds(us)


def size(value: float) -> str:
    """Write a number of bytes in decimal units."""
    step = 0
    while value >= 1_000 and step < len(SIZES) - 1:
        value /= 1_000
        step += 1
    return f"{value:.0f} {SIZES[step]}" if step == 0 else f"{value:.1f} {SIZES[step]}"


def clock(secs: float) -> str:
    """Write seconds as ``mm:ss``; minutes go on counting after an hour."""
    full_secs = max(0, int(secs))
    return f"{full_secs // 60:02d}:{full_secs % 60:02d}"
