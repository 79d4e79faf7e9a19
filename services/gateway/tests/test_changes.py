"""Changes between two answers are exact, and the stored answers of callers have a limit in
memory."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from loadpilot_gateway.routes.dependencies import TaggedAnswer
from loadpilot_gateway.runs import changes
from loadpilot_gateway.runs.changes import MEDIA_TYPE, Answers, change

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest
    from fastapi.responses import Response

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
    """Broken if a live page shows anything else than the gateway's whole answer."""
    sent = json.loads(json.dumps(change(old, new)))
    assert applied(old, sent) == new


def test_a_list_that_grew_is_sent_from_where_it_differs() -> None:
    """Broken if the size of a refresh grows with the run."""
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


class Reading:
    """A running run: its answer has the events that were read."""

    def __init__(self) -> None:
        self.seq = 10

    def position(self) -> str:
        return json.dumps({"seq": self.seq, "over": False})

    def report(self) -> str:
        return json.dumps({"events": list(range(self.seq))})

    def report_after_another_refresh(self) -> str:
        """The answer, if another request advances the log after the position was determined."""
        self.seq += 1
        return self.report()


def test_a_log_that_is_read_on_meanwhile_changes_no_answer_that_a_caller_has() -> None:
    """Broken if a page with an older answer receives the changes since a newer one."""
    reading, answers = Reading(), Answers()

    async def of_reading(_run: str, ask: Callable[[Reading], object]) -> object:
        return ask(reading)

    here: Any = SimpleNamespace(version="1", answers=answers, of_reading=of_reading)
    request: Any = SimpleNamespace(url=SimpleNamespace(path="/api/v1/runs/a", query=""))

    def answer(ask: Callable[[Any], str], etag: str | None = None) -> Response:
        return asyncio.run(TaggedAnswer(here, request, "a", etag, MEDIA_TYPE).answer(ask))

    first = answer(Reading.report)
    second = answer(Reading.report_after_another_refresh)
    had = [(one.headers["ETag"], json.loads(bytes(one.body))) for one in (first, second)]
    assert [len(text["events"]) for _, text in had] == [10, 11]
    reading.seq = 12
    for etag, text in had:
        change_of = answer(Reading.report, etag)
        assert change_of.headers["Content-Type"] == MEDIA_TYPE
        assert applied(text, json.loads(bytes(change_of.body))) == {"events": list(range(12))}


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
