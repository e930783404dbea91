"""The documentation as pages of the site: each file has its page, each link leads somewhere."""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.urls import reverse

from pmweb.help import glossary_terms
from pmweb.manual import BUILT_ELSEWHERE, DIRECTORY, manual_parts

PAGES = [page for part in manual_parts() for page in part.pages]
ANCHOR = re.compile(r'<h\d id="([^"]+)"')
IMAGE = re.compile(r'<img src="([^"]+)"')
LINK = re.compile(r'<a href="([^"]+)"')


def test_each_file_has_one_page():
    names = [page.name for page in PAGES]
    assert sorted(names) == sorted(
        {file.stem for file in DIRECTORY.glob("*.md")} - {"index", BUILT_ELSEWHERE}
    )


def test_there_are_four_parts():
    assert [part.name for part in manual_parts()] == [
        "Tutorials",
        "How-to guides",
        "Reference",
        "Why it works",
    ]
    assert all(part.pages and part.purpose.endswith(".") for part in manual_parts())


@pytest.mark.parametrize("chapter", PAGES, ids=[page.name for page in PAGES])
def test_links_lead_to_pages_and_headings_that_are_there(chapter):
    anchors = {page.address: set(ANCHOR.findall(page.html)) for page in PAGES}
    anchors[reverse("glossary")] = {term.anchor for term in glossary_terms()}
    for link in LINK.findall(chapter.html):
        address, _, anchor = link.partition("#")
        if "://" not in link:
            assert address in anchors, link
            assert not anchor or anchor in anchors[address], link


def test_images_are_served():
    images = [image for page in PAGES for image in IMAGE.findall(page.html)]
    assert images
    assert all(finders.find(image.removeprefix(settings.STATIC_URL)) for image in images)


def test_a_page_is_shown_with_the_others_beside_it(admin_client):
    contents = admin_client.get(reverse("help")).text
    page = admin_client.get(reverse("help-page", args=["formats"])).text
    assert '<h2 id="experiment-csv">' in page
    for other in PAGES:
        assert other.address in contents
        assert other.address in page


@pytest.mark.parametrize("name", ["nothing", "index", "conf"])
def test_a_page_that_is_not_there_is_not_found(admin_client, name):
    assert admin_client.get(reverse("help-page", args=[name])).status_code == 404


def test_the_glossary_has_one_page(admin_client):
    assert admin_client.get(reverse("help-page", args=["glossary"])).url == reverse("glossary")
