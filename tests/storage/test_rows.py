"""Rows and values: what is stored comes back the same, and storing again changes nothing."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.mapping import PortMapping as Mapping
from inference.models import ISA, ExperimentSet, ExperimentTerm, PortMapping
from inference.models import Experiment as ExperimentRow
from inference.storage.errors import MissingSchemesError, NameInUseError
from inference.storage.mappings import load_mapping, store_mapping
from inference.storage.rows import load_measurements, measurements_of, store_experiments, store_measurements

ADD = Experiment.of({"add R, R": 1})
MIX = Experiment.of({"add R, R": 2, "mul R, R": 1})
RESULTS = [
    Measured(MIX, 1.5, spread=0.25, passes=3, note="first", annotations={"IACA": 1.0}),
    Measured(ADD, 0.25),
    Measured(ADD, 0.26),
    Measured(MIX, None, MeasurementState.FAILED, note="illegal instruction"),
    Measured(Experiment.of({"mul R, R": 1}), 1.1, MeasurementState.UNSETTLED),
]


def test_measurements_come_back_as_they_were_and_in_their_order(empty_set: ExperimentSet) -> None:
    assert store_measurements(empty_set, RESULTS) == len(RESULTS)
    assert load_measurements(empty_set) == RESULTS


def test_storing_the_same_results_again_stores_nothing(empty_set: ExperimentSet) -> None:
    store_measurements(empty_set, RESULTS[:3])
    assert store_measurements(empty_set, RESULTS) == 2
    assert store_measurements(empty_set, RESULTS) == 0
    assert load_measurements(empty_set) == RESULTS


def test_an_experiment_is_one_row_whoever_measured_it(empty_set: ExperimentSet, toy: ISA) -> None:
    other = ExperimentSet.objects.create(name="other", isa=toy, origin=ExperimentSet.Origin.UPLOAD)
    store_measurements(empty_set, RESULTS)
    store_measurements(other, RESULTS)
    assert ExperimentRow.objects.count() == 3
    assert ExperimentTerm.objects.count() == 4
    assert ExperimentRow.objects.get(pk=store_experiments(toy, [MIX])[MIX]).length == 3


def test_an_unknown_scheme_is_named_and_nothing_is_stored(empty_set: ExperimentSet) -> None:
    unknown = Measured(Experiment.of(["div R"]), 20.0)
    with pytest.raises(MissingSchemesError, match="not in the instruction set toy: div R"):
        store_measurements(empty_set, [*RESULTS, unknown])
    assert not empty_set.measurements.exists()
    assert not ExperimentRow.objects.exists()


def test_thousands_of_measurements_take_few_statements(empty_set: ExperimentSet) -> None:
    many = [
        Measured(Experiment.of({"add R, R": first, "mul R, R": second}), float(first))
        for first in range(1, 51)
        for second in range(1, 41)
    ]
    with CaptureQueriesContext(connection) as storing:
        store_measurements(empty_set, many)
    with CaptureQueriesContext(connection) as loading:
        assert load_measurements(empty_set) == many
    assert len(storing) < 60  # SQLite takes 999 values per statement
    assert len(loading) == 2


def test_values_keep_the_ids_of_their_rows(empty_set: ExperimentSet) -> None:
    store_measurements(empty_set, RESULTS)
    rows = empty_set.measurements.order_by("-id")
    assert [stored.id for stored in measurements_of(rows)] == list(rows.values_list("id", flat=True))
    assert [stored.value for stored in measurements_of(rows)] == RESULTS[::-1]


VALUE = Mapping(("p0", "p1"), {"add R, R": ((0b11, 1),), "mul R, R": ((0b01, 2), (0b11, 1)), "nop": ()}, 4.0)


def test_a_mapping_comes_back_as_it_was(toy: ISA) -> None:
    row = store_mapping("m", toy, VALUE, origin=PortMapping.Origin.IMPORT, report={"seed": 1})
    assert load_mapping(row) == VALUE
    assert PortMapping.objects.get(name="m").report == {"seed": 1}


def test_a_mapping_cannot_take_a_name_in_use(toy: ISA) -> None:
    store_mapping("m", toy, VALUE, origin=PortMapping.Origin.IMPORT)
    with pytest.raises(NameInUseError, match=r"choose another name, e\.g\. 'm \(2\)'"):
        store_mapping("m", toy, VALUE, origin=PortMapping.Origin.IMPORT)


def test_a_mapping_of_unknown_schemes_is_not_stored(toy: ISA) -> None:
    with pytest.raises(MissingSchemesError, match="div R"):
        store_mapping("m", toy, Mapping(("0",), {"div R": ()}), origin=PortMapping.Origin.IMPORT)
    assert not PortMapping.objects.exists()
