"""A report in one HTML file, opened from the disk in Chromium: its figures are right, it sends no
request, and foreign text stays text."""

from __future__ import annotations

import csv
import json
import re
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from tests.browser.reader import NARROW, WIDE, Reader, reading
from tests.browser.record import FOLDER, KINDS
from tests.browser.test_finished_runs import serious_violations
from tests.browser.test_recorded_runs import CUT, assert_figures
from tests.e2e.support.command import Loadpilot
from tests.e2e.support.files import unpack

from loadpilot.control.report_page import PAGE, report_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

BYTES_MAX = 152_000
"""Maximum size of the page without the data of a run."""
HOSTILE = "</script><img src=x onerror=\"document.title='taken'\"><!--<script>{{summary}}"

LADDER = ("min_us", "mean_us", "p50_us", "p95_us", "p99_us", "max_us")
PHASES = ("schedule_lag", "queue", "connect", "first_byte", "last_byte")
PARTS = {
    "Requests": ("calls.attempted", "calls.outcomes.ok", "status.503", "bytes.received_per_sec"),
    "Response time (including waiting) and service time": (
        *(f"latency.{kind}.{rung}" for kind in ("response", "service") for rung in LADDER),
    ),
    "Tasks and their requests": (
        *(f"tasks.{task}.{field}" for task in (0, 1) for field in ("finished", "errors")),
        *(f"tasks.1.response.{rung}" for rung in LADDER),
        *(f"tasks.1.calls.{call}.response.{rung}" for call in (0, 1) for rung in LADDER),
    ),
    "Phases": tuple(f"tasks.0.calls.0.anatomy.{phase}.p99_us" for phase in PHASES),
    "Load generators": tuple(f"run.holders.{place}.started" for place in (0, 1)),
}
"""Figures that a reader looks for, by panel."""
TILES = {
    "achieved rate": ("rates.achieved_rps", "rates.planned_rps", "rates.shortfall_pct"),
    "arrivals": ("arrivals.started", "arrivals.planned"),
    "requests per second": ("requests_per_sec", "requests_total"),
    "failed requests": ("error_rate_pct", "errors_total"),
    "response time p99": ("latency.response.p99_us", "latency.service.p99_us"),
    "CO factor": ("latency.co_factor",),
}
CHARTS = ("Load: ", "Outcomes of requests: ", "Response time ", "Heat map of ", "Service time, ")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Loadpilot:
    """The recorded runs, each in a log of its own."""
    loadpilot = Loadpilot(tmp_path_factory.mktemp("recorded"))
    for number, kind in enumerate(KINDS, 1):
        unpack(FOLDER / f"{kind}.tar.gz", loadpilot.log / f"log-{number}")
    return loadpilot


@pytest.fixture(scope="module")
def runs(recorded: Loadpilot) -> dict[str, str]:
    """Id of the run of each kind."""
    listed = recorded.call("runs", "--verbose").stdout.splitlines()
    of_log = {}
    for row, notes in zip(listed[1::2], listed[2::2], strict=False):
        of_log[notes.split("/log-")[1].split()[0]] = row.split()[0]
    return {kind: of_log[str(number)] for number, kind in enumerate(KINDS, 1)}


@pytest.fixture
def tab(browser: Browser) -> Iterator[Reader]:
    """A tab that opens files. Fails if a page sends a request or writes to the console."""
    with reading(browser, "file://") as reader:
        requests: list[str] = []
        reader.page.on("request", lambda request: requests.append(request.url))
        yield reader
        assert [url for url in requests if not url.startswith("data:")] == [reader.page.url]


