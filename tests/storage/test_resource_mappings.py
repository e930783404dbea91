"""Resource mappings in the database, conversions, and what predicts for a row."""

from __future__ import annotations

import pytest

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping as Mapping
from inference.core.resources import Conversion, ResourceMapping, TooManyResourcesError
from inference.core.tables import ExperimentTable
from inference.models import ISA, PortMapping, ResourceLoad
from inference.models import ResourceMapping as ResourceMappingRow
from inference.storage.errors import MissingSchemesError, NameInUseError
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import (
    convert,
    load_model,
    load_resource_mapping,
    store_mapping,
    store_resource_mapping,
)

VALUE = ResourceMapping(("R1", "R2"), {"add R, R": ((1, 0.3),), "mul R, R": ((0, 2.0), (1, 0.1)), "nop": ()})
IMPORT = ResourceMappingRow.Origin.IMPORT


@pytest.fixture
def port_mapping(toy: ISA) -> PortMapping:
    usage = {"add R, R": ((3, 1),), "mul R, R": ((1, 2),), "nop": ()}
    return store_mapping("ports", toy, Mapping(("a", "b"), usage, 4.0), origin=PortMapping.Origin.IMPORT)


def test_a_stored_resource_mapping_is_loaded_as_it_was(toy: ISA) -> None:
    row = store_resource_mapping("zen", toy, VALUE, origin=IMPORT, report={"a": 1})
    assert load_resource_mapping(row) == VALUE
    assert (row.report, row.loads.count()) == ({"a": 1}, 4)


def test_what_cannot_be_stored_leaves_nothing_behind(toy: ISA) -> None:
    with pytest.raises(MissingSchemesError, match="frob"):
        store_resource_mapping("zen", toy, ResourceMapping((), {"frob": ()}), origin=IMPORT)
    store_resource_mapping("zen", toy, VALUE, origin=IMPORT)
    with pytest.raises(NameInUseError, match=r"another resource mapping is named 'zen'.*'zen \(2\)'"):
        store_resource_mapping("zen", toy, VALUE, origin=IMPORT)
    assert ResourceMappingRow.objects.count() == 1
    assert ResourceLoad.objects.count() == 4


def test_a_conversion_is_stored_with_where_it_is_from(port_mapping: PortMapping) -> None:
    made = convert(port_mapping, "as resources", note="n")
    assert (made.converted_from, made.origin, made.source) == (
        port_mapping,
        "conversion",
        "port mapping ports",
    )
    assert (made.note, made.report) == ("n", {"max_resources": 1024})
    assert load_resource_mapping(made) == ResourceMapping(
        ("[a]", "[a,b]", "R_max"),
        {"add R, R": ((1, 0.5), (2, 0.25)), "mul R, R": ((0, 2.0), (1, 1.0), (2, 0.25)), "nop": ((2, 0.25),)},
    )


def test_a_conversion_beyond_its_limit_stores_nothing(port_mapping: PortMapping) -> None:
    with pytest.raises(TooManyResourcesError, match="needs 3 resources"):
        convert(port_mapping, "as resources", Conversion(max_resources=2))
    assert not ResourceMappingRow.objects.exists()


def test_rows_of_both_kinds_have_a_predictor(port_mapping: PortMapping) -> None:
    table = ExperimentTable.from_experiments(
        [Experiment.of({"add R, R": 3, "mul R, R": 1}), Experiment.of({"nop": 8})]
    )
    for row in (port_mapping, convert(port_mapping, "as resources")):
        predictor = load_model(row)
        assert set(predictor.described) == {"add R, R", "mul R, R", "nop"}
        assert predictor.cycles(table).tolist() == [2.5, 2.0]


def test_a_scheme_with_loads_outlives_its_source(toy: ISA) -> None:
    store_resource_mapping("zen", toy, VALUE, origin=IMPORT)
    store_isa("toy", [], "nothing left")
    assert toy.schemes.exclude(exclusion="").count() == 3
