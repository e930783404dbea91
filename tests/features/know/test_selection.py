"""The one mapping of a run over a core: parts are compared on held-out mixes, and none makes it worse."""

from __future__ import annotations

import pytest

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping as Mapping
from inference.core.sampling import random_mixes
from inference.core.throughput import inverse_throughput
from inference.features.learning.inferring.subject import JUDGING_MIXES
from inference.features.learning.know.selecting import EARLIER, TOGETHER, CoreParts, choose_mapping
from inference.models import (
    ISA,
    Characterisation,
    ExperimentSet,
    InstructionScheme,
    Machine,
    PortMapping,
    Run,
    StoredCoreModel,
)
from inference.storage.core_models import LOOP_CODE, loop_code_in, loop_code_rows, store_run_core_model
from inference.storage.judging import grounds_of
from inference.storage.mappings import load_mapping, store_mapping
from inference.storage.rows import store_measurements

ADD, IMUL, LOAD = "add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R", "mov GPR[64]:W, MEM[64]:R"
PORTS = ("0", "1", "2")
TRUTH = Mapping(PORTS, {ADD: ((3, 1),), IMUL: ((1, 1),), LOAD: ((4, 1),)})
PHANTOM = Mapping(PORTS, {ADD: ((3, 1),), IMUL: ((1, 3),), LOAD: ((4, 1),)})
"""What waste makes of `imul`: three µops."""
FEW = Mapping(PORTS, {ADD: ((3, 1),), IMUL: ((1, 1),)})


@pytest.fixture
def isa(db: None) -> ISA:
    from inference.isa.x86.scheme_set import scheme_and_form
    from inference.storage.instruction_sets import store_isa

    found = [scheme_and_form(text) for text in TRUTH.usage]
    return store_isa("x86-64", [each[0] for each in found if each is not None], "a test")


@pytest.fixture
def machine(isa: ISA) -> Machine:
    return Machine.objects.create(name="lab", isa=isa, kind=Machine.Kind.AGENT)


@pytest.fixture
def whole(machine: Machine) -> Run:
    return Run.objects.create(name="core", kind="know", state="queued", config={"machine": machine.pk})


def part(whole: Run, machine: Machine, label: str, value: Mapping, source: str) -> tuple[str, Run]:
    """A part that has ended with a mapping; its mixes are of what the mapping describes."""
    run = Run.objects.create(name=f"core: {label}", kind="infer", state="done", config={}, part_of=whole)
    row = store_mapping(
        f"core: {label}",
        machine.isa,
        value,
        origin=PortMapping.Origin.RUN,
        source=source,
        machine=machine,
        run=run,
    )
    measured(run, machine, random_mixes(sorted(value.usage), 30, 1), JUDGING_MIXES)
    if source == "Explainable inference":
        for scheme in InstructionScheme.objects.filter(text__in=value.usage):
            Characterisation.objects.create(
                mapping=row, scheme=scheme, outcome="characterised", stage="characterise"
            )
    return label, run


def measured(run: Run, machine: Machine, mixes: list[Experiment], source: str) -> ExperimentSet:
    made = ExperimentSet.objects.create(
        name=f"{run.name} {source}", isa=machine.isa, machine=machine, run=run, origin="run", source=source
    )
    store_measurements(made, [Measured(mix, inverse_throughput(TRUTH, mix)) for mix in mixes])
    return made


def test_the_part_that_predicts_better_is_taken(whole: Run, machine: Machine) -> None:
    parts = [
        part(whole, machine, "ports", TRUTH, "PMEvo"),
        part(whole, machine, "explained", PHANTOM, "Explainable inference"),
    ]
    chosen = choose_mapping(whole, machine, parts)
    assert chosen.make() == PortMapping.objects.get(name="core: ports")
    assert chosen.selection is not None
    assert chosen.selection["selected"] == "ports"
    assert [score["name"] for score in chosen.selection["scores"]] == ["ports", "explained"]
    better = choose_mapping(whole, machine, list(reversed(parts)))
    assert better.make() == chosen.make()


def test_what_one_part_lacks_comes_from_the_other(whole: Run, machine: Machine) -> None:
    parts = [
        part(whole, machine, "ports", FEW, "PMEvo"),
        part(whole, machine, "explained", PHANTOM, "Explainable inference"),
    ]
    for label, cycles in (("ports", 14.0), ("explained", 15.0)):
        report = {LOOP_CODE: loop_code_rows({(100, 350): cycles, (100, 300 + len(label)): 13.0})}
        PortMapping.objects.filter(name=f"core: {label}").update(report=report)
    chosen = choose_mapping(whole, machine, parts)
    row = chosen.make()
    assert row is not None
    assert loop_code_in(row.report) == {(100, 305): 13.0, (100, 309): 13.0, (100, 350): 14.0}
    value = load_mapping(row)
    assert {scheme: sum(count for _, count in uops) for scheme, uops in value.usage.items()} == {
        ADD: 1,
        IMUL: 1,
        LOAD: 1,
    }
    assert chosen.selection is not None
    assert chosen.selection["selected"] == TOGETHER
    assert grounds_of(row).conflict_words(IMUL), "the other part says three µops"
    assert row.characterisations.count() == 2, "none of the scheme that comes from elsewhere"
    assert row.evaluations.count() == 2
    model = store_run_core_model(whole, machine, row, None, None, chosen.selection)
    again = choose_mapping(whole, machine, parts)
    assert again.make() == model.mapping, "it is put together once"


def test_a_later_run_is_never_worse_than_the_core_model_before(whole: Run, machine: Machine) -> None:
    before = Run.objects.create(name="before", kind="know", state="done", config={"machine": machine.pk})
    row = store_mapping(
        "starter", machine.isa, FEW, origin=PortMapping.Origin.RUN, source="PMEvo", machine=machine
    )
    StoredCoreModel.objects.create(name="before", isa=machine.isa, machine=machine, run=before, mapping=row)
    worse = Mapping(PORTS, {ADD: ((3, 2),), IMUL: ((1, 3),)})
    chosen = choose_mapping(whole, machine, [part(whole, machine, "ports", worse, "PMEvo")])
    assert chosen.make() == row
    assert chosen.selection is not None
    assert chosen.selection["selected"] == EARLIER


def test_what_a_run_has_learnt_from_does_not_judge(whole: Run, machine: Machine) -> None:
    label, run = part(whole, machine, "ports", TRUTH, "PMEvo")
    row = PortMapping.objects.get(run=run)
    held_out = CoreParts(whole, machine, {label: row}).mixes
    learnt = [each.experiment for each in held_out[:10]]
    measured(run, machine, learnt, "measurements")
    left = CoreParts(whole, machine, {label: row}).mixes
    assert len(left) == len(held_out) - 10
    assert not {each.experiment for each in left} & set(learnt)


def test_without_a_choice_nothing_is_said_of_one(whole: Run, machine: Machine) -> None:
    chosen = choose_mapping(whole, machine, [part(whole, machine, "ports", TRUTH, "PMEvo")])
    assert chosen.make() == PortMapping.objects.get()
    assert chosen.selection is None
    assert choose_mapping(whole, machine, []).make() is None
