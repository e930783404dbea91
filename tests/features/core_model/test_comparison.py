"""The page and the API operation of two core models side by side."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from inference.core.mapping import PortMapping as Value
from inference.isa.x86.scheme_set import schemes_of
from inference.models import ISA, PortMapping, StoredCoreModel
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import store_mapping

ADD = "add GPR[64]:RW, GPR[64]:R"


@pytest.fixture
def cores(db: None) -> tuple[StoredCoreModel, StoredCoreModel]:
    """One with three ALUs, one with two."""
    isa = store_isa("x86-64", list(schemes_of("add")), "some")
    return _core(isa, "wide", 3), _core(isa, "narrow", 2)


def _core(isa: ISA, name: str, alus: int) -> StoredCoreModel:
    value = Value(tuple(map(str, range(alus))), {ADD: ((2**alus - 1, 1),)}, r_max=4.0)
    row = store_mapping(name, isa, value, origin=PortMapping.Origin.IMPORT)
    return StoredCoreModel.objects.create(name=name, isa=isa, mapping=row)


def test_differences_come_first(visitor: Client, cores: tuple[StoredCoreModel, StoredCoreModel]):
    wide, narrow = cores
    address = reverse("core-model-compare", args=[wide.pk])
    page = visitor.get(address)
    names = [name for name, _ in page.context["choices"]]
    assert names[0] == "narrow"
    assert "Recorded Zen 4" in names
    assert page.context["comparison"] is None
    comparison = visitor.get(address, {"with": narrow.name}).context["comparison"]
    assert (
        comparison.summary
        == "wide against narrow: ALU ports 3 against 2, ALU quickest alone 0.333 against 0.5"
    )
    assert [number.aspect for number in comparison.differing] == ["ports", "quickest alone"]


def test_kinds_are_compared_over_the_schemes_that_both_describe(
    visitor: Client, cores: tuple[StoredCoreModel, StoredCoreModel]
):
    wide, _ = cores
    usage = {ADD: ((0b111, 1),), "add GPR[32]:RW, GPR[32]:R": ((0b001, 1),)}
    value = Value(("0", "1", "2"), usage, r_max=4.0)
    other = store_mapping("more", wide.isa, value, origin=PortMapping.Origin.IMPORT)
    more = StoredCoreModel.objects.create(name="more", isa=wide.isa, mapping=other)
    address = reverse("core-model-compare", args=[wide.pk])
    comparison = visitor.get(address, {"with": more.name}).context["comparison"]
    assert comparison.schemes == 1
    assert comparison.differing == []


def test_the_recorded_core_is_one_of_them(visitor: Client, cores: tuple[StoredCoreModel, StoredCoreModel]):
    address = reverse("core-model-compare", args=[cores[0].pk])
    page = visitor.get(address, {"with": "Recorded Zen 4"})
    assert page.status_code == 200
    assert "not measured" in page.text


def test_an_unknown_core_is_refused(visitor: Client, cores: tuple[StoredCoreModel, StoredCoreModel]):
    wide = cores[0]
    assert visitor.get(reverse("core-model-compare", args=[wide.pk]), {"with": "wide"}).status_code == 404
    answer = visitor.get(f"/api/v1/core-models/{wide.pk}/differences", {"other": "Zen 17"})
    assert answer.status_code == 404
    assert "narrow" in answer.text
