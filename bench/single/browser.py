"""Pages: the cost of each refresh in a browser that shows a live run of an hour.

A run of five tasks is recorded for some seconds and restamped into a log of an hour that is not
over (`synthetic_log.py`). A gateway of its own serves it, Debian's Chromium opens it, and for some
seconds the work of the page's main thread is counted: the page requests report, figures and verdict
every two seconds and receives a snapshot each second. A reader notices tasks longer than 50 ms; the
browser reports each.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright
from tests.browser.reader import CHROMIUM, FLAGS
from tests.e2e.support.rawlog import served

from bench.install.build import ROOT
from bench.measure import machine
from bench.single import log_reader, synthetic_log

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import CDPSession, Page

    from bench.install.build import Build

STATIC = ROOT / "services" / "gateway" / "python" / "loadpilot_gateway" / "static"
HOUR_SECS = 3_600
WATCHED_MS = 20_000
REFRESH_MS, BUNDLE_BYTES = 50, 120_000
OVER = frozenset({"RunSealed", "ShardsFinished"})
LONG_TASKS = """
    window.longTasks = [];
    new PerformanceObserver((list) => {
        for (const task of list.getEntries()) window.longTasks.push(task.duration);
    }).observe({ type: "longtask", buffered: true });
"""
COLUMNS = (
    *("repeat", "CPU busy before", "open, ms", "refreshes", "main thread a refresh, ms"),
    *("of it script, ms", "tasks above 50 ms", "longest, ms"),
)


def measure(build: Build, repeats: int, patience_secs: float, *, quick: bool) -> list[str]:
    """Measure and write a table and whether the promises were kept."""
    secs = HOUR_SECS // 10 if quick else HOUR_SECS
    with tempfile.TemporaryDirectory(prefix="loadpilot-bench-") as name:
        folder = Path(name)
        template, run = log_reader.recorded(build, folder)
        going = [begun(one, secs) for one in template if not over(one)]
        (folder / "empty" / "store").mkdir(parents=True)
        with served(folder / "empty", folder / "served") as url:
            log_reader.ask(build, url, folder / "none", [])
            synthetic_log.write(url, synthetic_log.stretched(going, secs))
            with gateway(build, url, folder) as place:
                address = f"{place}/runs/{run}"
                lines, costs = repeated(address, repeats, patience_secs)
    about = f"A run that has gone on for {secs / 60:g} minutes, watched for {WATCHED_MS // 1000} s."
    spread = f"median {median(costs):.1f} ms, worst {max(costs):.1f} ms"
    main, size = f"{REFRESH_MS} ms of the main thread for a refresh", bundle_bytes()
    assets = f"{BUNDLE_BYTES:,} bytes for all assets, gzipped"
    return [
        *(about, "", f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|", *lines, ""),
        promise(main, spread, kept=max(costs) <= REFRESH_MS),
        promise(assets, f"{size:,} bytes", kept=size < BUNDLE_BYTES),
    ]


def repeated(address: str, repeats: int, patience_secs: float) -> tuple[list[str], list[float]]:
    """Watch the page repeatedly; returns the rows of the table and the costs of a refresh."""
    lines, costs = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        for number in range(1, repeats + 1):
            busy = machine.quiet(patience_secs)
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            seen = watched(page, address)
            page.close()
            costs.append(seen["main"] / seen["refreshes"])
            figures = (
                *(f"{seen['open']:,.0f}", f"{seen['refreshes']:.0f}", f"{costs[-1]:.1f}"),
                *(f"{seen['script'] / seen['refreshes']:.1f}", f"{seen['long']:.0f}"),
                f"{seen['longest']:.0f}" if seen["long"] else "-",
            )
            lines.append(f"| {number} | {busy} | {' | '.join(figures)} |")
            print(lines[-1], flush=True)
        browser.close()
    return lines, costs


def promise(what: str, found: str, *, kept: bool) -> str:
    """Write whether a promise was kept."""
    return f"The promise of {what}: {'kept' if kept else 'NOT kept'}; {found}.\n"


def over(message: synthetic_log.Stored) -> bool:
    """Whether an event ends a run or a shard: a live run has none."""
    event: dict[str, Any] = message.envelope["event"]
    what = event.get("what", event)
    return isinstance(what, dict) and what.get("type") in OVER


def begun(message: synthetic_log.Stored, secs: int) -> synthetic_log.Stored:
    """The event, with the start of its run moved `secs` earlier."""
    event: dict[str, Any] = message.envelope["event"]
    if event.get("type") != "StartScheduled":
        return message
    earlier = {**event, "start_at": event["start_at"] - secs * synthetic_log.TICK_US}
    return synthetic_log.Stored(message.subject, {**message.envelope, "event": earlier})


@contextmanager
def gateway(build: Build, url: str, folder: Path) -> Iterator[str]:
    """Run a gateway for a NATS server, and yield the gateway's address."""
    environ = {
        **build.environ,
        "LOADPILOT_GATEWAY_NATS_URL": url,
        "LOADPILOT_GATEWAY_PORT": "0",
        "LOADPILOT_GATEWAY_CACHE": str(folder / "cache"),
    }
    for name in [name for name in environ if name == "NATS_TOKEN"]:
        del environ[name]
    command = str(Path(sys.executable).with_name("loadpilot-gateway"))
    with subprocess.Popen([command], env=environ, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None  # noqa: S101  (it is a pipe)
            announced = next(line for line in process.stderr if "listening on" in line)
            yield announced.split("listening on ", 1)[1].split(",", 1)[0].rstrip("/")
        finally:
            process.terminate()


def watched(page: Page, address: str) -> dict[str, float]:
    """Measure the work of the page's main thread during a live run, in ms."""
    refreshes = 0

    def count(request: Any) -> None:
        nonlocal refreshes
        refreshes += "/series" in request.url

    page.on("request", count)
    page.add_init_script(LONG_TASKS)
    page.goto(address)
    page.locator(".uplot canvas").first.wait_for(timeout=60_000)
    opened = page.evaluate("performance.now()")
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable")
    before, at_first = spent(devtools), refreshes
    page.evaluate("window.longTasks.length = 0")
    page.wait_for_timeout(WATCHED_MS)
    after = spent(devtools)
    long: list[float] = page.evaluate("window.longTasks")
    return {
        "open": opened,
        "refreshes": max(1, refreshes - at_first),
        "main": (after["TaskDuration"] - before["TaskDuration"]) * 1e3,
        "script": (after["ScriptDuration"] - before["ScriptDuration"]) * 1e3,
        "long": len(long),
        "longest": max(long, default=0),
    }


def spent(devtools: CDPSession) -> dict[str, float]:
    """Read the work of the main thread so far, in seconds."""
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    return {one["name"]: one["value"] for one in metrics}


def bundle_bytes() -> int:
    """Size of all files of the pages, compressed as a browser loads them."""
    files = [Path(at) / name for at, _, names in os.walk(STATIC) for name in names]
    return sum(len(gzip.compress(one.read_bytes(), 9)) for one in files)
