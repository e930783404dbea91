"""A mapping as a predictor takes the quicker of two ways to the same numbers, where memory allows."""

from __future__ import annotations

import pytest

from inference.core import evaluator
from inference.core.evaluator import PortMappingModel
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.tables import ExperimentTable


@pytest.mark.parametrize(("n_schemes", "n_ports", "plain"), [(1100, 13, 0), (1100, 8, 1), (3, 13, 1)])
def test_tables_of_many_schemes_on_many_ports_are_left_to_the_compiled_kernels(
    n_schemes: int, n_ports: int, plain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    cycles = evaluator.cycles_by_numpy
    monkeypatch.setattr(evaluator, "cycles_by_numpy", lambda *given: calls.append(1) or cycles(*given))
    schemes = [f"scheme {k}" for k in range(n_schemes)]
    mapping = PortMapping(tuple(map(str, range(n_ports))), dict.fromkeys(schemes, ((3, 1),)))
    table = ExperimentTable.from_experiments([Experiment.of([scheme]) for scheme in schemes])
    assert PortMappingModel(mapping).cycles(table).tolist() == [0.5] * n_schemes
    assert len(calls) == plain
