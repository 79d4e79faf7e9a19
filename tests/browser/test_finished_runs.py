"""A run that is over: any second of it, judged by other limits, beside another one."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.browser.reader import NARROW, PATIENCE_MS, WIDE
from tests.browser.scenes import steady

if TYPE_CHECKING:
    from tests.browser.conftest import Past
    from tests.browser.reader import Reader

TABS = ("", "/latency", "/tasks", "/agents", "/story", "/what-if")


def test_the_scrubber_shows_the_run_as_of_a_second(reader: Reader, past: Past) -> None:
    """Broken if what is shown of a second is not the fold up to it, or the address forgets it."""
    run = past.run(steady(secs=8))["run"]["id"]
    reader.open(f"/runs/{run}")
    expect(reader.tile("arrivals")).to_have_text("320", timeout=PATIENCE_MS)
    scrubber = reader.page.get_by_label("Show everything as of this second")
    scrubber.focus()
    for _ in range(4):
        scrubber.press("ArrowLeft")
    reader.sees("as of 0:04")
    then = reader.asks(f"/api/v1/runs/{run}?as_of_us=4000000")["arrivals"]["started"]
    assert 0 < then < 320
    expect(reader.tile("arrivals")).to_have_text(str(then), timeout=PATIENCE_MS)
    reader.shoot("as-of")
    reader.page.reload()
    expect(reader.tile("arrivals")).to_have_text(str(then), timeout=PATIENCE_MS)
    reader.press("Whole run")
    expect(reader.tile("arrivals")).to_have_text("320", timeout=PATIENCE_MS)


def test_a_dragged_threshold_is_judged_by_the_log(reader: Reader, past: Past) -> None:
    """Broken if the page answers by itself what only the log can, or a link loses the question."""
    past.oracle.delay(30.0, path="/browse")
    run = past.run(steady(secs=6, p95=20_000))["run"]["id"]
    reader.open(f"/runs/{run}/what-if")
    expect(reader.verdict()).to_have_text("PASS", timeout=PATIENCE_MS)
    limit = reader.page.get_by_role("slider", name="Limit of p95_ms")
    limit.focus()
    limit.press("Home")
    expect(reader.verdict()).to_have_text("FAIL", timeout=PATIENCE_MS)
    assert "limit=p95_ms" in reader.page.url
    reader.shoot("what-if")
    reader.page.reload()
    expect(reader.verdict()).to_have_text("FAIL", timeout=PATIENCE_MS)
    reader.press("As it was planned")
    expect(reader.verdict()).to_have_text("PASS", timeout=PATIENCE_MS)


def test_two_runs_beside_each_other(reader: Reader, past: Past) -> None:
    """Broken if a figure stands in the column of the other run, or a difference is against it."""
    first = past.run(steady(rps=40))
    second = past.run(steady(rps=60))
    reader.open("/")
    for report in (first, second):
        row = reader.page.get_by_role("row").filter(has_text=report["run"]["id"])
        expect(row).to_contain_text("PASS", timeout=PATIENCE_MS)
        reader.page.get_by_label(f"Compare Steady {report['run']['id']}").check()
    reader.press("Compare 2")
    rows = reader.page.get_by_role("row")
    started = rows.filter(has_text="arrivals started").get_by_role("cell")
    expect(started).to_have_text(["200", "300"], timeout=PATIENCE_MS)
    planned = rows.filter(has_text="planned rate").get_by_role("cell")
    expect(planned).to_have_text(["40.0/s", "60.0/s+50.0 %"], timeout=PATIENCE_MS)
    reader.shoot("compare")


@pytest.mark.timeout(300)
def test_every_page_fits_and_has_no_serious_fault(reader: Reader, past: Past, axe: str) -> None:
    """Broken if somebody with a telephone, a keyboard or a screen reader is left out."""
    past.oracle.status(503, path="/buy", fraction=0.2)
    report = past.run(steady(secs=6), "--tag", "branch=main")
    run = report["run"]["id"]
    pages = {f"run{tab.replace('/', '-')}": f"/runs/{run}{tab}" for tab in TABS}
    pages |= {"runs": "/", "compare-one": f"/compare?run={run}", "agents": "/agents"}
    pages |= {"start": f"/start?from={run}"}
    for name, path in pages.items():
        reader.open(path)
        reader.page.wait_for_load_state("networkidle")
        reader.shoot(name)
        for width, theme in product((WIDE, NARROW), ("dark", "light")):
            reader.page.set_viewport_size({"width": width, "height": 900})
            reader.page.emulate_media(color_scheme=theme)
            assert reader.overflows() <= 0, f"{path}, {width} px"
            faults = judged(reader, axe)
            assert not faults, f"{path}, {width} px, {theme}: {faults}"


def judged(reader: Reader, axe: str) -> list[str]:
    """What axe-core finds that is serious or worse."""
    reader.page.evaluate(axe)
    found = reader.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {one['help']}: {[node['html'][:160] for node in one['nodes'][:3]]}"
        for one in found["violations"]
        if one["impact"] in {"serious", "critical"}
    ]
