"""What loops take by their size alone is read from the measurements of a run."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping as Mapping
from inference.features.learning.inferring import job
from inference.features.learning.inferring.job import loop_code_of_run
from inference.features.learning.inferring.request import RecordedSource
from inference.features.learning.inferring.subject import JUDGING_MIXES
from inference.isa.machine_bodies import Options
from inference.isa.x86.scheme_set import scheme_and_form
from inference.models import ISA, ExperimentSet, Machine, Run
from inference.storage.instruction_sets import store_isa
from inference.storage.rows import store_measurements

SCHEMES = [f"{mnemonic} GPR[64]:RW, GPR[64]:R" for mnemonic in ("add", "sub", "and")]
NOP = "nop"
MASKS = (0b111111, 0b011111, 0b111110)
TRUTH = Mapping(
    tuple("012345"),
    {scheme: ((mask, 1),) for scheme, mask in zip(SCHEMES, MASKS, strict=True)},
    r_max=8.0,
)
PAIRS = [Experiment.of([first, second]) for first in SCHEMES for second in SCHEMES if first < second]
LOG: list[str] = []
STAGES = SimpleNamespace(pulse=lambda: None, log=LOG.append)
HELD_UP = {(100, 300): 18.0}
"""Of pairs of 3 bytes each: ports allow 16.7."""


@pytest.fixture
def isa(db: None) -> ISA:
    found = [scheme_and_form(text) for text in (*SCHEMES, NOP)]
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
    config = SimpleNamespace(isa="x86-64", source=RecordedSource(datasets=[row.pk]))
    run = Run.objects.create(name=f"of {row.name}", kind="infer", state="queued", config={})
    return dict(loop_code_of_run(run, config, TRUTH, run.created, STAGES))


@pytest.mark.parametrize(("kind", "found"), [(Machine.Kind.AGENT, HELD_UP), (Machine.Kind.SIMULATED, {})])
def test_real_code_tells_and_simulated_does_not(isa: ISA, kind: Machine.Kind, found: dict) -> None:
    assert of_run(measured(isa, Machine.objects.create(name="lab", isa=isa, kind=kind))) == found


def test_what_a_mapping_is_judged_by_tells_nothing(isa: ISA) -> None:
    assert of_run(measured(isa, None)) == HELD_UP
    assert of_run(measured(isa, None, JUDGING_MIXES)) == {}


def test_a_long_look_at_it_shows_in_the_log(isa: ISA, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "_LOG_INTERVAL", 0.0)
    LOG.clear()
    of_run(measured(isa, None))
    assert LOG[-1] == "sizes of loops: 4 experiments assembled"


def test_sizes_are_those_of_the_bodies_that_were_measured(isa: ISA, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a machine's short instructions are lengthened, to four bytes, so are those that are sized."""
    lab = Machine.objects.create(name="lab", isa=isa, kind=Machine.Kind.AGENT)
    row = measured(isa, lab)
    row.measurements.filter(experiment__terms__scheme__text=NOP).delete()  # as long then, and quicker
    monkeypatch.setattr(job, "options_for", lambda machine, before: Options(least_bytes=4))
    assert of_run(row) == {(100, 400): 18.0}
