"""What a delete page says about what depends on a thing."""

import pytest
from django.utils import timezone

from inference.core.experiment import Experiment, Measured
from inference.models import ISA, ExperimentSet, PortMapping, Run
from inference.storage.evaluations import evaluate
from inference.web.deleting import dependents_of
from tests.rows import instructions
from tests.rows.instructions import ADD

isa, mapping, measured = instructions.isa, instructions.mapping, instructions.measured


def told(row: ExperimentSet | PortMapping | Run) -> list[tuple[str, bool]]:
    return [(dependent.label, dependent.blocks) for dependent in dependents_of(row)]


def run(name: str, kind: str, config: object, state: str = Run.State.DONE) -> Run:
    return Run.objects.create(name=name, kind=kind, config=config, state=state, lease_until=timezone.now())


def test_a_set_takes_its_measurements_and_evaluations_along(
    mapping: PortMapping, measured: ExperimentSet
) -> None:
    evaluate(mapping, measured)
    assert told(measured) == [("6 measurements", False), ("1 evaluation", False)]


def test_a_set_that_an_unfinished_run_learns_from_cannot_go(measured: ExperimentSet) -> None:
    learns = {"source": {"datasets": [measured.pk, measured.pk + 1]}}
    run("learns", "infer", learns, Run.State.QUEUED)
    run("learnt", "infer", learns)
    run("other", "infer", {"source": {"datasets": [measured.pk + 1]}}, Run.State.QUEUED)
    run("simulates", "infer", {"source": {"simulate": measured.pk}}, Run.State.QUEUED)
    run("judges", "infer", {"source": {"simulate": 99}, "evaluate": measured.pk}, Run.State.PAUSED)
    run("evaluates", "evaluate", {"mapping": 1, "experiment_set": measured.pk}, Run.State.RUNNING)
    assert told(measured)[1:] == [("3 unfinished runs", True), ("1 run", False)]


def test_a_mapping_that_is_being_simulated_or_evaluated_cannot_go(mapping: PortMapping) -> None:
    assert told(mapping) == []
    run("simulates", "infer", {"source": {"simulate": mapping.pk}}, Run.State.PAUSED)
    run("evaluates", "evaluate", {"mapping": mapping.pk, "experiment_set": 1})
    assert told(mapping) == [("1 unfinished run", True), ("1 run", False)]


def test_a_run_leaves_its_results_behind(isa: ISA, mapping: PortMapping) -> None:
    done = run("r", "infer", {})
    PortMapping.objects.filter(pk=mapping.pk).update(run=done)
    mapping.refresh_from_db()
    evaluate(mapping, [Measured(Experiment.of([ADD]), 1.0)])
    ExperimentSet.objects.create(name="of run", isa=isa, run=done, origin=ExperimentSet.Origin.RUN)
    Run.objects.create(name="fork", kind="infer", forked_from=done)
    assert told(done) == [
        ("1 evaluation on what it held out", False),
        ("1 port mapping", False),
        ("1 experiment set", False),
        ("1 run that began as its copy", False),
    ]
    done.delete()
    assert PortMapping.objects.get().run is None
    assert not mapping.evaluations.exists()


def test_a_run_that_has_not_ended_cannot_go(db: None) -> None:
    assert told(run("r", "infer", {}, Run.State.PAUSED)) == [("It has not ended", True)]


def test_other_things_are_not_known(isa: ISA) -> None:
    with pytest.raises(TypeError, match="dependents of a ISA"):
        dependents_of(isa)
