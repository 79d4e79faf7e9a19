"""The search finds bugs: each bug that is put into the compiler makes it fail."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import pytest
from sdk.tests.soundness.answers import life
from sdk.tests.soundness.bugs import BUGS, broken
from sdk.tests.soundness.rehearse import Case, Line, Script, case, same
from sdk.tests.soundness.scenes import scene

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CASES = 500
"""Not many more than a normal run searches."""

Played = tuple[Case, Script, list[Line]]


class Search:
    """Scenarios played in Python, each once for all bugs and only when a bug needs it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seeds = iter(range(CASES))
        self._played: list[Played] = []

    def __iter__(self) -> Iterator[Played]:
        place = 0
        while place < len(self._played) or self._play_more():
            yield self._played[place]
            place += 1

    def _play_more(self) -> bool:
        """Play the next scenario that is compiled to code; false if there are no more."""
        for seed in self._seeds:
            chance = Random(seed)  # noqa: S311  (a test that can be repeated)
            made = case(scene(chance), self._folder)
            assert made is not None
            if made.is_code:
                for script in (life(chance), life(chance)):
                    self._played.append((made, script, made.in_python(script)))
                return True
        return False


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Search:
    return Search(tmp_path_factory.mktemp("scenes"))


@pytest.mark.long
@pytest.mark.parametrize("name", BUGS)
def test_the_search_finds_the_bug(search: Search, name: str) -> None:
    """Broken if the search would not detect this bug of the compiler."""
    detected = 0
    for made, script, python in search:
        plan = dict(made.compiled.plan)
        plan["code"], count = broken(plan["code"], BUGS[name])
        detected += count
        if count and not _is_same(made, script, python, json.dumps(plan)):
            return
    pytest.fail(f"not found, although {detected} pieces of code were changed")


def _is_same(made: Case, script: Script, python: list[Line], plan: str) -> bool:
    try:
        return same(python, made.in_code(script, plan))
    except ValueError:  # the check of plans refused it, which is not what is tested here
        return True
