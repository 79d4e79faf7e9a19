"""Changes between two answers are exact, and answers that callers have are bounded in memory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from loadpilot_gateway.runs import changes
from loadpilot_gateway.runs.changes import Answers, change

if TYPE_CHECKING:
    import pytest

NUMBERS = st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=2), inner, max_size=5)
    ),
    max_leaves=30,
)


@given(JSON, JSON)
def test_an_earlier_answer_with_its_change_is_the_new_answer(old: Any, new: Any) -> None:
    """Broken if a live page would show anything else than the gateway's whole answer."""
    sent = json.loads(json.dumps(change(old, new)))
    assert applied(old, sent) == new


def test_a_list_that_grew_is_sent_from_where_it_differs() -> None:
    """Broken if a refresh grows with the run."""
    ticks = [{"tick": tick, "started": 20} for tick in range(1000)]
    later = [*ticks, {"tick": 1000, "started": 19}]
    later[990] = {"tick": 990, "started": 21}
    found = change({"series": ticks}, {"series": later})
    assert found == {"series": {"990": {"started": [21]}, "1000": [{"tick": 1000, "started": 19}]}}


def test_what_is_mostly_different_is_sent_whole() -> None:
    """Broken if a change is longer than the answer."""
    assert change([1, 2, 3, 4], [5, 6, 7, 4]) == [[5, 6, 7, 4]]
    assert change([1, 2, 3], [1, 2]) == [[1, 2]]


def test_the_oldest_answers_are_dropped_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken if answers for live pages fill the memory."""
    monkeypatch.setattr(changes, "ANSWERS_CHARS_MAX", 10)
    answers = Answers()
    for name in "abc":
        answers.store(name, name * 4)
    answers.store("c", "cc")
    assert [answers.find(name) for name in "abc"] == [None, "bbbb", "cc"]
    answers.store("d", "d" * 20)
    assert [answers.find(name) for name in "bcd"] == [None, None, None]


def applied(old: Any, change: Any) -> Any:
    """The new value, by the description of the format."""
    if isinstance(change, list):
        return change[0]
    if isinstance(old, dict):
        gone = {name for name, one in change.items() if one == []}
        left = {name: value for name, value in old.items() if name not in gone}
        return left | {
            name: applied(old.get(name), one) for name, one in change.items() if name not in gone
        }
    found = list(old)
    for at, one in change.items():
        if int(at) == len(found):
            found.append(applied(None, one))
        else:
            found[int(at)] = applied(found[int(at)], one)
    return found
