"""Pages as they are once all that they ask for has come."""

from __future__ import annotations

import contextlib

from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as Late

IDLE_MILLISECONDS = 20_000
DRAWN_MILLISECONDS = 5_000

_OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def visit(page: Page, path: str) -> None:
    """Open a page and wait until it asks for nothing more.

    Other tests add and remove network interfaces; Chromium then gives up a request at times without telling
    that it ended, and its page never comes to rest. A second visit does.
    """
    page.goto(path)
    try:
        page.wait_for_load_state("networkidle", timeout=IDLE_MILLISECONDS)
    except Late:
        page.goto(path)
        page.wait_for_load_state("networkidle")


def overflow(page: Page) -> int:
    """By how many pixels the page stays wider than the screen: pictures are drawn anew for another one."""
    with contextlib.suppress(Late):
        page.wait_for_function(f"{_OVERFLOW} <= 0", timeout=DRAWN_MILLISECONDS)
    width: int = page.evaluate(_OVERFLOW)
    return width
