"""The flags of ``loadpilot attack`` beside those of ``loadpilot run``, and the load they mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ....inputs.units import Wrong, duration_us, rate_urps
from ....problem import Problem, rule, without
from ...flags.declaration import MOST_USED, REQUESTS, flag

if TYPE_CHECKING:
    from ...flags.run_flags import RunFlags

NAME = "attack"
RATE = "50"
DURATION = "1m"
SETTINGS: dict[str, Any] = {"rps": RATE, "duration": DURATION, "mode": "constant"}
"""Settings of an attack, which flags replace."""
RATES_RULE = "must be rates such as 1:80:3, first, last and step, or 10,20,50"
RATES_MAX = 1_000
"""Maximum number of rates of one run."""
OF_SCENARIOS = ("scenario", "share", "env")
"""Flags that have a meaning with a scenario file only."""


@dataclass(frozen=True, slots=True)
class AttackFlags:
    """The flags as they were written on the command line, unparsed."""

    targets: Annotated[
        str | None,
        flag(
            REQUESTS,
            "FILE",
            "File with requests in a format of vegeta; they are sent in turn. - is standard input.",
            default="standard input, without a URL",
        ),
        Parameter(allow_leading_hyphen=True),
    ] = None
    format: Annotated[
        str | None,
        flag(
            REQUESTS,
            "text|json",
            "Format of the requests: METHOD URL, headers and @FILE on lines; or a JSON object on "
            "each line.",
            default="recognised",
        ),
    ] = None
    method: Annotated[
        str | None,
        flag(REQUESTS, "NAME", "Method of the URL.", default="GET, with --body POST"),
    ] = None
    header: Annotated[
        tuple[str, ...],
        flag(
            REQUESTS,
            "NAME: VALUE",
            "Header of all requests, before their own. Repeatable. Other users can read command "
            "lines; write secrets into a file of requests.",
            "--header",
            "-H",
        ),
    ] = ()
    body: Annotated[
        str | None,
        flag(REQUESTS, "FILE", "Body of the requests that have none of their own."),
    ] = None
    name: Annotated[
        str, flag(REQUESTS, "NAME", "Name of scenario and task in reports.", default=NAME)
    ] = NAME
    rate: Annotated[
        str | None,
        flag(MOST_USED, "RATE", "Constant rate: 50, 50/s, 50/1s, 300/1m.", default=f"{RATE}/s"),
    ] = None
    rates: Annotated[
        str | None,
        flag(
            MOST_USED,
            "START:STOP:STEP",
            "Rates one after the other in one run, such as 1:80:3, or 10,20,50. Each has the "
            "duration of --each, and a row in the load curve.",
        ),
    ] = None
    each: Annotated[
        str | None, flag(MOST_USED, "DURATION", "Duration of each rate of --rates.")
    ] = None


def with_load(own: AttackFlags, flags: RunFlags, problems: list[Problem]) -> RunFlags:
    """Write the load of the command as flags of ``loadpilot run``; adds all problems."""
    given = {f"--{name}": _text(getattr(flags, name)) for name in OF_SCENARIOS}
    problems += without(given, "is about scenario files; drop it")
    if own.rates is None:
        if own.each is not None:
            problems.append(Problem("--each", "is the duration of each of --rates; add them"))
        if own.rate is None:
            return flags
        problems += without({"--rps": flags.rps}, "cannot be used with --rate; drop one")
        return replace(flags, rps=_rate(own.rate, problems))
    others = {"--rate": own.rate, "--rps": flags.rps, "--duration": flags.duration}
    others |= {"--stages": flags.stages, "--mode": flags.mode}
    problems += without(others, "cannot be used with --rates and --each; drop it")
    rates = _rates(own.rates, problems)
    try:
        is_positive = own.each is not None and duration_us("--each", own.each) > 0
    except Wrong as wrong:
        problems.append(wrong.problem)
        is_positive = True
    if not is_positive:
        problems.append(Problem("--each", "must say how long each rate lasts, such as 90s"))
    stages = ",".join(f"0s:{rate},{own.each}:{rate}" for rate in rates)
    return replace(flags, stages=None if problems else stages)


def _rate(text: str, problems: list[Problem]) -> str:
    """Check a constant rate."""
    try:
        if rate_urps("--rate", text) > 0:
            return text
    except Wrong as wrong:
        problems.append(wrong.problem)
        return RATE
    what = "must be above 0; for as many as possible write --max, or --users INT"
    problems.append(rule("--rate", what, text))
    return RATE


def _rates(text: str, problems: list[Problem]) -> list[str]:
    """Read several rates."""
    parts = text.split(":")
    try:
        if len(parts) == 1:
            rates = [_number(part) for part in text.split(",")]
        else:
            start, stop, step = map(_number, parts)
            count = int((stop - start) / step) + 1 if step > 0 and start <= stop else 0
            rates = [start + step * place for place in range(min(count, RATES_MAX + 1))]
    except (ValueError, InvalidOperation):
        rates = []
    if not rates or not all(rate > 0 for rate in rates):
        problems.append(rule("--rates", RATES_RULE, text))
    elif len(rates) > RATES_MAX:
        problems.append(rule("--rates", f"must be at most {RATES_MAX:,} rates", text))
    return [format(rate, "f") for rate in rates]


def _number(text: str) -> Decimal:
    """Read a plain number; raises ValueError."""
    if not text.strip().replace(".", "", 1).isdecimal() or len(text) > 20 or not text.isascii():
        raise ValueError(text)
    return Decimal(text.strip())


def _text(value: str | tuple[str, ...] | None) -> str | None:
    return " ".join(value) or None if isinstance(value, tuple) else value
