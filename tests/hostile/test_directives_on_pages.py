"""What is pasted into the loop of a mapping or the search box reaches no program that knows directives."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from inference.models import PortMapping
from tests.directives import SPELLINGS, watching, written


def test_the_loop_of_a_mapping_refuses_directives(visitor: Client, mapping: PortMapping, tmp_path):
    address = reverse("mapping", args=[mapping.pk])
    with watching(tmp_path) as watch:
        for spelling in SPELLINGS:
            page = visitor.get(address, {"tab": "loop", "code": written(spelling, watch.file)})
            assert page.status_code == 400, spelling
            assert "The code was not decoded" in page.text, spelling
            watch.expect_silence(page.text)


def test_the_search_box_takes_directives_for_words_or_for_code(
    visitor: Client, mapping: PortMapping, tmp_path
):
    with watching(tmp_path) as watch:
        for spelling in SPELLINGS:  # the API's test, with the same search, has them behind an instruction
            page = visitor.get(reverse("search"), {"q": written(spelling, watch.file)}, follow=True)
            assert page.status_code in {200, 400}, spelling
            watch.expect_silence(page.text)
