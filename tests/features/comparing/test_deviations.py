"""The published models of Zen+ beside each other."""

from __future__ import annotations

import time

import pytest
from django.conf import settings

from inference.core.deviation import Sampling
from inference.core.mapping import PortMapping as Mapping
from inference.core.resources import ResourceMapping as Resources
from inference.features.judging.comparing.query import compared_schemes, described_loads, deviation_of
from inference.formats.import_formats import name_list_of
from inference.formats.problems import ExchangeError
from inference.isa.targets import X86
from inference.models import PortMapping, ResourceMapping
from inference.storage.importing import commit, preview
from inference.storage.instruction_sets import load_supplied, new_isa
from inference.storage.mappings import store_mapping, store_resource_mapping

ZEN = settings.SHARED / "data" / "zenplus"


def test_models_of_different_instruction_sets_are_not_compared(db: None) -> None:
    here, there = (new_isa(name, ["a"], "by hand") for name in ("here", "there"))
    row = store_mapping("m", here, Mapping(("0",), {"a": ((1, 1),)}), origin=PortMapping.Origin.IMPORT)
    resources = store_resource_mapping(
        "r", there, Resources(("R",), {"a": ((0, 1.0),)}), origin=ResourceMapping.Origin.IMPORT
    )
    for compare in (
        lambda: deviation_of(row, resources, Sampling()),
        lambda: compared_schemes(row, resources),
    ):
        with pytest.raises(ExchangeError, match="'m' describes here, 'r' describes there"):
            compare()


def test_a_scheme_that_uses_no_resource_says_so(db: None) -> None:
    isa = new_isa("toy", ["a", "b"], "by hand")
    row = store_resource_mapping(
        "r", isa, Resources(("R",), {"a": ((0, 0.25),), "b": ()}), origin=ResourceMapping.Origin.IMPORT
    )
    assert described_loads(row, ["a", "b", "c"]) == {"a": "R: 0.25", "b": "no resources"}


@pytest.mark.shared
def test_the_published_models_deviate_as_they_did(db: None) -> None:
    load_supplied(X86)
    names = (ZEN / "palmed" / "fixed_palmed_insn_map.json").read_bytes()
    explained = _made("explainable/results/port_mapping.json")
    pmevo = _made("pmevo/inferred_mapping.json")
    palmed = _made("palmed/palmed_zen_extracted_2021-11-25.json", names=name_list_of(names, "names.json"))
    asked = Sampling(r_max=5.0)
    found = {
        (explained, pmevo): (577, 21.6, 15.9, 0.747),
        (explained, palmed): (1192, 37.8, 69.9, 0.665),
        (pmevo, palmed): (609, 44.0, 94.8, 0.710),
    }
    for (first, second), (common, mape, backwards, kendall) in found.items():
        began = time.process_time()
        deviation = deviation_of(first, second, asked)
        assert time.process_time() - began < 10  # a fraction of a second, as a rule
        assert (deviation.common, deviation.scores.n, deviation.skipped) == (common, 5000, 0)
        assert deviation.scores.mape == pytest.approx(mape, abs=0.06)
        assert deviation.backwards.mape == pytest.approx(backwards, abs=0.06)
        assert deviation.scores.kendall == pytest.approx(kendall, abs=0.001)


def _made(path: str, **options: object) -> PortMapping | ResourceMapping:
    file = ZEN / path
    seen = preview(file.read_bytes(), file.name, **options)
    return commit(seen, file.parent.parent.name + file.stem).row
