"""The examples of runs' descriptions: each kind has one, and whoever copies it is understood."""

from __future__ import annotations

from typing import Any

import pytest

from anica_app.models import Discovery
from inference.features.running.runs.api import examples
from inference.models import (
    BasicBlockSet,
    ExperimentSet,
    Machine,
    PortMapping,
    Predictor,
    StoredCoreModel,
    Upload,
)
from inference.predictors.llvm.releases import list_releases
from inference.runs.kinds import RUN_KINDS, job
from tests.api.test_operations import OPERATIONS
from tests.rows.programs import measured_again

CONFIGS = examples()


def test_every_kind_of_run_has_an_example_in_the_document() -> None:
    assert CONFIGS.keys() == RUN_KINDS.keys()
    for name in ("start_run", "check_run"):
        ((_, content),) = OPERATIONS[name][2]["requestBody"]["content"].items()
        assert {kind: each["value"]["config"] for kind, each in content["examples"].items()} == CONFIGS


@pytest.fixture
def rows(
    machine: Machine,
    mapping: PortMapping,
    experiment_set: ExperimentSet,
    upload: Upload,
    block_set: BasicBlockSet,
    discovery: Discovery,
) -> dict[str, Any]:
    """What takes the place of numbers in the examples, by the names of their fields."""
    sets = [experiment_set.pk, measured_again(experiment_set).pk]
    tools = [Predictor.objects.create(name=f"tool {name}", kind="planted", key=name * 64).pk for name in "cd"]
    discovery.abstract = discovery.abstract or {"instructions": [{}]}
    discovery.save()
    core = StoredCoreModel.objects.create(name="core", isa=machine.isa, machine=machine, mapping=mapping).pk
    return {
        **dict(zip(("first", "second"), sets, strict=True)),
        "sets": sets,
        "datasets": sets[:1],
        "experiment_set": sets[0],
        "machine": machine.pk,
        "core_model": core,
        "sources": [f"core-model:{core}", f"predictor:{tools[0]}"],
        "against": f"column:{block_set.columns.earliest('position').pk}",
        "mapping": mapping.pk,
        "mappings": [mapping.pk],
        "upload": upload.pk,
        "predictors": tools,
        "block_set": block_set.pk,
        "campaign": discovery.campaign_id,
        "campaigns": [discovery.campaign_id],
        "excluded": [discovery.pk],
    }


REFERENCES = {"check-model": "mapping", "accuracy": "column"}
"""What the field of this name is the number of, which differs by kind."""


def with_rows(value: Any, rows: dict[str, Any]) -> Any:
    """An example with the numbers of rows that are there."""
    if not isinstance(value, dict):
        return value
    return {name: rows.get(name, with_rows(inner, rows)) for name, inner in value.items()}


@pytest.mark.parametrize("kind", CONFIGS)
def test_an_example_is_accepted_with_rows_that_there_are(
    kind: str, rows: dict[str, Any], block_set: BasicBlockSet
) -> None:
    if kind == "llvm-difference" and not list_releases():
        pytest.skip("llvm-mca is not installed")
    if kind in REFERENCES:
        column = block_set.columns.earliest("position").pk
        rows["reference"] = {**rows, "column": column}[REFERENCES[kind]]
    if kind == "complete":
        machine = Machine.objects.get(pk=rows["machine"])
        rows["schemes"] = list(machine.isa.schemes.values_list("pk", flat=True)[:2])
    complete = job(kind).check(with_rows(CONFIGS[kind], rows))
    left_out = CONFIGS[kind].keys() - complete.keys()
    assert left_out <= {"settings"}, "what `settings` say stands in groups by then"
