"""How quick every page is on a site of a million measurements (`_site_pages`), and the largest ones of all:
a campaign of 200 discoveries, a tree of 2,000 decisions, mappings of 2,000 schemes.

The server's time is that of a request in this process, without network; the browser's is what Chromium says
of a real site. Wall time, because that is what the user waits: meant for a quiet machine. The server's CPU
time stands beside it.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from django.db import connections
from django.test import Client, override_settings
from playwright.sync_api import Page, sync_playwright

from anica_app.models import Campaign, Discovery, Generalisation, GeneralisationStep
from benchmarks import Result
from benchmarks._generated_campaign import Size, generated_campaign
from benchmarks._generated_explorer import SCHEMES, Explorer, generated_explorer
from benchmarks._site_pages import site_pages
from benchmarks._site_pictures import chromium
from benchmarks._temporary_database import PLAIN_STATIC
from pmweb.accounts.people import ensure_administrator
from tests.launched import LaunchedSite

STEPS = 2000
_REQUESTS, _CLICKS = 15, 15

_CLICK = """node => new Promise(done => {
  const before = document.getElementById("step").dataset.step;
  const begun = performance.now();
  const seen = new MutationObserver(() => {
    if (document.getElementById("step")?.dataset.step === before) return;
    seen.disconnect();
    requestAnimationFrame(() => done(performance.now() - begun));
  });
  seen.observe(document.body, { childList: true, subtree: true });
  node.dispatchEvent(new MouseEvent("click", { bubbles: true }));
})"""
_SCROLL = """() => new Promise(done => {
  const scroller = document.querySelector("[data-tree-scroll]");
  const frames = [];
  let last = performance.now();
  const frame = now => {
    frames.push(now - last);
    last = now;
    scroller.scrollTop += 400;
    if (frames.length < 120) requestAnimationFrame(frame); else done(frames.slice(1));
  };
  requestAnimationFrame(frame);
})"""


def run(quick: bool) -> Iterator[Result]:
    """Medians; `quick` has a tenth of the discoveries, and of the site."""
    yield from site_pages(quick)
    program = chromium()
    with tempfile.TemporaryDirectory(prefix="pmweb-pages-") as directory:
        home = Path(directory) / "home"
        site = LaunchedSite(home, "--port", "0", "--no-agent", environment={"PMWEB_PROCESSOR_SECONDS": "0"})
        try:
            base, path = site.login_link()
            with database_in(home):
                campaign = generated_campaign(Size(discoveries=20 if quick else 200))
                deep = deepened(campaign, STEPS)
                more = {"discoveries": campaign.discoveries.count(), "steps": STEPS}
                yield from _served(_campaign_pages(campaign, deep), more)
                explorer = generated_explorer()
                yield from _served(_explorer_pages(explorer), {"schemes": SCHEMES})
            graph = f"{base}/mappings/{explorer.first.pk}/"
            graphs = (("graph-2000", graph), ("graph-2000-compared", f"{graph}?with={explorer.second.pk}"))
            yield from _browsed(program, f"{base}{path}", f"{base}/discoveries/{deep.pk}/", more, graphs)
        finally:
            site.stop()


@contextmanager
def database_in(home: Path) -> Iterator[None]:
    """The database of a site, in place of this process's own, as long as this lasts."""
    connection = connections["default"]
    before = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = home / "pmweb.sqlite3"
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = before


def deepened(campaign: Campaign, steps: int) -> Discovery:
    """The campaign's last discovery, its tree continued up to so many decisions, half of them rejected."""
    discovery = campaign.discoveries.order_by("-number")[0]
    row = discovery.generalisations.get(became=Generalisation.Became.DISCOVERY)
    known = list(row.steps.order_by("number"))
    dice = random.Random(steps)
    more = []
    for number in range(len(known), steps + 1):
        like = dice.choice(known)
        pair = [f"{dice.randint(1, 9)}.register.{dice.randint(1, 3)}", f"{dice.randint(1, 9)}.memory.1"]
        fields = {"reason": like.reason, "n": like.n, "interesting": like.interesting, "mean": like.mean}
        more.append(
            GeneralisationStep(
                generalisation=row,
                number=number,
                expansion={"aliasing": pair},
                taken=dice.random() < 0.5,
                samples=like.samples,
                **fields,
            )
        )
    GeneralisationStep.objects.bulk_create(more, batch_size=200)
    Generalisation.objects.filter(pk=row.pk).update(steps_count=steps)
    return discovery