def written(recorded: Loadpilot, run: str) -> tuple[Path, dict[str, Any]]:
    """Writes the report file of a run; returns the file and the report."""
    path = recorded.folder / "pages" / f"{run}.html"
    finished = recorded.call("report", run, "--html", str(path), "--json")
    assert finished.code == 0, finished.stderr
    assert f"report {path}\n" in finished.stderr
    return path, json.loads(finished.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_page_shows_the_figures_of_the_report(
    recorded: Loadpilot, runs: dict[str, str], tab: Reader, kind: str
) -> None:
    """Broken if a figure is not that of the report, the page sends a request or is cut off."""
    path, report = written(recorded, runs[kind])
    tab.open(str(path))
    assert_figures(tab, report, 60 if report["calls"]["attempted"] else 1)
    assert tab.page.evaluate(CUT) == []
    tab.take_screenshots(f"report-{kind}")
    for width in (NARROW, WIDE):
        tab.page.set_viewport_size({"width": width, "height": 900})
        assert tab.overflows() <= 0, f"{width} px"
    charts = tab.page.locator("canvas")
    assert charts.count() >= 8
    assert all(one.evaluate("one => one.width > 200") for one in charts.all())


@pytest.mark.slow
def test_the_page_has_each_part_of_a_report(
    recorded: Loadpilot, runs: dict[str, str], tab: Reader
) -> None:
    """Broken if a part is missing in the page: the test above would find no wrong figure. 2 s."""
    path, report = written(recorded, runs["failing"])
    tab.open(str(path))
    page = tab.page
    named = {label: page.get_by_role("term").filter(has_text=label) for label in TILES}
    places = [
        *((page.locator(".tile").filter(has=named[label]), TILES[label]) for label in TILES),
        *((page.get_by_role("region", name=name, exact=True), PARTS[name]) for name in PARTS),
    ]
    for place, figures in places:
        for figure in figures:
            expect(place.locator(f'[data-figure="{figure}"]').first).to_be_visible()
    for chart in CHARTS:
        expect(page.get_by_role("img", name=re.compile(f"^{chart}"))).to_be_visible()
    gates = page.get_by_role("region", name="Thresholds", exact=True).locator("tbody tr")
    for row, gate in zip(gates.all(), report["verdict"]["thresholds"], strict=True):
        expect(row).to_contain_text(f"{'passed' if gate['passed'] else 'failed'}{gate['key']}")
    run = report["run"]
    title = page.locator("header.title")
    for text in (report["scenario"], "2 load generators", report["target_url"], "constant, 6 s"):
        expect(title).to_contain_text(text)
    settings = page.get_by_role("region", name="Properties", exact=True)
    for text in (run["id"], run["plan_hash"], str(run["seed"]), report["digest"], "warm-up none"):
        expect(settings).to_contain_text(re.compile(r"\s*".join(map(re.escape, text.split()))))
    failures = page.get_by_role("region", name="Failed requests", exact=True)
    expect(failures).to_contain_text(f"503 × {report['status']['503']}")  # noqa: RUF001
    expect(failures).to_contain_text("AssertionError: assert status_code == 200 (scene_1.py:")
    expect(page.locator("footer")).to_contain_text(
        re.compile(r"Written by LoadPilot \d+\.\d+\.\d+, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\S*\.")
    )


def test_the_page_is_accessible_and_prints(
    recorded: Loadpilot, runs: dict[str, str], tab: Reader, axe: str
) -> None:
    """Broken if axe-core finds a serious problem, or dark colours reach the paper."""
    path, _ = written(recorded, runs["failing"])
    tab.open(str(path))
    for width, theme in product((WIDE, NARROW), ("dark", "light")):
        tab.page.set_viewport_size({"width": width, "height": 900})
        tab.page.emulate_media(color_scheme=theme)
        assert not serious_violations(tab, axe), f"{width} px, {theme}"
    tab.page.emulate_media(color_scheme="dark", media="print")
    tab.page.set_viewport_size({"width": 720, "height": 900})
    text, ground = tab.page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert (text, ground) == ("rgb(20, 32, 42)", "rgba(0, 0, 0, 0)")
    assert tab.overflows() <= 0


@pytest.mark.slow
def test_a_dragged_part_narrows_all_charts(
    recorded: Loadpilot, runs: dict[str, str], tab: Reader
) -> None:
    """Broken if a chart cannot be zoomed without a gateway, or a figure follows the charts."""
    path, report = written(recorded, runs["good"])
    tab.open(str(path))
    box = tab.page.locator(".u-over").first.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    tab.page.mouse.move(box["x"] + box["width"] * 0.45, middle)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + box["width"] * 0.65, middle, steps=4)
    tab.page.mouse.up()
    tab.sees("Charts over time show 0:02 to 0:04 of the run; figures are of the whole run.")
    load = tab.page.get_by_role("img", name="Load: ")
    expect(load).to_have_accessible_name(re.compile("^Load: 40 arrivals started of 40 planned, "))
    assert_figures(tab, report, 60)
    tab.press("Whole run")
    expect(load).to_have_accessible_name(re.compile("^Load: 120 arrivals started of 120 planned, "))


