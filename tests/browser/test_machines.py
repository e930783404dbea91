"""Machines in the browser: adding one, its agent arriving, measuring on it while it is watched."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from pmweb.launcher.supervisor import tie_to_parent
from tests.launched import LaunchedSite

MAPPING = "Example: Zen 4, by PMEvo"
LINE = re.compile(r"echo (\S+) > \S+ && python3 pmweb-agent\.pyz --server (\S+)")


@pytest.fixture
def agents(site: LaunchedSite) -> Iterator[Any]:
    """Starts simulated agents with a token, and ends them."""
    started: list[subprocess.Popen[bytes]] = []

    def start(server: str, token: str) -> None:
        command = ["simulate-agent", "--server", server, "--mapping", MAPPING, "--noise", "0.001"]
        reading, writing = os.pipe()
        os.write(writing, token.encode() + b"\n")
        os.close(writing)
        started.append(
            subprocess.Popen(
                [sys.executable, str(settings.BASE_DIR / "manage.py"), *command, "--token-file", "-"],
                env={**os.environ, "PMWEB_HOME": str(site.home)},
                stdin=reading,
                preexec_fn=partial(tie_to_parent, os.getpid()),  # noqa: PLW1509  nothing stays behind
            )
        )
        os.close(reading)

    yield start
    for process in started:
        process.terminate()
        process.wait(30)


def add(page: Page, name: str) -> tuple[str, str]:
    """Add a machine; the site's address and the token that the line to paste has."""
    page.goto("/machines/add/")
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Show the line to paste").click()
    page.wait_for_load_state()  # a press of *Copy* before the page's modules run would do nothing
    found = LINE.search(page.locator("#line-to-paste").inner_text())
    assert found is not None
    return found.group(2), found.group(1)


def test_the_line_to_paste_is_copied_with_one_press(page: Page, address: str):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    server, token = add(page, "copied")
    assert server == address
    expect(page.locator(".notice-warning")).to_contain_text("0.0.0.0")
    button = page.get_by_role("button", name="Copy")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert token in page.evaluate("navigator.clipboard.readText()")
    page.get_by_role("link", name="copied", exact=True).click()
    expect(page.locator("main")).not_to_contain_text(token)


@pytest.mark.usefixtures("example")
def test_an_agent_arrives_measures_and_can_be_turned_away(page: Page, agents: Any):
    server, token = add(page, "arriving")
    expect(page.locator("#arrival")).to_contain_text("Waiting for it to connect")
    agents(server, token)
    page.get_by_role("link", name="Open arriving").click()
    state = page.locator("#machine-state .badge").first
    expect(state).to_have_text("idle")

    page.get_by_role("button", name="Measure", exact=True).click()
    page.get_by_role("link", name="Measure experiments …").click()
    page.get_by_label("Schemes", exact=True).select_option("filter")
    page.get_by_label("Search").fill("mnemonic:add memory:none")
    expect(page.locator("#scheme-count")).to_contain_text("add")
    page.get_by_label("Experiments", exact=True).select_option("singletons")
    page.get_by_label("Name", exact=True).fill("measured by the browser")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#run-state[data-state=done]")).to_be_visible()
    page.get_by_role("link", name="Open result").click()
    expect(page.locator("main")).to_contain_text("settled")
    page.get_by_role("link", name="arriving").click()

    expect(page.locator("main")).to_contain_text("measured by the browser")
    page.get_by_role("button", name="Revoke").click()
    expect(page.locator("main")).to_contain_text("revoked")
    expect(state).to_have_text("offline")


@pytest.mark.usefixtures("example")
def test_the_list_of_machines_follows_what_happens(page: Page, agents: Any):
    server, token = add(page, "followed")
    page.goto("/machines/")
    row = page.locator("tr", has=page.get_by_role("link", name="followed"))
    expect(row).to_contain_text("never connected")
    page.goto("/machines/")
    agents(server, token)
    expect(row).to_contain_text("idle")
