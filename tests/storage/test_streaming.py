"""Measurements as arrays are those that the rows hold, in whatever chunks they are read."""

import numpy as np
import pytest

from inference.core.errors import InvalidInputError
from inference.core.evaluator import PortMappingModel, described_experiments, predicted_cycles
from inference.core.experiment import Experiment, Measured, MeasurementState, Unit
from inference.core.mapping import PortMapping as Mapping
from inference.core.metrics import score
from inference.models import ISA, ExperimentSet
from inference.storage.evaluations import compare, compare_chunks, compare_tool
from inference.storage.recorded import held_out_rows, recorded_shares
from inference.storage.rows import load_measurements, scheme_texts, store_measurements
from inference.storage.streaming import set_chunks, table_of_keys

ADD, MUL, NOP = "add R, R", "mul R, R", "nop"
VALUE = Mapping(("0", "1"), {ADD: ((0b11, 1),), MUL: ((0b01, 1),)}, r_max=3.0)


def many() -> list[Measured]:
    """Mixes of all kinds: repeats, other states, schemes that `VALUE` lacks, answers of two tools."""
    rng = np.random.default_rng(7)
    found = []
    for k in range(200):
        counts = rng.integers(0, 12, size=3) * (rng.random(3) < 0.6)
        counts[k % 3] += 1
        experiment = Experiment.of(
            {
                s: int(n)
                for s, n in zip((ADD, MUL, NOP), counts, strict=True)
                if n and (s != NOP or k % 5 == 0)
            }
            or {ADD: 1}
        )
        state = MeasurementState.SETTLED if k % 7 else MeasurementState.UNSETTLED
        answers = {"a": float(k)} if k % 2 else {"b": 1.5 + k, "a": 2.0} if k % 3 == 0 else {}
        found.append(Measured(experiment, float(rng.uniform(0.25, 9)), state, annotations=answers))
    found.append(Measured(Experiment.of([ADD]), None, MeasurementState.FAILED, note="crash"))
    return found


@pytest.fixture
def filled(empty_set: ExperimentSet) -> ExperimentSet:
    store_measurements(empty_set, many())
    return empty_set


@pytest.mark.parametrize("size", [1, 7, 200, 10_000])
def test_chunks_hold_the_usable_measurements_in_their_order(filled: ExperimentSet, size: int) -> None:
    usable = [result for result in load_measurements(filled) if result.usable]
    chunks = list(set_chunks(filled, answers=True, size=size))
    assert sum(chunk.read for chunk in chunks) == 201
    assert max(chunk.read for chunk in chunks) <= size
    assert [c for chunk in chunks for c in chunk.cycles.tolist()] == [result.cycles for result in usable]
    found = [experiment for chunk in chunks for experiment in experiments_of(chunk.table)]
    assert found == [result.experiment for result in usable]
    for tool in ("a", "b"):
        answers = [
            value
            for chunk in chunks
            for value in chunk.answers.get(tool, np.full(len(chunk.ids), np.nan)).tolist()
        ]
        assert answers == pytest.approx(
            [result.annotations.get(tool, np.nan) for result in usable], nan_ok=True
        )
    ids = [pk for chunk in chunks for pk in chunk.ids.tolist()]
    rows = filled.measurements.filter(state="settled").order_by("id")
    assert ids == list(rows.values_list("id", flat=True))


def experiments_of(table) -> list[Experiment]:
    return [
        Experiment.of(
            {table.schemes[table.scheme[t]]: int(table.count[t]) for t in range(*table.offsets[e : e + 2])}
        )
        for e in range(len(table))
    ]


@pytest.mark.parametrize("unit", list(Unit))
@pytest.mark.parametrize("size", [1, 13, 10_000])
def test_a_set_compares_as_the_list_of_its_measurements(filled: ExperimentSet, unit: Unit, size: int) -> None:
    predictor = PortMappingModel(VALUE)
    whole = compare(predictor, load_measurements(filled), unit)
    streamed = compare_chunks(predictor, set_chunks(filled, size=size), unit)
    assert streamed.measured.tolist() == whole.measured.tolist()
    assert streamed.predicted.tolist() == whole.predicted.tolist()
    assert (streamed.skipped, streamed.scores, streamed.heat_map) == (
        whole.skipped,
        whole.scores,
        whole.heat_map,
    )
    ids = list(filled.measurements.order_by("id").values_list("id", flat=True))
    assert streamed.ids.tolist() == [ids[k] for k in whole.ids]


def test_tools_are_scored_as_they_stream_by(filled: ExperimentSet) -> None:
    results = load_measurements(filled)
    for tool in ("a", "b"):
        answers = [one for one in results if one.usable and one.annotations.get(tool) is not None]
        lengths = np.array([one.experiment.length for one in answers])
        measured = np.array([one.cycles for one in answers]) / lengths
        expected = score(measured, np.array([one.annotations[tool] for one in answers]) / lengths)
        assert compare_tool(filled, tool, Unit.CPI).scores == expected


def test_a_set_is_read_in_a_few_queries_and_not_at_once(
    filled: ExperimentSet, django_assert_num_queries: object
) -> None:
    with django_assert_num_queries(2):
        assert next(iter(set_chunks(filled, size=5))).read == 5


def test_keys_are_read_as_they_are_written(toy: ISA) -> None:
    texts = {3: "x", 17: "y", 2**40: "z"}
    table = table_of_keys(["3:1", f"3:2,17:30,{2**40}:1", "17:2147483647"], texts)
    assert experiments_of(table) == [
        Experiment.of(["x"]),
        Experiment.of({"x": 2, "y": 30, "z": 1}),
        Experiment.of({"y": 2147483647}),
    ]
    assert table.lengths.tolist() == [1, 33, 2147483647]
    assert len(table_of_keys([], scheme_texts(toy))) == 0


def test_a_multiplicity_that_no_table_can_hold_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="at most 2147483647"):
        table_of_keys(["3:2147483648"], {3: "x"})


def test_what_a_predictor_does_not_know_is_left_out_not_refused() -> None:
    table = table_of_keys(["1:1", "1:1,2:1", "2:3", "3:1"], {1: ADD, 2: NOP, 3: MUL})
    cycles = predicted_cycles(PortMappingModel(VALUE), table)
    assert cycles.tolist() == pytest.approx([0.5, np.nan, np.nan, 1.0], nan_ok=True)
    assert described_experiments({NOP}, table).tolist() == [False, False, True, False]
    assert predicted_cycles(PortMappingModel(VALUE), table_of_keys([], {})).tolist() == []


@pytest.mark.parametrize("selection", ["all", "without nop"])
@pytest.mark.parametrize("seed", [1, 2])
def test_rows_held_out_are_those_that_an_inference_run_holds_out(
    filled: ExperimentSet, selection: str, seed: int
) -> None:
    other = ExperimentSet.objects.create(name="other", isa=filled.isa, origin="upload")
    store_measurements(other, many()[50:120])
    chosen = list(filled.isa.schemes.exclude(text=NOP).values_list("pk", flat=True))
    wanted = "all" if selection == "all" else chosen
    shares = recorded_shares([other, filled], wanted, 0.3, seed)
    rows = held_out_rows([other, filled], wanted, 0.3, seed)
    assert rows.tolist() == [row.id for row in shares.held_out]
    assert len(rows) > 10
    assert held_out_rows([], "all", 0.3, seed).tolist() == []
