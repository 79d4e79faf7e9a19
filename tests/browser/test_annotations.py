"""Notes on the page of a run: written by keyboard, kept in the log, text and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.browser.scenes import steady
from tests.browser.test_finished_runs import serious_violations

if TYPE_CHECKING:
    from tests.browser.conftest import RunMaker
    from tests.browser.reader import Reader

HOSTILE = "<img src=x onerror=alert(1)> after the upgrade"


@pytest.mark.slow
def test_a_note_and_a_baseline(reader: Reader, run_maker: RunMaker, axe: str) -> None:
    """Broken if a note is lost by a reload or read as HTML, or the baseline is not offered. 9 s."""
    first, second = (run_maker.run(steady(secs=2))["run"]["id"] for _ in range(2))
    page = reader.page
    reader.open(f"/runs/{first}")
    note = page.get_by_label("New note")
    note.fill(HOSTILE)
    note.press("Tab")
    page.keyboard.press("Enter")
    notes = page.locator(".notes p")
    expect(notes).to_have_text([HOSTILE])
    expect(note).to_have_value("")
    mark = page.get_by_role("button", name="Baseline", exact=True)
    mark.press("Enter")
    expect(mark).to_have_attribute("aria-pressed", "true")
    assert serious_violations(reader, axe) == []
    reader.take_screenshots("notes")
    page.reload()
    expect(notes).to_have_text([HOSTILE])
    assert [one["text"] for one in annotations(reader, first)["notes"]] == [HOSTILE]

    reader.open("/")
    row = page.locator("tbody tr", has_text=first)
    expect(row.locator(".pill")).to_have_text(["baseline", "1 note"])
    reader.open(f"/runs/{second}")
    page.get_by_role("link", name="Compare with the baseline").click()
    expect(page.locator(".chips li").first).to_contain_text("baseline")
    assert page.url.index(first) < page.url.index(second)
    reader.open(f"/runs/{first}")
    mark.press("Enter")
    expect(mark).to_have_attribute("aria-pressed", "false")
    assert annotations(reader, first)["baseline"] is None


def annotations(reader: Reader, run: str) -> dict[str, object]:
    """The notes of a run, as the gateway has them."""
    found: dict[str, object] = reader.fetch_json(f"/api/v1/runs/{run}/annotations")
    return found
