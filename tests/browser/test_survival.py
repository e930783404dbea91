"""`kill -9` in the middle of a run, with its page open.

The run is halted with SIGSTOP before anything is killed: on a fast computer it would be over too soon.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sqlite3
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import RUN_MILLISECONDS
from tests.browser.test_inference import start_run
from tests.launched import LaunchedSite, wait_until


def rows(site: LaunchedSite, query: str, *values: object) -> list[tuple[object, ...]]:
    """What the database says, read beside the running site."""
    with sqlite3.connect(f"file:{site.home}/pmweb.sqlite3?mode=ro", uri=True) as database:
        return database.execute(query, values).fetchall()


def run_id(page: Page) -> int:
    """The run that the page shows."""
    found = re.search(r"/runs/(\d+)/", page.url)
    assert found is not None
    return int(found.group(1))


@pytest.fixture
def halted(
    page: Page, site: LaunchedSite, measurements: str, request: pytest.FixtureRequest
) -> Iterator[int]:
    """A run that was stopped in the middle of its generations, shown by the page."""
    start_run(
        page,
        measurements,
        name=request.node.name,
        set_ports="5",
        set_population="10000",
        set_max_generations="60",
        set_convergence="0",
        set_threads="1",
    )
    run = run_id(page)
    wait_until(lambda: has_generations(site, run), 300, "the first generations")
    process = site.child(f"run {run}")
    os.kill(process, signal.SIGSTOP)
    try:
        assert rows(site, "SELECT state FROM inference_run WHERE id = ?", run) == [("running",)]
        expect(page.locator("[data-value=generation]")).to_have_text(re.compile(r"^[1-9]"))
        yield run
    finally:
        with contextlib.suppress(ProcessLookupError):  # what stands still would keep all other tests waiting
            os.kill(process, signal.SIGCONT)


def has_generations(site: LaunchedSite, run: int) -> bool:
    """Whether the run's evolution has begun: something has been bred from the first mappings."""
    query = "SELECT max(json_extract(payload, '$.generation')) FROM inference_runevent WHERE run_id = ?"
    ((last,),) = rows(site, f"{query} AND kind = 'generation'", run)
    return isinstance(last, int) and last >= 1


def check_end(page: Page, site: LaunchedSite, run: int) -> None:
    """The open page reaches the end by itself; journal, result and picture are whole."""
    expect(page.locator("#run-state[data-state=done]")).to_be_visible(timeout=RUN_MILLISECONDS)
    expect(page.get_by_role("link", name="Open result")).to_be_visible()
    numbers = [
        seq for (seq,) in rows(site, "SELECT seq FROM inference_runevent WHERE run_id = ? ORDER BY seq", run)
    ]
    assert numbers == list(range(1, len(numbers) + 1))
    assert rows(site, "SELECT count(*) FROM inference_portmapping WHERE run_id = ?", run) == [(1,)]
    generations = [
        generation
        for (generation,) in rows(
            site,
            "SELECT json_extract(payload, '$.generation') FROM inference_runevent "
            "WHERE run_id = ? AND kind = 'generation' ORDER BY seq",
            run,
        )
    ]
    assert generations[-1] == max(generations)
    expect(page.locator("[data-value=generation]")).to_have_text(f"{generations[-1]:,}")


def test_a_killed_worker_is_replaced_and_the_run_goes_on(page: Page, site: LaunchedSite, halted: int):
    site.kill_child("manage.py work")
    check_end(page, site, halted)


def test_a_killed_web_process_is_replaced_and_the_open_page_catches_up(
    page: Page, site: LaunchedSite, halted: int, tolerated: list[str]
):
    tolerated += ["WebSocket connection", "ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "Failed to fetch"]
    site.kill_child("daphne")
    connection = page.locator("[data-connection]")
    expect(connection).to_have_attribute("data-state", "live", timeout=RUN_MILLISECONDS)
    os.kill(site.child(f"run {halted}"), signal.SIGCONT)
    check_end(page, site, halted)


def test_a_killed_process_of_a_run_is_replaced_too(page: Page, site: LaunchedSite, halted: int):
    site.kill_child(f"run {halted}")
    check_end(page, site, halted)
