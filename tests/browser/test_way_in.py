"""Logging in, in a browser without a session."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from django.conf import settings
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.launched import LaunchedSite


@pytest.fixture
def context(browser: Browser, address: str) -> Iterator[BrowserContext]:
    """A browser without cookies."""
    context = browser.new_context(base_url=address)
    yield context
    context.close()


def another_link(site: LaunchedSite) -> str:
    made = subprocess.run(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), "login-link"],
        env={"PMWEB_HOME": str(site.home), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout.strip()


def test_without_a_session_every_page_leads_to_the_log_in(page: Page):
    page.goto("/runs/")
    expect(page).to_have_url("/login/?next=/runs/")
    expect(page.get_by_text("manage.py login-link")).to_be_visible()


def test_a_link_from_the_shell_logs_in_once(page: Page, site: LaunchedSite, tolerated: list[str]):
    tolerated.append("status of 410")
    link = another_link(site)
    page.goto(link)
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url("/")
    page.context.clear_cookies()
    page.goto(link)
    expect(page.get_by_role("heading", name="This link no longer works")).to_be_visible()


def test_a_password_set_in_the_browser_logs_in_and_leads_on(page: Page, site: LaunchedSite):
    page.goto(another_link(site))
    page.get_by_role("button", name="Log in").click()
    page.goto("/account/password/")
    page.get_by_label("New password", exact=True).fill("seven blue horses")
    page.get_by_label("New password confirmation").fill("seven blue horses")
    page.get_by_role("button", name="Set the password").click()
    expect(page.get_by_text("The password is set")).to_be_visible()
    page.locator("details.account-menu summary").click()
    page.get_by_role("button", name="Log out").click()
    page.goto("/about/")
    page.get_by_label("Password of the administrator").fill("seven blue horses")
    page.keyboard.press("Enter")
    expect(page).to_have_url("/about/")
    expect(page.get_by_role("heading", name="About this installation")).to_be_visible()
