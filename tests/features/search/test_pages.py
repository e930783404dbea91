"""The search box: names, schemes, code, and what another app adds."""

from __future__ import annotations

from urllib.parse import parse_qs, urlparse

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from anica_app.models import Campaign
from inference.features.library.search.query import find, pasted_code
from inference.models import ISA, ExperimentSet, PortMapping
from inference.runs import lifecycle
from inference.web.contributions import SearchHits
from tests.rows.library import IMUL

LOOP = "add rax, rbx\nimul rcx, rdx"


def by_key(groups: list[SearchHits]) -> dict[str, list[str]]:
    return {each.key: [hit.name for hit in each.hits] for each in groups}


def test_each_kind_of_thing_makes_a_group(mapping: PortMapping, experiment_set: ExperimentSet):
    Campaign.objects.create(name="three against two", config={}, facts={})
    lifecycle.submit("evaluate", {"mapping": mapping.pk, "experiment_set": experiment_set.pk}, "three again")
    assert by_key(find("three", 5)) == {
        "mappings": ["three ports"],
        "runs": ["three again"],
        "campaigns": ["three against two"],
    }
    assert by_key(find("imul", 5)) == {"schemes": [IMUL]}
    assert by_key(find("SMALL", 5)) == {"sets": ["small"]}


def test_words_are_found_in_any_order_and_in_notes(mapping: PortMapping):
    PortMapping.objects.update(note="seen on Zen 3")
    assert by_key(find("zen ports", 5)) == {"mappings": ["three ports"]}
    assert find("zen four", 5) == []


def test_the_very_name_comes_before_what_contains_it(isa: ISA):
    for name in ("small one", "a small one", "small"):
        ExperimentSet.objects.create(name=name, isa=isa, origin="upload", note="" if name else "small")
    (group,) = find("small", 2)
    assert [hit.name for hit in group.hits] == ["small", "small one"]
    assert group.total == 3


def test_the_syntax_of_the_scheme_table_holds_and_a_mistake_in_it_is_words(isa: ISA):
    assert [group.total for group in find("memory:R", 5)] == [1]
    assert find("memory:nowhere", 5) == []


def test_a_search_takes_few_queries(mapping: PortMapping, experiment_set: ExperimentSet):
    with CaptureQueriesContext(connection) as queries:
        find("a", 1)
    assert len(queries) <= 14


@pytest.mark.parametrize("text", [LOOP, LOOP.replace("\n", "; "), "4801d8\n480fafca"])
def test_pasted_code_leads_to_its_explanation(visitor: Client, isa: ISA, text: str):
    answer = visitor.get(reverse("search"), {"q": text})
    assert answer.status_code == 302
    target = urlparse(answer["Location"])
    assert target.path == reverse("loop")
    page = visitor.get(answer["Location"])
    assert page.status_code == 200
    assert "imul" in page.text if "add" in parse_qs(target.query)["code"][0] else "add rax, rbx" in page.text


def test_one_instruction_is_offered_beside_what_has_its_words(visitor: Client, isa: ISA):
    page = visitor.get(reverse("search"), {"q": "imul rax, rbx"}).text
    assert "As assembly" in page
    assert pasted_code("imul") is None


def test_code_that_cannot_be_decoded_says_where(visitor: Client, isa: ISA):
    page = visitor.get(reverse("search"), {"q": "add rax, rbx\nfrobnicate rax"}, follow=True)
    assert page.status_code == 400
    assert "Line 2" in page.text


def test_every_hit_and_every_list_is_a_page(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
):
    page = visitor.get(reverse("search"), {"q": "a"})
    for group, listing, hits in page.context["groups"]:
        for address in (listing, *(address for _, address in hits)):
            assert visitor.get(address).status_code == 200, (group.key, address)


@pytest.mark.parametrize(("q", "says"), [("", "What are you looking for?"), ("xyzzy", "No results")])
def test_an_empty_page_says_what_to_do(visitor: Client, isa: ISA, q: str, says: str):
    assert says in visitor.get(reverse("search"), {"q": q}).text


def test_a_text_without_end_is_refused(visitor: Client, isa: ISA):
    assert visitor.get(reverse("search"), {"q": "x" * 4001}).status_code == 400
