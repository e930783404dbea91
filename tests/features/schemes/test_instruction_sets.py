"""Instruction sets and schemes."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from inference.core.resources import ResourceMapping
from inference.isa.x86.scheme_set import scheme_and_form
from inference.models import ISA, ExperimentSet, InstructionScheme, PortMapping
from inference.models import ResourceMapping as Row
from inference.storage.instruction_sets import new_isa, store_isa
from inference.storage.mappings import store_resource_mapping
from inference.web.paging import PAGE_SIZE
from tests.rows.library import ADD, IMUL, LOAD


def test_the_list_counts_what_belongs_to_an_instruction_set(
    visitor: Client, experiment_set: ExperimentSet, mapping: PortMapping
) -> None:
    answer = visitor.get(reverse("isas"))
    (row,) = answer.context["isas"]
    assert (row.scheme_count, row.default_count, row.set_count, row.mapping_count) == (3, 2, 1, 1)
    assert row.resource_mapping_count == 0
    assert "a test" in answer.text


def _shown(answer: object) -> list[str]:
    return [row.text for row in answer.context["page"].rows]  # type: ignore[attr-defined]


def test_the_scheme_table_shows_all_schemes_and_why_one_is_excluded(visitor: Client, isa: ISA) -> None:
    answer = visitor.get(reverse("isa", args=[isa.pk]), {"cpu": ""})
    assert _shown(answer) == [ADD, IMUL, LOAD]
    assert "no: reads memory" in answer.text
    assert "How to search" in answer.text


@pytest.mark.parametrize(
    ("search", "found"),
    [("imul", [IMUL]), ("memory:R", [LOAD]), ("-imul is:default", [ADD]), ("ext:X64", [IMUL]), ("nop", [])],
)
def test_a_search_narrows_the_table(visitor: Client, isa: ISA, search: str, found: list[str]) -> None:
    answer = visitor.get(reverse("isa", args=[isa.pk]), {"q": search})
    assert answer.status_code == 200
    assert _shown(answer) == found
    assert ("No scheme matches" in answer.text) == (not found)


def test_avx512_is_behind_a_switch_that_only_its_instruction_set_has(visitor: Client, isa: ISA) -> None:
    assert 'name="avx512"' not in visitor.get(reverse("isa", args=[isa.pk])).text
    narrow, wide = "vaddps YMM:W, YMM:R, YMM:R", "vaddps ZMM:W, ZMM:R, ZMM:R"
    found = [each for text in (narrow, wide) if (each := scheme_and_form(text)) is not None]
    with_it = store_isa("wider", [scheme for scheme, _ in found], "some")
    url = reverse("isa", args=[with_it.pk])
    off = visitor.get(url)
    assert _shown(off) == [narrow]
    assert "1 more with AVX-512" in off.text
    assert "switch these on" in visitor.get(url, {"q": "-ymm"}).text
    assert _shown(visitor.get(url, {"avx512": "on"})) == [narrow, wide]
    assert _shown(visitor.get(url, {"q": "width:512"})) == [wide]


def test_a_search_that_cannot_be_read_names_the_keys_and_keeps_the_text(visitor: Client, isa: ISA) -> None:
    answer = visitor.get(reverse("isa", args=[isa.pk]), {"q": 'colour:"<b>red</b>"'})
    assert answer.status_code == 400
    assert "mnemonic:" in answer.context["error"]
    assert "&lt;b&gt;red&lt;/b&gt;" in answer.text
    assert "<b>red</b>" not in answer.text


def test_the_table_sorts_both_ways_by_its_heads(visitor: Client, isa: ISA) -> None:
    url = reverse("isa", args=[isa.pk])
    down = visitor.get(url, {"sort": "-text"})
    assert _shown(down) == [LOAD, IMUL, ADD]
    assert 'aria-sort="descending"' in down.text
    assert 'href="?sort=text"' in down.text
    assert _shown(visitor.get(url, {"sort": "no such column"})) == [ADD, IMUL, LOAD]


def test_a_long_table_is_paged_and_the_pages_together_are_the_table(
    visitor: Client, db: None, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    isa = new_isa("long", [f"op{n:04}" for n in range(PAGE_SIZE * 2 + 5)], "")
    url = reverse("isa", args=[isa.pk])
    seen: list[str] = []
    cursor = ""
    for _ in range(3):
        with django_assert_max_num_queries(12):
            answer = visitor.get(url, {"page": cursor, "sort": "-text"})
        page = answer.context["page"]
        seen += _shown(answer)
        cursor = page.next_cursor
    assert cursor is None
    assert seen == sorted(isa.schemes.values_list("text", flat=True), reverse=True)


@pytest.mark.parametrize(
    "query", ["page=%00", "page=zzz", "sort=%00", "q=%00", "q=" + "x" * 3000, "q=width:9999999"]
)
def test_a_strange_address_is_never_a_server_error(visitor: Client, isa: ISA, query: str) -> None:
    answer = visitor.get(f"{reverse('isa', args=[isa.pk])}?{query}")
    assert answer.status_code in (200, 400)


def test_a_scheme_shows_its_uops_in_mappings_and_its_measurements(
    visitor: Client,
    experiment_set: ExperimentSet,
    mapping: PortMapping,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    row = InstructionScheme.objects.get(text=ADD)
    with django_assert_max_num_queries(21):
        answer = visitor.get(reverse("scheme", args=[row.pk]))
    assert answer.status_code == 200
    assert "three ports" in answer.text
    assert '<span class="port port-2">p5</span>' in answer.text
    assert answer.context["page"].total == 2
    assert [found.stored.value.cycles for found in answer.context["experiments"]] == [0.25, 1.02]
    assert reverse("set", args=[experiment_set.pk]) in answer.text


def test_a_scheme_without_mappings_or_measurements_says_so(visitor: Client, isa: ISA) -> None:
    row = InstructionScheme.objects.get(text=LOAD)
    answer = visitor.get(reverse("scheme", args=[row.pk]))
    assert "No port mapping describes this scheme yet" in answer.text
    assert "no: reads memory" in answer.text


def test_names_from_files_are_escaped(visitor: Client, db: None) -> None:
    isa = new_isa("<script>alert(1)</script>", ['<img src=x onerror="1"> GPR:R'], "<i>")
    scheme = isa.schemes.get()
    for url in (reverse("isas"), reverse("isa", args=[isa.pk]), reverse("scheme", args=[scheme.pk])):
        page = visitor.get(url).text
        assert "<script>alert" not in page
        assert "<img" not in page


@pytest.mark.parametrize("name", ["isa", "scheme"])
def test_a_row_that_is_gone_is_a_404(visitor: Client, db: None, name: str) -> None:
    assert visitor.get(reverse(name, args=[4711])).status_code == 404


def test_a_scheme_shows_its_loads_in_resource_mappings(visitor: Client, isa: ISA) -> None:
    resources = tuple(f"R{number:02}" for number in range(20))
    wide = ResourceMapping(resources, {ADD: tuple((k, 0.5 if k < 19 else 1.0) for k in range(20)), IMUL: ()})
    made = store_resource_mapping("wide", isa, wide, origin=Row.Origin.IMPORT)
    one = visitor.get(reverse("scheme", args=[isa.schemes.get(text=ADD).pk]))
    assert reverse("resource-mapping", args=[made.pk]) in one.text
    ((each, largest, further),) = one.context["loads"]
    assert (each.cycles, largest[:2], further) == (1.0, (("R19", 1.0), ("R00", 0.5)), 8)
    assert "8 more" in one.text
    assert "no resource" in visitor.get(reverse("scheme", args=[isa.schemes.get(text=IMUL).pk])).text
    undescribed = visitor.get(reverse("scheme", args=[isa.schemes.get(text=LOAD).pk]))
    assert "resource mappings" not in undescribed.text
    (row,) = visitor.get(reverse("isas")).context["isas"]
    assert row.resource_mapping_count == 1
