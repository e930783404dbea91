"""The scheduler of a core model: in its file, in the database, as a predictor."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from inference.core.core_model import CoreModel, CoreScheduler
from inference.core.simulation.program import Binding, SchedulerPolicy
from inference.features.asking.predictors.kinds import STORED_KINDS
from inference.features.learning.core_model.storing import store_parts
from inference.formats.core_model_json import core_model_json, core_model_text, read_core_model
from inference.formats.scheduler_json import scheduler_json
from inference.isa.x86.scheme_set import scheme_and_form
from inference.models import PortMapping, StoredCoreModel
from inference.predictors.core_model import KIND
from inference.storage.core_models import core_model_of
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import store_mapping
from tests.measuring.test_scheduled_core import MAPPING, POLICY

SCHEDULER = CoreScheduler(POLICY, 8, 0b111111)
MIX = b"".join(bytes.fromhex(f"4c0faf{0xC3 + 8 * k:x}4901{0xD8 + k:x}") for k in range(8))
"""Multiplications and additions on eight registers."""


@pytest.fixture
def row(db: None) -> StoredCoreModel:
    schemes = [scheme for text in MAPPING.usage if (scheme := scheme_and_form(text)) is not None]
    isa = store_isa("x86-64", [scheme for scheme, *_ in schemes], "a test")
    ports = store_mapping("its ports", isa, MAPPING, origin=PortMapping.Origin.RUN)
    return store_parts("lab", ports, None, None)


def found(row: StoredCoreModel, scheduler: CoreScheduler) -> None:
    row.scheduler = {"scheduler": scheduler_json(scheduler, MAPPING.ports), "source": "a test"}
    row.save()


def test_a_file_has_it_and_imports_again(row: StoredCoreModel, tmp_path: Path) -> None:
    assert core_model_of(row).scheduler is None
    found(row, SCHEDULER)
    model = core_model_of(row)
    assert (model.scheduler, model.sources["scheduler"]) == (SCHEDULER, "a test")
    file = tmp_path / "lab.json"
    call_command("export", "model", "lab", "--output", str(file), stdout=StringIO())
    call_command("import", str(file), stdout=StringIO())
    copy = StoredCoreModel.objects.exclude(pk=row.pk).get()
    assert core_model_of(copy) == model
    row.mapping.delete()
    row.refresh_from_db()
    assert core_model_of(row).scheduler is None  # its ports are gone


@pytest.mark.parametrize("binding", Binding)
def test_every_policy_is_read_back_unchanged(binding: Binding) -> None:
    scheduler = CoreScheduler(SchedulerPolicy(binding=binding, queue=5), 6, 0b111)
    model = CoreModel(replace(MAPPING), scheduler=scheduler)
    text = core_model_text(core_model_json(model, name="lab", isa="x86-64"))
    assert read_core_model(text).model().scheduler == scheduler


def test_a_file_of_a_core_without_one_does_not_mention_it() -> None:
    assert "scheduler" not in core_model_json(CoreModel(MAPPING), name="lab", isa="x86-64")


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"ports": ["9"]}, "the scheduler names port 9: the ports are 0, 1, 2, 3, 4, 5"),
        ({"queue": 0}, "queue"),
        ({"binding": "by chance"}, "binding"),
        ({"width": 0}, "width"),
        ({"depth": 3}, "depth"),
    ],
    ids=str,
)
def test_a_broken_one_is_refused_with_the_place(tmp_path: Path, db: None, broken: dict, said: str) -> None:
    document = core_model_json(CoreModel(MAPPING, scheduler=SCHEDULER), name="lab", isa="x86-64")
    document["scheduler"] |= broken
    file = tmp_path / "lab.json"
    file.write_text(json.dumps(document))
    with pytest.raises(CommandError, match=said):
        call_command("import", str(file), stdout=StringIO())


def test_a_predictor_with_another_scheduler_is_another(row: StoredCoreModel) -> None:
    kind = STORED_KINDS[KIND]
    without = kind.predictor({"model": "lab"})
    assert without.identity["content"]["parts"] == [row.pk, *without.identity["content"]["parts"][1:4]]
    before = without.predict([MIX])[0].cycles
    found(row, SCHEDULER)
    wasteful = kind.predictor({"model": "lab"})
    assert wasteful.identity != without.identity
    assert before is not None
    assert wasteful.predict([MIX])[0].cycles > before
    left_out = kind.predictor({"model": "lab", "without": "scheduler"})
    assert left_out.predict([MIX])[0].cycles == before
