"""A core model that a simulated machine has measured."""

from __future__ import annotations

import pytest

from inference.core.mapping import PortMapping as Mapping
from inference.features.learning.core_model.storing import store_parts
from inference.isa.x86.scheme_set import scheme_and_form
from inference.models import PortMapping, Run, StoredCoreModel
from inference.runs import lifecycle
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import store_mapping
from tests.features.core_model.stored_model import ADD, IMUL
from tests.rows.library import visitor
from tests.simulated import simulated_machine
from tests.work import work_off

__all__ = ["visitor"]


@pytest.fixture
def model(db: None) -> StoredCoreModel:
    """The core model of a simulated machine."""
    found = [scheme_and_form(text) for text in (ADD, IMUL)]
    isa = store_isa("x86-64", [one[0] for one in found if one is not None], "a test")
    truth = Mapping(("0", "1"), {ADD: ((0b11, 1),), IMUL: ((0b01, 1),)})
    row = simulated_machine(isa, truth, seed=1)
    ports = store_mapping("its ports", isa, truth, origin=PortMapping.Origin.RUN, machine=row)
    for kind, config in (("latencies", {"schemes": "all"}), ("front-end", {})):
        run = lifecycle.submit(kind, {"machine": row.pk, **config}, f"its {kind}")
        assert work_off(run).state == Run.State.DONE, run.error
    return store_parts("lab", ports, row.latency_sets.get(), row.front_ends.get())
