"""CPU and memory of a tree of processes, second by second.

Computed from the samples of a run. A second without a sample stays empty.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.measure.process_tree import Sample
    from bench.measure.procfs import Look


def everything(looks: dict[int, Look]) -> list[int]:
    """Choose all processes of a tree."""
    return list(looks)


def core_pct(samples: list[Sample], choose: Callable[[dict[int, Look]], list[int]]) -> list[float]:
    """Compute the CPU of the chosen processes between each sample and the next, % of a core.

    Time that a process spent before its first sample counts for the interval before that sample.
    """
    used = []
    for before, after in pairwise(samples):
        spent = _cpu_secs(after, choose) - _cpu_secs(before, choose)
        used.append(100e6 * spent / max(1, after.at_us - before.at_us))
    return used


def rss_bytes(samples: list[Sample], choose: Callable[[dict[int, Look]], list[int]]) -> list[int]:
    """Sum the memory of the chosen processes at each sample; 0 for those that have ended."""
    return [
        sum(one.looks[pid].rss_bytes for pid in choose(one.looks) if pid in one.living)
        for one in samples
    ]


def _cpu_secs(sample: Sample, choose: Callable[[dict[int, Look]], list[int]]) -> float:
    return sum(sample.looks[pid].cpu_secs for pid in choose(sample.looks))
