"""What the tests of the form share."""

from __future__ import annotations

from typing import Any

import pytest

from inference.models import ISA, ExperimentSet, Machine


@pytest.fixture
def answers(experiment_set: ExperimentSet) -> dict[str, Any]:
    """A form that can be sent as it is."""
    return {
        "press": "start",
        "source": "datasets",
        "datasets": [experiment_set.pk],
        "held_out": "0.34",
        "selection": "all",
        "algorithm": "pmevo",
        "set_ports": "3",
        "seed": "5",
        "name": "first try",
    }


@pytest.fixture
def machine(isa: ISA) -> Machine:
    """A computer whose agent has connected before and measures 20 experiments per second."""
    facts = {"vendor": "AuthenticAMD", "family": 25, "model": 1, "flags": ["avx2"], "cores": 2}
    return Machine.objects.create(name="lab", kind="agent", isa=isa, facts=facts, session=1, rate=20)
