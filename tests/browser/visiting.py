"""Pages as they are once all that they ask for has come."""

from __future__ import annotations

import time

from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as Late

IDLE_MILLISECONDS = 20_000
DRAWN_SECONDS = 5.0
POLL_MILLISECONDS = 50

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


def cancel_run(page: Page) -> None:
    """Cancel the run whose page is shown: the first button asks, the second one does it."""
    page.get_by_role("button", name="Cancel…").click()
    page.get_by_role("button", name="Cancel this run").click()


def overflow(page: Page) -> int:
    """By how many pixels the page stays wider than the screen: pictures are drawn anew for another one."""
    give_up = time.monotonic() + DRAWN_SECONDS
    # Not wait_for_function: it evaluates strings in the page, which the policy of the pages forbids.
    while (width := int(page.evaluate(_OVERFLOW))) > 0 and time.monotonic() < give_up:
        page.wait_for_timeout(POLL_MILLISECONDS)
    return width
