"""Times of a distribution: ``exponential(median="8s")``, ``lognormal(median=…, p99=…)``.

They only record their arguments, as the decorators do: the compiler checks them where it knows the
place. Each time is drawn by the agents from the run's seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any

from ..problem import Problem, one_of, rule
from .units import Wrong, duration_us

if TYPE_CHECKING:
    from collections.abc import Mapping

PARAMETERS = {"exponential": ("median", "mean"), "lognormal": ("median", "p99")}
"""Parameters of each distribution: one of them, or both."""
EXAMPLES = {
    "exponential": 'exponential(median="8s") or exponential(mean="10s")',
    "lognormal": 'lognormal(median="8s", p99="45s")',
}
NONE = "0"
"""Value of a flag for no such time, which replaces the scenario's setting."""
FLAG_EXAMPLES = {
    "exponential": "exponential:median=8s or exponential:mean=10s",
    "lognormal": "lognormal:median=8s,p99=45s",
}


@dataclass(frozen=True, slots=True, repr=False)
class Distribution:
    """A distribution of think times or of session lengths, unchecked."""

    name: str
    parameters: Mapping[str, Any]
    """The arguments that were passed, without those that are None."""

    def __repr__(self) -> str:
        written = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.name}({written})"

    def in_plan(self, place: str, examples: Mapping[str, str]) -> dict[str, Any]:
        """Write it as a time of a plan; raises :class:`Wrong`."""
        given, example = self.parameters, f"such as {examples[self.name]}"
        known = PARAMETERS[self.name]
        for name, value in given.items():
            if name not in known:
                wrong = one_of(place, known, name)
                raise Wrong(Problem(place, f"a parameter of {self.name} {wrong.what}, {example}"))
            if duration_us(f"{place} ({name})", value) == 0:
                raise Wrong(rule(f"{place} ({name})", "must be longer than 0", value))
        if self.name == "exponential":
            if len(given) != 1:
                raise Wrong(rule(place, f"must have a median or a mean, {example}", self))
            if "mean" in given:
                median_us = round(duration_us(place, given["mean"]) * log(2))
                return {"exponential": {"median_us": max(1, median_us)}}
            return {"exponential": {"median_us": duration_us(place, given["median"])}}
        if len(given) != len(known):
            raise Wrong(rule(place, f"must have a median and a p99, {example}", self))
        values = {f"{name}_us": duration_us(place, given[name]) for name in known}
        return {"lognormal": values}


def exponential(
    *, median: str | float | None = None, mean: str | float | None = None
) -> Distribution:
    """Times of an exponential distribution, by its median or its mean.

    Most are short and a few are long, as the gaps between independent events are; the mean is 1.44
    times the median. At most a day each.
    """
    given = {"median": median, "mean": mean}
    return Distribution("exponential", {k: v for k, v in given.items() if v is not None})


def lognormal(*, median: str | float, p99: str | float) -> Distribution:
    """Times of a lognormal distribution: half are below ``median``, one of 100 above ``p99``.

    The usual shape of the time that people take. At most a day each.
    """
    return Distribution("lognormal", {"median": median, "p99": p99})


def of_flag(place: str, text: str) -> Distribution:
    """Read ``lognormal:median=8s,p99=45s``; raises :class:`Wrong`."""
    name, _, written = text.partition(":")
    if name.strip() not in PARAMETERS:
        raise Wrong(one_of(place, PARAMETERS, name.strip()))
    pairs = [pair.partition("=") for pair in written.split(",")]
    if not all(equals for _, equals, _ in pairs):
        what = f"must be NAME=DURATION pairs such as {FLAG_EXAMPLES[name.strip()]}"
        raise Wrong(rule(place, what, text))
    return Distribution(name.strip(), {key.strip(): value.strip() for key, _, value in pairs})


def times_of_flag(place: str, text: str) -> Distribution | tuple[str, str] | str | None:
    """Read a time as flags have it; raises :class:`Wrong`.

    It is a duration, the shortest and the longest as ``1s,3s``, or a distribution; None for ``0``.
    """
    text = text.strip()
    if text[:1].isalpha():
        return of_flag(place, text)
    least, comma, most = text.partition(",")
    if comma:
        return least.strip(), most.strip()
    return None if text == NONE else text
