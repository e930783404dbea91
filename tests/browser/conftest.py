"""Chromium against the real launcher: one site and one browser, which forgets after each test what it kept.

Every page is watched: an error in the console, a violation of the Content-Security-Policy or an exception in
a script fails its test. The last picture of every page is kept in `test-artefacts/`; in continuous
integration, of tests that fail.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from inference.core.simulation.steady_state import compile_simulation
from pmweb.installation import CHROMIUMS
from tests.browser import problem
from tests.launched import LaunchedSite

CHROMIUM = next(filter(None, map(shutil.which, CHROMIUMS)), None)
ARTEFACTS = settings.BASE_DIR / "test-artefacts"
DRAWS = not os.environ.get("CI")
"""Whether pictures are kept of what is well: in continuous integration nobody looks at them."""
PATIENCE_MILLISECONDS = 90_000
RUN_MILLISECONDS = 300_000  # for a run from start to end, whatever else this computer does

expect.set_options(timeout=PATIENCE_MILLISECONDS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder, and skip them where there is no Chromium.

    A new user comes first. Last come searches for blocks, for whose end the worker would keep others waiting,
    and after them the change of the password, which ends every session, that of all tests included.
    """
    absent = pytest.mark.skip(reason="there is no Chromium here: make test-tools, or apt install chromium")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if CHROMIUM is None:
                item.add_marker(absent)
    items.sort(key=lambda item: item.path.name != "test_first_steps.py")
    items.sort(key=lambda item: item.path.name.startswith(("test_anica", "test_basic_blocks")))
    items.sort(key=lambda item: item.path.name == "test_way_in.py")


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The system's Chromium; root cannot have its sandbox."""
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    return {**browser_type_launch_args, "executable_path": CHROMIUM, "args": arguments}


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LaunchedSite]:
    """The site, started as a user starts it."""
    compile_simulation()  # pages do not wait for it
    environment = {
        "PMWEB_PROCESSOR_SECONDS": "0",  # somebody visits all pages there are, one after the other
        "PMWEB_ALLOW_COMMANDS": "1",
    }
    launched = LaunchedSite(
        tmp_path_factory.mktemp("site") / "home", "--port", "0", "--no-agent", environment=environment
    )
    try:
        launched.login_link()
        yield launched
    finally:
        launched.stop()
        ARTEFACTS.mkdir(exist_ok=True)
        (ARTEFACTS / f"site-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}.log").write_text(launched.output)


@pytest.fixture(scope="session")
def address(site: LaunchedSite) -> str:
    """Where the site answers."""
    return site.login_link()[0]


@pytest.fixture(scope="session")
def session(browser: Browser, site: LaunchedSite) -> Any:
    """The cookies of a browser that has logged in with the printed link."""
    base, path = site.login_link()
    context = browser.new_context(base_url=base)
    page = context.new_page()
    page.goto(path)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{base}/")
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture(scope="session")
def profile(browser: Browser, address: str, session: Any) -> Iterator[BrowserContext]:
    """A logged-in browser on a usual screen, which need not draw what moves without end."""
    context = browser.new_context(
        base_url=address,
        storage_state=session,
        viewport={"width": 1280, "height": 900},
        reduced_motion="reduce",
    )
    yield context
    context.close()


@pytest.fixture
def context(profile: BrowserContext, session: Any) -> Iterator[BrowserContext]:
    """The browser as it is after logging in, but for the scripts that it has already fetched and compiled."""
    yield profile
    for page in profile.pages:
        page.close()
    profile.clear_permissions()
    profile.set_storage_state(session)


@pytest.fixture
def tolerated() -> list[str]:
    """Patterns of console errors that a test provokes on purpose; a test adds its own."""
    return []


@pytest.fixture
def page(page: Page, tolerated: list[str], request: pytest.FixtureRequest) -> Iterator[Page]:
    """A watched page."""
    complaints: list[str] = []
    failed = request.session.testsfailed

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(f"{message.text} ({message.location.get('url', '')})")

    page.on("console", hear)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "response",
        lambda answer: complaints.append(f"{answer.status} {answer.url}") if answer.status >= 500 else None,
    )
    page.set_default_timeout(PATIENCE_MILLISECONDS)
    yield page
    known = [*tolerated, "ERR_NETWORK_CHANGED"]  # other tests add and remove network interfaces
    unexpected = [text for text in complaints if not any(re.search(each, text) for each in known)]
    if DRAWS or unexpected or request.session.testsfailed > failed:
        ARTEFACTS.mkdir(exist_ok=True)
        name = re.sub(r"[^A-Za-z0-9]+", "-", request.node.name).strip("-")
        page.screenshot(path=ARTEFACTS / f"{name}.png")
    assert not unexpected, unexpected


def keep_picture(page: Page, name: str, *, full_page: bool = True) -> None:
    """Keep a picture for whoever wants to see what a test saw."""
    if DRAWS:
        ARTEFACTS.mkdir(exist_ok=True)
        page.screenshot(path=ARTEFACTS / f"{name}.png", full_page=full_page)


@pytest.fixture(scope="session")
def example(browser: Browser, address: str, session: Any) -> Iterator[None]:
    """The recorded example is loaded, by this fixture or by an earlier test."""
    context = browser.new_context(base_url=address, storage_state=session)
    page = context.new_page()
    page.goto("/")
    load = page.get_by_role("button", name="Load the example")
    if load.count():
        load.click()
        expect(page.locator("main")).not_to_contain_text("Load the example")
    context.close()


def upload(page: Page, **files: bytes) -> None:
    """Choose files on the upload page, which sends them; the next page opens."""
    page.goto("/sets/upload/")
    chosen = [{"name": name, "mimeType": "text/csv", "buffer": content} for name, content in files.items()]
    with page.expect_navigation():
        page.set_input_files("input[type=file]", chosen)
    expect(page.locator("#being-read")).to_have_count(0, timeout=30_000)


def import_file(page: Page, name: str, content: bytes) -> None:
    """Upload a file, accept its preview, and wait until its import is done."""
    upload(page, **{name: content})
    page.get_by_role("button", name=re.compile("^Import ")).click()
    page.wait_for_url(re.compile(r"/runs/\d+/"))
    expect(page.locator("#run-state[data-state=done]")).to_be_visible()


@pytest.fixture(scope="session")
def measurements(browser: Browser, address: str, session: Any) -> str:
    """The name of an uploaded experiment set of the made-up processor."""
    context = browser.new_context(base_url=address, storage_state=session)
    import_file(context.new_page(), "made-up.csv", problem.as_csv())
    context.close()
    return "made-up"
