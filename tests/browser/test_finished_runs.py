"""A run that has ended: as of a second, with other thresholds, beside another run."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Literal

import pytest
from playwright.sync_api import expect
from tests.browser.reader import NARROW, WIDE
from tests.browser.scenes import steady

if TYPE_CHECKING:
    from tests.browser.conftest import RunMaker
    from tests.browser.reader import Reader

TABS = ("", "/latency", "/tasks", "/agents", "/timeline", "/what-if")


@pytest.mark.slow
def test_the_scrubber_shows_the_run_as_of_a_second(reader: Reader, run_maker: RunMaker) -> None:
    """Broken if a figure is not that of the report as of the second, or a reload loses it."""
    report = run_maker.run(steady(secs=8))
    run, whole = report["run"]["id"], report["arrivals"]["started"]
    reader.open(f"/runs/{run}")
    expect(reader.tile("arrivals")).to_have_text(str(whole))
    scrubber = reader.page.get_by_label("Show the run as of")
    scrubber.focus()
    for _ in range(4):
        scrubber.press("ArrowLeft")
    reader.sees("as of 0:04")
    then = reader.fetch_json(f"/api/v1/runs/{run}?as_of_us=4000000")["arrivals"]["started"]
    assert 0 < then < whole
    expect(reader.tile("arrivals")).to_have_text(str(then))
    reader.take_screenshots("as-of")
    reader.page.reload()
    expect(reader.tile("arrivals")).to_have_text(str(then))
    reader.press("Whole run")
    expect(reader.tile("arrivals")).to_have_text(str(whole))


@pytest.mark.slow
@pytest.mark.timed  # its certificate has to be VALID
def test_a_dragged_threshold_changes_the_verdict(reader: Reader, run_maker: RunMaker) -> None:
    """Broken if the verdict does not follow the threshold, or a reload loses the threshold."""
    run_maker.oracle.delay(30.0, path="/browse")
    run = run_maker.run(steady(secs=6, p95=20_000))["run"]["id"]
    reader.open(f"/runs/{run}/what-if")
    expect(reader.verdict()).to_have_text("Passed")
    limit = reader.page.get_by_role("slider", name="Limit of p95_ms")
    limit.focus()
    limit.press("Home")
    expect(reader.verdict()).to_have_text("Failed")
    assert "limit=p95_ms" in reader.page.url
    reader.take_screenshots("what-if")
    reader.page.reload()
    expect(reader.verdict()).to_have_text("Failed")
    reader.press("Reset to plan")
    expect(reader.verdict()).to_have_text("Passed")


@pytest.mark.long
@pytest.mark.timed  # both certificates have to be VALID
def test_two_runs_beside_each_other(reader: Reader, run_maker: RunMaker) -> None:
    """Broken if figures, curves or changes stand in the other run's column, also after the order
    has changed, or if chance is shown as a change. 18 s."""
    first = run_maker.run(steady(rps=40))
    second = run_maker.run(steady(rps=60))
    reader.open("/")
    for report in (first, second):
        row = reader.page.get_by_role("row").filter(has_text=report["run"]["id"])
        expect(row).to_contain_text("Passed")
        reader.page.get_by_label(f"Compare Steady {report['run']['id']}").check()
    reader.press("Compare 2")
    rows = reader.page.get_by_role("row")
    started = rows.filter(has_text="arrivals started").get_by_role("cell")
    expect(started).to_have_text(["200", "300"])
    planned = rows.filter(has_text="planned rate").get_by_role("cell")
    expect(planned).to_have_text(["40.0/s", "60.0/s"])
    achieved = rows.filter(has_text="achieved rate").get_by_role("cell")
    expect(achieved).to_have_text(["40.0/s", "60.0/s+50.0 %, better"])
    judged = reader.fetch_json(
        f"/api/v1/compare?run={first['run']['id']}&run={second['run']['id']}"
    )["comparisons"][0]
    result = reader.page.get_by_role("region", name="Result")
    expect(result).to_contain_text("regression")
    for remark in judged["remarks"]:
        expect(result).to_contain_text(remark)
    shown = reader.page.get_by_role("region", name="Figures").locator("td small")
    words = {"noise": "chance", "small": "within the threshold", "unjudged": ""}
    expected = [
        (one["figure"], words.get(one["change"], one["change"]))
        for one in judged["figures"]
        if one["task"] is None
    ]
    order = ["achieved_rps", "error_rate_pct", "p50_ms", "p95_ms", "p99_ms", "max_ms"]
    expected.sort(key=lambda one: order.index(one[0]))
    for cell, (figure, word) in zip(shown.all(), expected, strict=True):
        text = cell.inner_text()
        assert text.rpartition(", ")[2] == word or (word == "" and text.endswith("%")), figure
    reader.take_screenshots("compare")
    slow, fast = charted_load(reader)
    assert slow < fast
    reader.press("Use as baseline")
    expect(started).to_have_text(["300", "200"])
    assert charted_load(reader) == [fast, slow]
    reader.page.go_back()
    expect(started).to_have_text(["200", "300"])
    assert charted_load(reader) == [slow, fast]


def charted_load(reader: Reader) -> list[float]:
    """The sum of each run's column in the file of the chart "Load"."""
    with reader.page.expect_download() as saved:
        panel = reader.page.get_by_role("region", name="Load", exact=True)
        panel.get_by_role("button", name="CSV").press("Enter")
    _, *rows = csv.reader(saved.value.path().read_text(encoding="utf-8").splitlines())
    columns = zip(*(row[1:] for row in rows), strict=True)
    return [sum(float(value or 0) for value in column) for column in columns]


