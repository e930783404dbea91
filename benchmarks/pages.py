"""How quick every page is on a site of a million measurements (`_site_pages`), and how the largest ones move:
a tree of 2,000 decisions, the graph of a mapping of 2,000 schemes.

The server's time is that of a request in this process, without network; the browser's is what Chromium says
of a real site. Wall time, because that is what the user waits: meant for a quiet machine. The server's CPU
time stands beside it.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from playwright.sync_api import Page

from benchmarks import Result
from benchmarks._generated_site import DECISIONS, Scale, World, generated_site
from benchmarks._measured import cost_of
from benchmarks._site_pages import addresses, administrators_page, pictures, site_pages
from benchmarks._sites import temporary_database

_OPENED, _CLICKS = 6, 15

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
    """Medians; `quick` has a tenth of the site."""
    scale = Scale.quick() if quick else Scale()
    with temporary_database() as home:
        made = cost_of(lambda: generated_site(scale))
        world = made.value
        yield Result("site-generated", round(made.wall, 1), "s", more={"measurements": scale.measurements})
        yield from site_pages(world, scale)
        places = addresses(world)  # now: a browser's event loop allows no queries
        with administrators_page(home) as page:
            yield from pictures(page, places)
            yield from _tree(page, world, {"discoveries": scale.discoveries, "steps": DECISIONS})
            yield from _graphs(page, world, {"schemes": scale.schemes})


def _tree(page: Page, world: World, more: Mapping[str, int]) -> Iterator[Result]:
    """How soon a tree of 2,000 discoveries can be used, answers a click, and scrolls."""
    address, selected = f"/discoveries/{world.deep.pk}/", "[role=treeitem][aria-selected=true]"
    yield _median("interactive-2000", _interactive(page, address, selected)[1:], more)
    clicks = []
    for number in range(_CLICKS):
        page.evaluate(f"document.querySelector('[data-tree-scroll]').scrollTop = {number * 3000}")
        page.wait_for_timeout(100)
        node = page.locator("[role=treeitem][aria-selected=false]").nth(5).element_handle()
        clicks.append(page.evaluate(_CLICK, node))
    yield _median("click-2000", clicks)
    yield _median("frame-2000", page.evaluate(_SCROLL), digits=1)


def _graphs(page: Page, world: World, more: Mapping[str, int]) -> Iterator[Result]:
    """How soon the graph of 2,000 schemes can be used and scrolls, alone and compared."""
    graph = f"/mappings/{world.mapping.pk}/"
    for case, address in (
        ("graph-2000", graph),
        ("graph-2000-compared", f"{graph}?with={world.other.pk}"),
    ):
        yield _median(f"interactive-{case}", _interactive(page, address, "[data-node=g0]")[1:], more)
        frames = page.evaluate(_SCROLL.replace("[data-tree-scroll]", "[data-graph-scroll]"))
        yield _median(f"frame-{case}", frames, digits=1)


def _interactive(page: Page, address: str, selector: str) -> list[float]:
    """Milliseconds until the scripts of the page have run, from the beginning of the navigation."""
    milliseconds = []
    for _ in range(_OPENED):
        page.goto(address)
        page.wait_for_selector(selector)
        entry = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
        milliseconds.append(float(page.evaluate(entry)))
    return milliseconds


def _median(
    case: str, milliseconds: Sequence[float], more: Mapping[str, int] | None = None, digits: int | None = None
) -> Result:
    value = round(statistics.median(milliseconds), digits)
    return Result(case, value, "ms", more={**(more or {}), "worst": round(max(milliseconds))})
