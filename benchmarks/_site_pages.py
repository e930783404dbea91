"""The pages of a site, what is opened of each, what the server takes for it and what a browser shows."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import NoReverseMatch, reverse
from playwright.sync_api import Page, sync_playwright

from benchmarks import MissingDataError, Result
from benchmarks._generated_site import Scale, World
from benchmarks._measured import page_result
from benchmarks._sites import administrators_client, launched_site
from inference.isa.tables import table_of_module
from pmweb.installation import CHROMIUMS
from pmweb.permissions.table import TABLE
from tests.browser.looks import MAX_SHIFT, layout_shift

PAGE_MILLISECONDS = 150  # that a page may take
MAX_QUERIES = 30  # of the database, per page
_REQUESTS = 7  # per page, of which the median counts


@dataclass(frozen=True)
class Visit:
    """A page of an address: the arguments of its path, and the query behind it; `part` names the case.

    `of`: what in the world has the number that is the argument `pk`; `{…}` in the others is what it has.
    `limit`: milliseconds that it may take; `stranger`: whoever has not logged in opens it.
    """

    of: str = ""
    path: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    part: str = ""
    limit: int = PAGE_MILLISECONDS
    stranger: bool = False

    def address(self, name: str, world: World) -> str:
        """The address with this name, as it is opened."""
        owner = {"pk": f"{{{self.of}.pk}}"} if self.of else {}
        things = vars(world)
        arguments = {key: text.format(**things) for key, text in {**owner, **self.path}.items()}
        return reverse(name, kwargs=arguments) + (f"?{self.query.format(**things)}" if self.query else "")


_TABLE = table_of_module(__file__)
_SUBJECTS: Mapping[str, str] = _TABLE["subjects"]
SPECIAL_PAGES = {name: [Visit(**visit) for visit in visits] for name, visits in _TABLE["visits"].items()}
EXEMPT = {name: reason for reason, names in _TABLE["exempt"].items() for name in names}


def is_exempt(name: str, rule: Any) -> bool:
    """Whether an address is no page: nobody reads it, programs do, or it is a file."""
    return (
        rule.read is None
        or rule.guards_itself
        or name in EXEMPT
        or name.startswith("ws-")
        or name.endswith(("-csv", "-export", "-archive"))
    )


def pages() -> dict[str, list[Visit]]:
    """{name of an address: what is opened of it}, for each that needs nothing or the number of a subject."""
    visits = dict(SPECIAL_PAGES)
    for name, rule in TABLE.items():
        subjects = [begin for begin in _SUBJECTS if f"{name}-".startswith(f"{begin}-")]
        if name in visits or is_exempt(name, rule):
            continue
        if _has_address(name):
            visits[name] = [Visit()]
        elif subjects and _has_address(name, pk=1):
            visits[name] = [Visit(_SUBJECTS[max(subjects, key=len)])]
    return visits


def _has_address(name: str, **arguments: int) -> bool:
    try:
        return bool(reverse(name, kwargs=arguments))
    except NoReverseMatch:
        return False


def site_pages(world: World, scale: Scale) -> Iterator[Result]:
    """A case for every visit."""
    for name, visits in pages().items():
        for visit in visits:
            client = Client() if visit.stranger else administrators_client()
            url = visit.address(name, world)
            client.get(url)  # what is remembered per process is looked up
            with CaptureQueriesContext(connection) as queries:
                client.get(url)
            number = len(queries)  # now: the next request forgets them
            more = {"queries": number, "limit": visit.limit, "measurements": scale.measurements}
            yield page_result(client, _case(name, visit), url, _REQUESTS, more)


def addresses(world: World) -> Mapping[str, str]:
    """{case: address} of what somebody who has logged in opens."""
    return {
        _case(name, visit): visit.address(name, world)
        for name, visits in pages().items()
        for visit in visits
        if not visit.stranger
    }


def _case(name: str, visit: Visit) -> str:
    return f"{name}-{visit.part}" if visit.part else name


PICTURE_MILLISECONDS = 1000  # until a picture of a page is painted in the browser
_SCREEN = {"width": 1360, "height": 900}
_OPENED = 3  # times that a page is painted
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
    more = {"limit": MAX_SHIFT, "above": _above(moved, MAX_SHIFT)}
    yield Result("layout-shift", round(max(moved.values()), 3), "of the screen", more=more)


def _painted(page: Page, address: str) -> float:
    page.goto(address)
    page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint').length > 0")
    return float(page.evaluate(_PAINTED))


def _above(found: Mapping[str, float], limit: float) -> dict[str, float]:
    return {case: round(value, 3) for case, value in found.items() if value > limit}
