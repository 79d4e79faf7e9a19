"""A tab of a real browser at the pages. Errors and warnings on its console fail the test."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, ConsoleMessage, Locator, Page

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
TIMEOUT_MS = 40_000
"""Timeout of a page, long enough for a busy machine."""
expect.set_options(timeout=TIMEOUT_MS)
WIDE, NARROW = 1280, 390
SHOTS = os.environ.get("LOADPILOT_SHOTS")


class Reader:
    """One tab."""

    def __init__(self, page: Page, base: str) -> None:
        self.page = page
        self.base = base
        self.console_errors: list[str] = []
        """Errors and warnings on the console, and uncaught exceptions."""
        page.set_default_timeout(TIMEOUT_MS)
        page.on("pageerror", lambda error: self.console_errors.append(str(error)))
        page.on("console", self._on_console)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.console_errors.append(f"{message.text} ({message.location})")

    def open(self, path: str) -> None:
        """Opens a page."""
        self.page.goto(self.base + path)

    def sees(self, text: str) -> None:
        """Waits until a text is visible."""
        expect(self.page.get_by_text(text).first).to_be_visible()

    def tile(self, label: str) -> Locator:
        """The value of a tile."""
        named = self.page.get_by_role("term").filter(has_text=label)
        return self.page.locator(".tile").filter(has=named).locator("b").first

    def figure(self, path: str) -> Locator:
        """The elements that show a figure of the report, by its path."""
        return self.page.locator(f'[data-figure="{path}"]')

    def press(self, name: str) -> None:
        """Clicks a button."""
        self.page.get_by_role("button", name=name, exact=True).click()

    def verdict(self) -> Locator:
        """The word of the verdict."""
        return self.page.get_by_label("Verdict").locator("strong")

    def fetch_json(self, path: str) -> Any:
        """The answer of the gateway to a request of this page."""
        return self.page.evaluate("path => fetch(path).then(answer => answer.json())", path)

    def overflows(self) -> int:
        """Number of pixels by which the page is wider than its window."""
        wide: int = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        return wide

    def take_screenshots(self, name: str) -> None:
        """Takes screenshots if LOADPILOT_SHOTS is set."""
        if SHOTS is None:
            return
        folder = Path(SHOTS)
        folder.mkdir(parents=True, exist_ok=True)
        for theme in ("light", "dark"):
            self.page.emulate_media(color_scheme=theme)
            for width in (WIDE, NARROW):
                self.page.set_viewport_size({"width": width, "height": 900})
                self.page.wait_for_function("new Promise(r => requestAnimationFrame(() => r(1)))")
                self.page.screenshot(path=folder / f"{name}-{width}-{theme}.png", full_page=True)
        self.page.set_viewport_size({"width": WIDE, "height": 900})


@contextmanager
def reading(browser: Browser, base: str) -> Iterator[Reader]:
    """Opens a tab; fails if its console was not silent."""
    # Without transitions axe-core sees the final colours.
    context = browser.new_context(viewport={"width": WIDE, "height": 900}, reduced_motion="reduce")
    reader = Reader(context.new_page(), base)
    try:
        yield reader
        assert not reader.console_errors, reader.console_errors
    finally:
        context.close()
