"""Code has the meaning of Python: a search for a counterexample among random scenarios."""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest
from sdk.tests.soundness.answers import life
from sdk.tests.soundness.rehearse import Line, case, is_beyond, same
from sdk.tests.soundness.scenes import scene

if TYPE_CHECKING:
    from pathlib import Path

CASES = int(os.environ.get("LOADPILOT_SOUNDNESS", "160"))
"""How many scenarios are searched; 50000 for the long search."""
FIRST = int(os.environ.get("LOADPILOT_SOUNDNESS_FIRST", "0"))
"""The seed of the first; the others follow."""
LIVES = 3
"""Users that play each of them."""
PARTS = 4
"""Parts of the search, which run beside each other."""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_code_does_what_python_does(tmp_path: Path, part: int) -> None:
    """Broken if code sends another request, has another think time, or raises another error than
    Python."""
    seen: Counter[str] = Counter()
    seeds = range(FIRST + part, FIRST + CASES, PARTS)
    for seed in seeds:
        chance = Random(seed)  # noqa: S311  (a test that can be repeated)
        text = scene(chance)
        made = case(text, tmp_path)
        assert made is not None, f"seed {seed}: {text}"
        if not made.is_code:
            seen["python"] += 1
            seen.update(str(one.what) for one in made.compiled.reasons)
            continue
        seen["code"] += 1
        for _ in range(LIVES):
            script = life(chance)
            python, code = made.in_python(script), made.in_code(script)
            seen["beyond"] += any(map(is_beyond, code))
            seen["said"] += any(line[2] or line[3] for line in code)
            assert same(python, code), f"seed {seed}\n{text}\n{_difference(python, code)}"
    counts = ", ".join(f"{what}: {count}" for what, count in seen.most_common(20))
    cases = len(seeds)
    assert seen["code"] >= cases // 2, f"too few scenarios could be compiled: {counts}"
    assert seen["beyond"] <= cases * LIVES // 10, f"code gives up too often: {counts}"
    assert seen["said"] >= cases, f"too little goes wrong to compare words: {counts}"


def _difference(python: list[Line], code: list[Line]) -> str:
    for one, other in zip(python, code, strict=False):
        if one != other:
            return f"Python: {one}\ncode:   {other}"
    return f"Python: {len(python)} lines, code: {len(code)}"
