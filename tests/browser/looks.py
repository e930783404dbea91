"""How pages look: on a screen in light colours and on a phone in dark ones."""

from __future__ import annotations

import re

from playwright.sync_api import Page

from tests.browser.axe import violations
from tests.browser.conftest import keep_picture
from tests.browser.visiting import overflow

SCREEN = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}

MAX_SHIFT = 0.1
"""What people hardly notice, by the usual measure: share of the screen that moves, times how far."""

_SHIFT = """() => new Promise((done) => {
  let moved = 0;
  const add = (each) => { moved += each.hadRecentInput ? 0 : each.value; };
  const watcher = new PerformanceObserver((list) => list.getEntries().forEach(add));
  watcher.observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(moved), 50);
})"""


MAX_BYTES_BEFORE_PAINT = 256 * 1024
"""Bytes that have to be there before a browser shows anything: half a second at 4 Mbit/s."""

_BEFORE = """() => {
  const [page] = performance.getEntriesByType("navigation");
  const blocks = (one) => one.renderBlockingStatus === "blocking";
  const blocking = performance.getEntriesByType("resource").filter(blocks);
  return blocking.reduce((sum, one) => sum + one.encodedBodySize, page.encodedBodySize);
}"""


def bytes_before_picture(page: Page) -> int:
    """The page, and all that it lets its first picture wait for, as they come over the network.

    How long that takes is measured where nothing else runs: benchmark `pages`.
    """
    return int(page.evaluate(_BEFORE))


def layout_shift(page: Page) -> float:
    """How much has moved by itself since the page was opened."""
    return float(page.evaluate(_SHIFT))


def picture(page: Page, kind: str, path: str) -> None:
    """Keep a picture of the page at this path."""
    name = re.sub(r"[^a-z0-9]+", "-", path).strip("-") or "start"
    keep_picture(page, f"{kind}-{name}")


def assert_sound(page: Page, name: str) -> None:
    """The open page is accessible and no wider than what shows it, for a screen and for a phone.

    It is drawn anew rather than fetched anew. Axe restyles it: the test has to tolerate that (`TOLERATED`).
    """
    for kind, screen, scheme in (("phone", PHONE, "dark"), ("screen", SCREEN, "light")):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        page.set_viewport_size(screen)  # type: ignore[arg-type]
        picture(page, f"{kind}-{scheme}", name)
        assert overflow(page) <= 0, (name, kind)
        assert violations(page) == [], (name, kind)
