"""What the database itself refuses, whatever the code above it believes."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.utils import timezone

from inference.models import (
    ISA,
    Evaluation,
    Experiment,
    ExperimentSet,
    ExperimentTerm,
    InstructionScheme,
    Machine,
    Measurement,
    PortMapping,
    PortUsage,
    ResourceLoad,
    ResourceMapping,
    Run,
    RunEvent,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def rows() -> dict[str, Any]:
    """One valid row of everything, to break one rule at a time."""
    isa = ISA.objects.create(name="toy")
    scheme = InstructionScheme.objects.create(isa=isa, text="add R, R", mnemonic="add")
    experiment = Experiment.objects.create(isa=isa, key=f"{scheme.pk}:1", length=1)
    ExperimentTerm.objects.create(experiment=experiment, scheme=scheme, count=1)
    measured = ExperimentSet.objects.create(name="set", isa=isa, origin="upload")
    Measurement.objects.create(experiment_set=measured, experiment=experiment, length=1, cycles=0.25)
    mapping = PortMapping.objects.create(name="mapping", isa=isa, origin="import", ports=["0", "1"])
    PortUsage.objects.create(mapping=mapping, scheme=scheme, mask=3, count=1)
    run = Run.objects.create(name="run", kind="infer")
    RunEvent.objects.create(run=run, seq=1, kind="state")
    Evaluation.objects.create(mapping=mapping, experiment_set=measured, n=1)
    resources = ResourceMapping.objects.create(name="r", isa=isa, origin="import", resources=["R1", "R2"])
    ResourceLoad.objects.create(mapping=resources, scheme=scheme, resource=1, load=0.5)
    Evaluation.objects.create(resource_mapping=resources, experiment_set=measured, n=1)
    return {
        "isa": isa,
        "scheme": scheme,
        "experiment": experiment,
        "experiment_set": measured,
        "mapping": mapping,
        "run": run,
        "held_out_by": run,
        "resource_mapping": resources,
        "loads_of": resources,
    }


_FIELD = {"loads_of": "mapping"}
"""Rows that are not called as the field that they go into."""

REFUSED: dict[str, tuple[type, list[str], dict[str, Any]]] = {
    "a second scheme of the same text": (InstructionScheme, ["isa"], {"text": "add R, R", "mnemonic": "add"}),
    "a second set of the same name": (ExperimentSet, ["isa"], {"name": "set", "origin": "upload"}),
    "an empty experiment": (Experiment, ["isa"], {"key": "", "length": 0}),
    "a scheme twice in one experiment": (ExperimentTerm, ["experiment", "scheme"], {"count": 1}),
    "a repeat stored twice": (Measurement, ["experiment_set", "experiment"], {"cycles": 0.25}),
    "zero cycles": (Measurement, ["experiment_set", "experiment"], {"repeat": 1, "cycles": 0}),
    "a settled measurement without cycles": (Measurement, ["experiment_set", "experiment"], {"repeat": 1}),
    "a failed measurement with cycles": (
        Measurement,
        ["experiment_set", "experiment"],
        {"repeat": 1, "state": "failed", "cycles": 1.0},
    ),
    "an invented state of a measurement": (
        Measurement,
        ["experiment_set", "experiment"],
        {"repeat": 1, "state": "fine", "cycles": 1.0},
    ),
    "an R_max of zero": (
        PortMapping,
        ["isa"],
        {"name": "m2", "origin": "import", "ports": ["0"], "r_max": 0},
    ),
    "a port set twice for one scheme": (PortUsage, ["mapping", "scheme"], {"mask": 3, "count": 2}),
    "a µop without ports": (PortUsage, ["mapping", "scheme"], {"mask": 0, "count": 1}),
    "no µop on some ports": (PortUsage, ["mapping", "scheme"], {"mask": 1, "count": 0}),
    "a resource mapping of unknown origin": (
        ResourceMapping,
        ["isa"],
        {"name": "r2", "origin": "dream", "resources": []},
    ),
    "a load twice on one resource": (
        ResourceLoad,
        ["loads_of", "scheme"],
        {"resource": 1, "load": 2.0},
    ),
    "a negative load": (ResourceLoad, ["loads_of", "scheme"], {"resource": 0, "load": -1.0}),
    "a load of nothing on a resource": (
        ResourceLoad,
        ["loads_of", "scheme"],
        {"resource": 2, "load": 0.0},
    ),
    "an evaluation of nothing": (Evaluation, ["experiment_set"], {"n": 1}),
    "an evaluation of two mappings": (
        Evaluation,
        ["mapping", "resource_mapping", "experiment_set"],
        {"n": 1, "unit": "ipc"},
    ),
    "an evaluation of a resource mapping on what a run held out": (
        Evaluation,
        ["resource_mapping", "held_out_by"],
        {"n": 1},
    ),
    "a second evaluation of a resource mapping on one set in one unit": (
        Evaluation,
        ["resource_mapping", "experiment_set"],
        {"n": 1},
    ),
    "an evaluation on nothing": (Evaluation, ["mapping"], {"n": 1}),
    "a second evaluation on one set in one unit": (Evaluation, ["mapping", "experiment_set"], {"n": 1}),
    "an evaluation in an unknown unit": (Evaluation, ["mapping", "experiment_set"], {"n": 1, "unit": "s"}),
    "a running run that nobody holds": (Run, [], {"name": "r2", "kind": "infer", "state": "running"}),
    "an invented state of a run": (Run, [], {"name": "r2", "kind": "infer", "state": "dozing"}),
    "a journal number twice": (RunEvent, ["run"], {"seq": 1, "kind": "log"}),
    "a machine of an unknown kind": (Machine, ["isa"], {"name": "box", "kind": "dream"}),
}


@pytest.mark.parametrize("what", REFUSED)
def test_the_database_refuses(what: str, rows: dict[str, Any]) -> None:
    model, related, values = REFUSED[what]
    before = model.objects.count()
    with pytest.raises(IntegrityError), transaction.atomic():
        model.objects.create(**{_FIELD.get(name, name): rows[name] for name in related}, **values)
    assert model.objects.count() == before


def test_a_run_that_is_held_may_run(rows: dict[str, Any]) -> None:
    run = rows["run"]
    run.state, run.lease_until = "running", timezone.now()
    run.save()
    assert Run.objects.get(pk=run.pk).state == "running"


def test_deleting_a_set_takes_its_measurements_and_evaluations_but_no_mapping(rows: dict[str, Any]) -> None:
    rows["experiment_set"].delete()
    assert not Measurement.objects.exists()
    assert not Evaluation.objects.exists()
    assert PortMapping.objects.filter(pk=rows["mapping"].pk).exists()


def test_deleting_a_port_mapping_keeps_what_was_converted_from_it(rows: dict[str, Any]) -> None:
    converted = rows["resource_mapping"]
    converted.converted_from = rows["mapping"]
    converted.save()
    rows["mapping"].delete()
    converted.refresh_from_db()
    assert converted.converted_from is None


def test_deleting_a_resource_mapping_takes_its_loads_and_evaluations_alone(rows: dict[str, Any]) -> None:
    rows["resource_mapping"].delete()
    assert not ResourceLoad.objects.exists()
    assert [row.predictor for row in Evaluation.objects.all()] == [rows["mapping"]]


def test_an_instruction_set_in_use_cannot_be_deleted(rows: dict[str, Any]) -> None:
    with pytest.raises(ProtectedError):
        rows["isa"].delete()