@pytest.mark.slow
def test_a_chart_is_read_and_saved_without_a_pointer(
    recorded: Loadpilot, runs: dict[str, str], tab: Reader
) -> None:
    """Broken if keys do not reach the figures of a chart, its limits, or its files."""
    path, report = written(recorded, runs["failing"])
    tab.open(str(path))
    load = tab.page.get_by_role("img", name="Load: ")
    expect(load).to_have_accessible_name(re.compile(r"Limits: achieved_rps ≥ 15.0/s"))
    load.focus()
    tab.page.keyboard.press("End")
    last = report["series"][-1]
    panel = tab.page.get_by_role("region", name="Load", exact=True)
    expect(panel.get_by_role("status")).to_have_text(
        re.compile(rf"^time 0:06, planned {last['planned']:.1f}/s, started {last['started']:.1f}/s")
    )
    with tab.page.expect_download() as saved:
        panel.get_by_role("button", name="CSV").press("Enter")
    assert saved.value.suggested_filename == "Load.csv"
    rows = list(csv.reader(saved.value.path().read_text(encoding="utf-8").splitlines()))
    assert rows[0][:3] == ["time (s)", "planned (per second)", "started (per second)"]
    assert [[float(row[1]), float(row[2]), float(row[4])] for row in rows[1:]] == [
        [tick["planned"], tick["started"], tick["errors"]] for tick in report["series"]
    ]
    with tab.page.expect_download() as saved:
        panel.get_by_role("button", name="PNG").press("Enter")
    assert saved.value.path().read_bytes().startswith(b"\x89PNG")
    load.focus()
    for key in ("Home", "ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "Enter"):
        tab.page.keyboard.press(key)
    tab.sees("Charts over time show 0:01 to 0:03 of the run; figures are of the whole run.")


def test_a_table_is_saved_as_it_is_shown(
    recorded: Loadpilot, runs: dict[str, str], tab: Reader
) -> None:
    """Broken if a saved table lacks a row, has another order, or contains something other than
    figures. 4 s."""
    path, report = written(recorded, runs["failing"])
    tab.open(str(path))
    tab.page.get_by_role("button", name="p99", exact=True).first.click()
    with tab.page.expect_download() as saved:
        tab.page.get_by_role("button", name="Save Tasks and their requests as CSV").press("Enter")
    assert saved.value.suggested_filename == "Tasks and their requests.csv"
    head, *rows = csv.reader(saved.value.path().read_text(encoding="utf-8").splitlines())
    assert "p99" in head
    shown = tab.page.get_by_role("group", name="Tasks and their requests").locator("tbody tr")
    names = [" ".join(row.locator("th, td").first.inner_text().split()) for row in shown.all()]
    assert [row[0] for row in rows] == names
    assert len(rows) >= len(report["tasks"])


def test_tasks_are_sorted(recorded: Loadpilot, runs: dict[str, str], tab: Reader) -> None:
    """Broken if the slowest task is not first, or its figures are those of another."""
    path, report = written(recorded, runs["failing"])
    tab.open(str(path))
    tasks = tab.page.get_by_role("region", name="Tasks and their requests")
    for press in (1, 2):
        tasks.get_by_role("button", name="failed").click()
        ordered = sorted(report["tasks"], key=lambda one: one["errors"], reverse=press == 1)
        expect(tasks.locator("tr.task th")).to_contain_text([one["name"] for one in ordered])
        assert_figures(tab, report, 60)


class HostileReading:
    """Answers whose names, errors and traces contain markup."""

    def series(self, _slice: str) -> str:
        return json.dumps(
            {
                "run": "r",
                "tick_us": 1_000_000,
                "bucket_us": 1_000_000,
                "from_us": [0],
                **{name: [1] for name in ("planned", "started", "dropped", "finished", "errors")},
                "outcomes": {},
                "percentiles": [],
                "response": {},
                "service": {},
                "metrics": None,
                "total": {},
            }
        )

    def heat(self, _slice: str) -> str:
        empty = {"from_us": [], "bounds_us": [], "counts": []}
        return json.dumps({"run": "r", "tick_us": 1, "bucket_us": 1, **empty})

    def errors(self, _slice: str) -> str:
        raised = {"by": "task", "text": HOSTILE, "trace": HOSTILE, "count": 1}
        return json.dumps(
            {
                "run": "r",
                "tasks": [
                    {
                        "task": HOSTILE,
                        "finished": 1,
                        "errors": 1,
                        "calls": [],
                        "raised": [raised],
                        "raised_more": 0,
                    }
                ],
            }
        )

    def agents(self) -> str:
        return json.dumps({"run": "r", "bucket_us": 1, "from_us": [], "agents": []})

    def verdict(self, _question: str) -> str:
        return json.dumps({"broke_at_us": []})


def hostile(report: dict[str, Any]) -> dict[str, Any]:
    """The report with hostile texts where a scenario, a target or an agent names something."""
    report["scenario"] = report["target_url"] = HOSTILE
    report["run"]["tags"] = {"team": HOSTILE}
    report["tasks"][0]["name"] = report["tasks"][0]["calls"][0]["name"] = HOSTILE
    report["story"][0]["text"] = HOSTILE
    report["exchanges"] = [
        {
            "arrival": 0,
            "outcome": "ok",
            "cause": None,
            "response_us": 1,
            "request": [f"GET / {HOSTILE}"],
            "request_body_bytes": 0,
            "answer": [f"x-evil: {HOSTILE}"],
            "received_bytes": 1,
        }
    ]
    return report


@pytest.mark.parametrize("scripts", [True, False])
def test_foreign_text_stays_text(
    browser: Browser, recorded: Loadpilot, runs: dict[str, str], tmp_path: Path, *, scripts: bool
) -> None:
    """Broken if a name, a header or an error becomes markup, with scripts or without."""
    _, report = written(recorded, runs["good"])
    path = tmp_path / "hostile.html"
    reading: Any = HostileReading()
    text = report_page(json.dumps(hostile(report)), reading, f"verdict {HOSTILE}", 1)
    path.write_text(text, encoding="utf-8")
    context = browser.new_context(java_script_enabled=scripts)
    page = context.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.goto(f"file://{path}")
    if scripts:
        expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
        assert page.get_by_text(HOSTILE).count() >= 10
        assert page.title() == f"{HOSTILE} · LoadPilot"
    else:
        expect(page.locator("pre")).to_have_text(f"verdict {HOSTILE}")
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert errors == []
    context.close()


@pytest.mark.slow
def test_the_page_is_small() -> None:
    """Broken if a report is too large to attach to a ticket."""
    assert PAGE.stat().st_size < BYTES_MAX
