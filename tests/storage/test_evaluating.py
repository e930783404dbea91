"""Evaluations: the right numbers, stored once, and the published ones come out."""

from pathlib import Path

import pytest
from django.conf import settings

from inference.core.evaluator import PortMappingModel
from inference.core.experiment import Experiment, Measured, MeasurementState, Unit
from inference.core.mapping import PortMapping as Mapping
from inference.formats.problems import ExchangeError
from inference.models import ISA, Evaluation, ExperimentSet, PortMapping, Run
from inference.storage.evaluations import compare, compare_tool, evaluate
from inference.storage.importing import commit, preview
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import store_mapping
from inference.storage.rows import load_measurements, store_measurements

SKL = Path(settings.SHARED) / "data" / "pmevo" / "SKL"

VALUE = Mapping(("0", "1"), {"add R, R": ((0b11, 1),), "mul R, R": ((0b01, 1),)})
ADD, MUL = Experiment.of(["add R, R"]), Experiment.of(["mul R, R"])
BOTH = Experiment.of({"add R, R": 2, "mul R, R": 2})
RESULTS = [
    Measured(ADD, 1.0, annotations={"tool": 1.5}),
    Measured(MUL, 1.0, annotations={"tool": 0.0}),
    Measured(BOTH, 4.0),
    Measured(Experiment.of(["nop"]), 0.25),
    Measured(ADD, 3.0, MeasurementState.UNSETTLED),
]


@pytest.fixture
def row(toy: ISA) -> PortMapping:
    return store_mapping("m", toy, VALUE, origin=PortMapping.Origin.IMPORT)


def test_a_mapping_is_compared_on_what_it_describes_and_was_settled() -> None:
    comparison = compare(PortMappingModel(VALUE), RESULTS, Unit.CYCLES)
    assert comparison.ids.tolist() == [0, 1, 2]
    assert comparison.predicted.tolist() == [0.5, 1.0, 2.0]
    assert comparison.skipped == 2
    assert comparison.scores.mape == pytest.approx(100 * (0.5 + 0 + 0.5) / 3)


def test_the_r_max_of_a_mapping_applies() -> None:
    limited = Mapping(VALUE.ports, VALUE.usage, r_max=0.8)
    assert compare(PortMappingModel(limited), RESULTS, Unit.CYCLES).predicted.tolist() == [1.25, 1.25, 5.0]


@pytest.mark.parametrize(("unit", "predicted"), [(Unit.CPI, [0.5, 1.0, 0.5]), (Unit.IPC, [2.0, 1.0, 2.0])])
def test_predictions_are_in_the_unit_that_was_asked_for(unit: Unit, predicted: list[float]) -> None:
    assert compare(PortMappingModel(VALUE), RESULTS, unit).predicted.tolist() == predicted


def test_a_tool_that_says_zero_cycles_has_no_instructions_per_cycle(empty_set: ExperimentSet) -> None:
    store_measurements(empty_set, RESULTS)
    in_cycles, in_ipc = (compare_tool(empty_set, "tool", unit) for unit in (Unit.CYCLES, Unit.IPC))
    assert (in_cycles.scores.n, in_cycles.skipped) == (2, 3)
    assert (in_ipc.scores.n, in_ipc.skipped) == (1, 4)


def test_an_evaluation_is_stored_once_and_follows_the_measurements(
    row: PortMapping, empty_set: ExperimentSet
) -> None:
    store_measurements(empty_set, RESULTS[:2])
    first = evaluate(row, empty_set)
    assert (first.n, first.skipped, first.mape) == (2, 0, pytest.approx(25))
    store_measurements(empty_set, RESULTS)
    again = evaluate(row, empty_set, "cycles")
    assert again.pk == first.pk
    assert (again.n, again.skipped) == (3, 2)
    assert sum(map(sum, again.heat_map["counts"])) == 3
    assert evaluate(row, empty_set, Unit.CPI).pk != first.pk
    assert Evaluation.objects.count() == 2


def test_an_evaluation_without_a_prediction_has_no_numbers(
    row: PortMapping, empty_set: ExperimentSet
) -> None:
    store_measurements(empty_set, RESULTS[3:])
    evaluation = evaluate(row, empty_set)
    assert (evaluation.n, evaluation.skipped, evaluation.mape, evaluation.kendall) == (0, 2, None, None)


def test_held_out_measurements_belong_to_the_run_of_the_mapping(row: PortMapping) -> None:
    with pytest.raises(ExchangeError, match="was not made by a run"):
        evaluate(row, RESULTS)
    row.run = Run.objects.create(name="r", kind="infer", state=Run.State.DONE)
    row.save()
    first = evaluate(row, RESULTS)
    assert (first.held_out_by, first.experiment_set, first.n) == (row.run, None, 3)
    assert evaluate(row, RESULTS).pk == first.pk


def test_a_mapping_is_not_evaluated_on_another_instruction_set(row: PortMapping) -> None:
    other = ExperimentSet.objects.create(name="s", isa=new_isa("other", ["nop"], ""), origin="upload")
    with pytest.raises(ExchangeError, match="'m' is for toy, the experiments 's' are for other"):
        evaluate(row, other)


def imported(path: Path) -> ExperimentSet | PortMapping:
    seen = preview(path.read_bytes(), path.name)
    return commit(seen, seen.name).row


@pytest.mark.shared
def test_published_mappings_and_tools_score_as_published(default_x86: ISA) -> None:
    measured = imported(SKL / "exps_eval_small_annotated.json")
    for name, mape, pearson, kendall in (
        ("mapping_uops_info.json", 9.55, 0.913, 0.793),
        ("mapping_pmevo.json", 14.67, 0.978, 0.757),
    ):
        evaluation = evaluate(imported(SKL / name), measured)
        assert (evaluation.n, evaluation.skipped) == (2000, 0)
        assert evaluation.mape == pytest.approx(mape, abs=0.005)
        assert evaluation.pearson == pytest.approx(pearson, abs=0.0005)
        assert evaluation.kendall == pytest.approx(kendall, abs=0.0005)
    for tool, mape in (("IACA", 7.91), ("Ithemal", 62.06), ("llvm-mca", 223.53)):  # as the file has it
        assert compare_tool(measured, tool, Unit.CYCLES).scores.mape == pytest.approx(mape, abs=0.005)


@pytest.mark.shared
def test_the_published_measurements_are_imported_without_a_loss(default_x86: ISA) -> None:
    for length, rows in ((1, 310), (2, 2000), (3, 2000), (4, 2000)):
        stored = load_measurements(imported(SKL / "varying_length" / f"len_0{length}.json"))
        assert len(stored) == rows
        assert {result.experiment.length for result in stored} == {length}
        assert all(set(result.annotations) == {"iaca", "uops.info"} for result in stored)
