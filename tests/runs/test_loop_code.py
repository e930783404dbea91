"""What loops take by their size alone: read from a run's measurements and kept with its mapping."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping as Mapping
from inference.core.pmevo import PMEvoSettings
from inference.features.inferring import job
from inference.features.inferring.loop_code import loop_code_of_run
from inference.features.inferring.subject import JUDGING
from inference.isa.x86.scheme_set import described
from inference.models import ISA, ExperimentSet, Machine, PortMapping, Run, StoredCoreModel
from inference.runs import lifecycle
from inference.storage.core_models import core_model_of_parts
from inference.storage.instruction_sets import store_isa
from inference.storage.rows import store_measurements
from tests.work import work_off

SCHEMES = [f"{mnemonic} GPR[64]:RW, GPR[64]:R" for mnemonic in ("add", "sub", "and")]
NOP = "nop"
MASKS = (0b111111, 0b011111, 0b111110)
TRUTH = Mapping(
    tuple("012345"),
    {scheme: ((mask, 1),) for scheme, mask in zip(SCHEMES, MASKS, strict=True)},
    r_max=8.0,
)
PAIRS = [Experiment.of([first, second]) for first in SCHEMES for second in SCHEMES if first < second]
HELD_UP = {(100, 300): 18.0}
"""Of pairs of 3 bytes each: ports allow 16.7."""


@pytest.fixture
def isa(db: None) -> ISA:
    found = [described(text) for text in (*SCHEMES, NOP)]
    return store_isa("x86-64", [each[0] for each in found if each is not None], "a test")


def measured(isa: ISA, machine: Machine | None, source: str = "measurements") -> ExperimentSet:
    row = ExperimentSet.objects.create(
        name=f"pairs {source}", isa=isa, machine=machine, origin=ExperimentSet.Origin.UPLOAD, source=source
    )
    store_measurements(
        row, [Measured(Experiment.of([NOP]), 0.125), *(Measured(pair, 0.3601) for pair in PAIRS)]
    )
    return row


def of_run(row: ExperimentSet) -> dict[tuple[int, int], float]:
    config = SimpleNamespace(isa="x86-64", source={"datasets": [row.pk]})
    run = Run.objects.create(name=f"of {row.name}", kind="infer", state="queued", config={})
    return dict(loop_code_of_run(run, config, TRUTH, lambda: None))


@pytest.mark.parametrize(("kind", "found"), [(Machine.Kind.AGENT, HELD_UP), (Machine.Kind.SIMULATED, {})])
def test_real_code_tells_and_simulated_does_not(isa: ISA, kind: Machine.Kind, found: dict) -> None:
    assert of_run(measured(isa, Machine.objects.create(name="lab", isa=isa, kind=kind))) == found


def test_what_a_mapping_is_judged_by_tells_nothing(isa: ISA) -> None:
    assert of_run(measured(isa, None)) == HELD_UP
    assert of_run(measured(isa, None, JUDGING)) == {}


def test_it_is_kept_with_the_mapping_of_a_run_and_is_part_of_core_models(
    isa: ISA, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "loop_code_of_run", lambda run, config, mapping, pulse: HELD_UP)
    settings = {"search": "evolution", "population": 20, "max_generations": 2, "threads": 1}
    assert settings.keys() <= PMEvoSettings.__dataclass_fields__.keys()
    config = {"source": {"datasets": [measured(isa, None).pk]}, "isa": isa.name, "settings": settings}
    run = work_off(lifecycle.submit("infer", {**config, "ports": 3}, "a run"))
    assert run.state == Run.State.DONE, run.error
    row = PortMapping.objects.get(run=run)
    model = core_model_of_parts(StoredCoreModel(name="core", isa=isa, mapping=row))
    assert model.loop_code == HELD_UP
