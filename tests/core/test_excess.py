"""What takes longer than a mapping allows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.misfits import excess, limits_of
from inference.core.throughput import inverse_throughput
from tests.core.strategies import experiments, mappings

FP = PortMapping(
    tuple("0123"),
    {"mul": ((0b0011, 1),), "add": ((0b1011, 1),), "shift": ((0b0100, 1),), "nop": ()},
    r_max=4.0,
)


@given(mappings(st.integers(1, 6)), experiments())
def test_the_limit_is_the_inverse_throughput(mapping: PortMapping, experiment: Experiment) -> None:
    _, cycles = limits_of(mapping, experiment)
    assert cycles == inverse_throughput(mapping, experiment)


def test_experiments_go_together_with_those_that_the_same_uops_limit() -> None:
    readings = {
        Experiment.of(["mul", "add"]): [0.733, 0.735],
        Experiment.of({"mul": 2, "add": 1}): [1.0],
        Experiment.of({"mul": 1, "add": 2}): [1.1],
        Experiment.of({"shift": 2}): [2.01],
        Experiment.of({"nop": 4}): [1.5],
    }
    found = excess(FP, readings)
    assert (found.experiments, found.exceeding) == (5, 3)
    waste, issue = found.groups
    assert (waste.port_sets, waste.experiments, waste.share) == ((0b0011, 0b1011), 2, 1.0)
    assert [str(each.experiment) for each in waste.exceeding] == ["add; mul", "2*add; mul"]
    assert [each.repeated for each in waste.exceeding] == [True, False]
    assert waste.port_names(FP.ports) == [["0", "1"], ["0", "1", "3"]]
    assert (issue.port_sets, issue.median) == ((), 0.5)
