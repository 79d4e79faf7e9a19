"""Somebody who reads the pages: one tab of a real browser, whose console must stay silent."""

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
PATIENCE_MS = 40_000
"""How long a page may take to show something on a busy machine."""
WIDE, NARROW = 1280, 390
SHOTS = os.environ.get("LOADPILOT_SHOTS")


class Reader:
    """One tab."""

    def __init__(self, page: Page, base: str) -> None:
        self.page = page
        self.base = base
        self.complaints: list[str] = []
        """What stood on the console, or was thrown."""
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._hear)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(f"{message.text} ({message.location})")

    def open(self, path: str) -> None:
        """Goes to a page."""
        self.page.goto(self.base + path)

    def sees(self, text: str) -> None:
        """Waits until a text is to be seen."""
        expect(self.page.get_by_text(text).first).to_be_visible(timeout=PATIENCE_MS)

    def tile(self, label: str) -> Locator:
        """The figure in a tile."""
        named = self.page.get_by_role("term").filter(has_text=label)
        return self.page.locator(".tile").filter(has=named).locator("b").first

    def press(self, name: str) -> None:
        """Presses a button."""
        self.page.get_by_role("button", name=name, exact=True).click()

    def verdict(self) -> Locator:
        """The word of the judgement."""
        return self.page.get_by_label("Verdict").locator("strong")

    def asks(self, path: str) -> Any:
        """What the gateway answers to this browser."""
        return self.page.evaluate("path => fetch(path).then(answer => answer.json())", path)

    def overflows(self) -> int:
        """By how many pixels the page is wider than its window."""
        wide: int = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        return wide

    def shoot(self, name: str) -> None:
        """Leaves pictures, if somebody asked for them."""
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
    """One reader, who must have had nothing to complain of."""
    # Without motion a colour is what it is at once, also for whoever judges its contrast.
    context = browser.new_context(viewport={"width": WIDE, "height": 900}, reduced_motion="reduce")
    reader = Reader(context.new_page(), base)
    try:
        yield reader
        assert not reader.complaints, reader.complaints
    finally:
        context.close()
