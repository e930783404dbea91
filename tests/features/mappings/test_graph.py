"""The graph's model on a mapping's page: links, filters, another mapping in it."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from inference.core.mapping import PortMapping as Value
from inference.models import ISA, InstructionScheme, PortMapping
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import store_mapping
from tests.rows.library import ADD, IMUL, LOAD

THERE = Value(("x", "y", "z", "w"), {ADD: ((0b0111, 1),), IMUL: ((0b1000, 2),), LOAD: ((0b0001, 1),)})


def graph(visitor: Client, mapping: PortMapping, **query: object):
    return visitor.get(reverse("mapping", args=[mapping.pk]), query)


def schemes_in(model) -> dict[str, int]:
    return {
        text: pk for group in model["groups"] for text, pk in zip(group["schemes"], group["ids"], strict=True)
    }


def test_every_scheme_has_its_number_and_the_filters_count_schemes(visitor: Client, mapping: PortMapping):
    response = graph(visitor, mapping)
    ids = dict(InstructionScheme.objects.filter(text__in=[ADD, IMUL]).values_list("text", "pk"))
    assert schemes_in(response.context["model"]) == ids
    facets = {each.name: each.choices for each in response.context["facets"]}
    assert facets["extension"] == (("BASE", "BASE", 1), ("X64", "X64", 1))
    assert facets["memory"] == (("-", "none", 2),)
    text = response.content.decode()
    assert 'data-graph-facet="extension"' in text
    assert 'data-graph-facet="memory"' not in text  # one value is no choice


def test_another_mapping_is_drawn_in_under_the_names_of_this_one(
    visitor: Client, mapping: PortMapping, isa: ISA, django_assert_max_num_queries: DjangoAssertNumQueries
):
    other = store_mapping("there", isa, THERE, origin=PortMapping.Origin.IMPORT)
    with django_assert_max_num_queries(30):
        response = graph(visitor, mapping, **{"with": other.pk})
    model = response.context["model"]
    assert set(schemes_in(model)) == {ADD, IMUL, LOAD}
    assert [group["kind"] for group in model["groups"]] == ["different", "only-second", "equal"]
    assert len(model["ports"]) == len(model["there"]) == 4
    assert sorted(model["there"]) == ["w", "x", "y", "z"]
    assert ("only-second", "only there", 1) in response.context["kinds"]
    assert "1 of 2 common schemes use the same µops" in response.content.decode()


def test_only_a_mapping_of_the_same_instruction_set_can_be_drawn_in(visitor: Client, mapping: PortMapping):
    toy = new_isa("toy", ["op R"], "by hand")
    foreign = store_mapping(
        "foreign", toy, Value(("p",), {"op R": ((1, 1),)}), origin=PortMapping.Origin.IMPORT
    )
    assert graph(visitor, mapping, **{"with": foreign.pk}).status_code == 400
    assert graph(visitor, mapping, **{"with": 99999}).status_code == 404


@pytest.mark.parametrize("query", ["with=x", "with=1e3"])
def test_a_strange_number_is_a_bad_request(visitor: Client, mapping: PortMapping, query: str):
    assert visitor.get(f"{reverse('mapping', args=[mapping.pk])}?{query}").status_code == 400
