"""Core models, mappings and machines as sources, for blocks and for experiments."""

from __future__ import annotations

import numpy as np
import pytest

from inference.core.experiment import Experiment, Measured
from inference.features.judging.engine.query import ComparisonPart, columns_of, comparison_rows, scores_of
from inference.models import ISA, BasicBlockSet, ExperimentSet, Machine, PortMapping, Run, StoredCoreModel
from inference.runs import lifecycle
from inference.storage.answer_sheets import read_sheet
from inference.storage.rows import store_measurements
from tests.features.accuracy_checks.conftest import (
    INSTRUCTIONS,
    block_set,
    isa,
    machine,
    wrong_mapping,
)
from tests.rows.programs import Program, program
from tests.work import work_off

__all__ = ["block_set", "isa", "machine", "program", "wrong_mapping"]

pytestmark = pytest.mark.django_db(transaction=True)  # predictors are asked in threads

ADD, _, POPCNT, LOAD, _ = INSTRUCTIONS


@pytest.fixture
def core_model(machine: Machine, wrong_mapping: PortMapping) -> StoredCoreModel:
    return StoredCoreModel.objects.create(name="lab", isa=machine.isa, machine=machine, mapping=wrong_mapping)


def judge(config: dict[str, object]) -> Run:
    run = work_off(lifecycle.submit("judge", config, "judged"))
    assert run.state == "done", run.error
    return run


def test_a_machine_judges_a_core_model_and_its_mapping_on_blocks(
    core_model: StoredCoreModel, wrong_mapping: PortMapping, block_set: BasicBlockSet, program: Program
) -> None:
    sources = [f"core-model:{core_model.pk}", f"mapping:{wrong_mapping.pk}"]
    config = {"block_set": block_set.pk, "sources": sources, "against": "machine:lab", "most": 60}
    run = judge(config)
    row = comparison_rows().get(run=run)
    assert "lab" in row.reference
    own, mapped = columns_of(row)
    assert (own.kind, own.predictor.kind, mapped.predictor.kind) == ("predictor", "core-model", "mapping")
    assert scores_of(own, ComparisonPart()).n > 40
    sheet = read_sheet(row.pk)
    assert sheet.items.bounds is not None
    assert set(sheet.items.bounds.names) >= {"ports"}
    assert sheet.items.weights is not None
    told = program.get(f"/comparisons/{run.pk}?view=bounds")
    bounds = {name: n for name, n, *_ in told["tables"][0]["rows"]}
    assert sum(bounds.values()) <= scores_of(own, ComparisonPart()).n
    part = program.get(f"/comparisons/{run.pk}?view=worst&bound=ports")
    assert part["selected"] == (sheet.items.bounds.number == sheet.items.bounds.names.index("ports")).sum()


def test_a_core_model_answers_for_experiments_as_its_ports_do(
    core_model: StoredCoreModel, wrong_mapping: PortMapping, isa: ISA
) -> None:
    judged = ExperimentSet.objects.create(name="mixes", isa=isa, origin=ExperimentSet.Origin.UPLOAD)
    mixes = [{ADD: 2}, {POPCNT: 3, ADD: 1}, {LOAD: 1}]
    store_measurements(judged, [Measured(Experiment.of(mix), 1.0) for mix in mixes])
    sources = [f"core-model:{core_model.pk}", f"mapping:{wrong_mapping.pk}"]
    run = judge({"experiment_set": judged.pk, "sources": sources})
    modelled, mapped = (column.cycles for column in read_sheet(run.comparison.pk).columns)
    np.testing.assert_allclose(mapped, [1.0, 4 / 3, 1.0])
    assert (modelled >= mapped - 1e-9).all()  # it has other bounds beside the ports
