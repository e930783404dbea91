"""When a browser shows something of a page, and how much moves afterwards, on a real site."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks import MissingDataError, Result
from benchmarks._sites import launched_site
from pmweb.installation import CHROMIUMS
from tests.browser.looks import MOST_SHIFT, layout_shift

PICTURE_MILLISECONDS = 1000
_SCREEN = {"width": 1360, "height": 900}
_OPENED = 3
_PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"


def chromium() -> str:
    """Where Chromium is; raises MissingDataError where it is not installed."""
    if found := next(filter(None, map(shutil.which, CHROMIUMS)), None):
        return found
    raise MissingDataError("there is no Chromium: apt install chromium")


@contextmanager
def administrators_page(home: Path) -> Iterator[Page]:
    """A page of Chromium in which the administrator has logged in, of a site on this data directory."""
    program = chromium()
    environment = {"PMWEB_PROCESSOR_SECONDS": "0"}
    with launched_site("--no-agent", environment=environment, home=home) as site, sync_playwright() as driver:
        base, link = site.login_link()
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(base_url=base, viewport=_SCREEN)  # type: ignore[arg-type]
        page.goto(link)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(f"{base}/")
        yield page
        browser.close()


def pictures(page: Page, addresses: Mapping[str, str]) -> Iterator[Result]:
    """Every page is opened three times: first in a web process that has just started.

    Two cases, each the worst of all pages: milliseconds from the beginning of the navigation until the first
    text or picture is painted, the median of the three, and the share of the screen that moves afterwards.
    """
    first, usual, moved = {}, {}, {}
    for case, address in addresses.items():
        painted = [_painted(page, address) for _ in range(_OPENED)]
        first[case], usual[case] = painted[0], statistics.median(painted)
        moved[case] = layout_shift(page)
    more = {
        "median": round(statistics.median(usual.values())),
        "limit": PICTURE_MILLISECONDS,
        "above": _above(usual, PICTURE_MILLISECONDS),
        "first-opening": round(max(first.values())),
        "first-opening-above": _above(first, PICTURE_MILLISECONDS),
        "pages": len(usual),
    }
    yield Result("first-picture", round(max(usual.values())), "ms", more=more)
    more = {"limit": MOST_SHIFT, "above": _above(moved, MOST_SHIFT)}
    yield Result("layout-shift", round(max(moved.values()), 3), "of the screen", more=more)


def _painted(page: Page, address: str) -> float:
    page.goto(address)
    page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint').length > 0")
    return float(page.evaluate(_PAINTED))


def _above(found: Mapping[str, float], limit: float) -> dict[str, float]:
    return {case: round(value, 3) for case, value in found.items() if value > limit}