@pytest.mark.long
@pytest.mark.timed  # a busy machine makes changes that are chance
def test_a_changed_percentile_is_explained(reader: Reader, run_maker: RunMaker) -> None:
    """Broken if the page lists other contributions than the engine found, or none. 12 s."""
    first = run_maker.run(steady())
    run_maker.oracle.delay(60.0, path="/browse")
    second = run_maker.run(steady())
    pair = f"run={first['run']['id']}&run={second['run']['id']}"
    reader.open(f"/compare?{pair}")
    explained = reader.fetch_json(f"/api/v1/compare?{pair}")["comparisons"][0]["explained"]
    # Three of five calls are slower: the change of other percentiles may be chance.
    call = next(one for one in explained if one["figure"] == "p50_ms")["calls"][0]
    assert "first_byte" in call["phases"]
    region = reader.page.get_by_role("region", name="Where changes come from").first
    expect(region).to_contain_text("first byte +")
    rows = region.get_by_role("row").filter(has_text=call["call"])
    expect(rows.first).to_contain_text("all the time")
    assert region.get_by_role("rowgroup").count() == 1 + len(explained)
    reader.take_screenshots("compare-explained")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "looks",
    [
        pytest.param({WIDE: "dark", NARROW: "light"}, id="wide dark, narrow light"),
        pytest.param(
            {WIDE: "light", NARROW: "dark"}, id="wide light, narrow dark", marks=pytest.mark.long
        ),
    ],
)
def test_every_page_fits_and_is_accessible(
    reader: Reader, run_maker: RunMaker, axe: str, looks: dict[int, Literal["dark", "light"]]
) -> None:
    """Broken if a page is wider than a phone, or axe-core finds a serious problem."""
    run_maker.oracle.status(503, path="/buy", fraction=0.2)
    report = run_maker.run(steady(secs=6), "--tag", "branch=main")
    run = report["run"]["id"]
    pages = {f"run{tab.replace('/', '-')}": f"/runs/{run}{tab}" for tab in TABS}
    pages |= {"runs": "/", "compare-one": f"/compare?run={run}", "agents": "/agents"}
    pages |= {"start": f"/start?from={run}"}
    for name, path in pages.items():
        reader.open(path)
        reader.page.wait_for_load_state("networkidle")
        reader.take_screenshots(name)
        for width, theme in looks.items():
            reader.page.set_viewport_size({"width": width, "height": 900})
            reader.page.emulate_media(color_scheme=theme)
            assert reader.overflows() <= 0, f"{path}, {width} px"
            violations = serious_violations(reader, axe)
            assert not violations, f"{path}, {width} px, {theme}: {violations}"


def serious_violations(reader: Reader, axe: str) -> list[str]:
    """Violations that axe-core grades as serious or critical."""
    reader.page.evaluate(axe)
    found = reader.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {one['help']}: {[node['html'][:160] for node in one['nodes'][:3]]}"
        for one in found["violations"]
        if one["impact"] in {"serious", "critical"}
    ]