_Pages = Sequence[tuple[str, str, dict[str, str]]]
"""(case, address, headers)."""


def _campaign_pages(campaign: Campaign, deep: Discovery) -> _Pages:
    usual = campaign.discoveries.order_by("number")[0]
    return (
        ("campaign", f"/campaigns/{campaign.pk}/", {}),
        ("discovery", f"/discoveries/{usual.pk}/", {}),
        ("discovery-2000", f"/discoveries/{deep.pk}/", {}),
        ("step-2000", f"/discoveries/{deep.pk}/?step=1999", {"X-Part": "step"}),
    )


def _explorer_pages(explorer: Explorer) -> _Pages:
    mapping, against = f"/mappings/{explorer.first.pk}/", f"with={explorer.second.pk}"
    return (
        ("mapping-graph", mapping, {}),
        ("mapping-graph-compared", f"{mapping}?{against}", {}),
        ("mapping-doubts", f"{mapping}?tab=doubts&{against}", {}),
        ("scheme", f"/schemes/{explorer.scheme.pk}/", {}),
    )


def _served(pages: _Pages, more: dict[str, int]) -> Iterator[Result]:
    with override_settings(STORAGES=PLAIN_STATIC, ALLOWED_HOSTS=["testserver"]):
        client = Client()
        client.force_login(ensure_administrator())
        for case, url, headers in pages:
            walls, processor = [], []
            for _ in range(_REQUESTS + 2):
                wall, spent = time.perf_counter(), time.process_time()
                answer = client.get(url, headers=headers)
                walls.append(time.perf_counter() - wall)
                processor.append(time.process_time() - spent)
                if answer.status_code != 200:
                    raise RuntimeError(f"{url} answered {answer.status_code}")
            facts = {**more, "cpu": _milliseconds(processor[2:]), "bytes": len(answer.content)}
            yield Result(case, _milliseconds(walls[2:]), "ms", more=facts)


def _browsed(
    program: str, login: str, address: str, more: dict[str, int], graphs: Sequence[tuple[str, str]]
) -> Iterator[Result]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(login)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_load_state()
        opened = []
        for _ in range(6):
            page.goto(address)
            page.wait_for_selector("[role=treeitem][aria-selected=true]")
            opened.append(_interactive(page))
        yield Result("interactive-2000", round(statistics.median(opened[1:])), "ms", more=more)
        clicks = []
        for number in range(_CLICKS):
            page.evaluate(f"document.querySelector('[data-tree-scroll]').scrollTop = {number * 3000}")
            page.wait_for_timeout(100)
            node = page.locator("[role=treeitem][aria-selected=false]").nth(5).element_handle()
            clicks.append(page.evaluate(_CLICK, node))
        yield Result("click-2000", round(statistics.median(clicks)), "ms", more={"worst": round(max(clicks))})
        frames = page.evaluate(_SCROLL)
        yield Result(
            "frame-2000", round(statistics.median(frames), 1), "ms", more={"worst": round(max(frames))}
        )
        for case, url in graphs:
            drawn = []
            for _ in range(6):
                page.goto(url)
                page.wait_for_selector("[data-node=g0]")
                drawn.append(_interactive(page))
            facts = {"schemes": SCHEMES, "worst": round(max(drawn[1:]))}
            yield Result(f"interactive-{case}", round(statistics.median(drawn[1:])), "ms", more=facts)
            frames = page.evaluate(_SCROLL.replace("[data-tree-scroll]", "[data-graph-scroll]"))
            yield Result(
                f"frame-{case}", round(statistics.median(frames), 1), "ms", more={"worst": round(max(frames))}
            )
        browser.close()


def _interactive(page: Page) -> float:
    """Until the scripts of the page have run, from the beginning of the navigation."""
    entry = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
    found: float = page.evaluate(entry)
    return found


def _milliseconds(seconds: list[float]) -> float:
    return round(1000 * statistics.median(seconds), 1)
