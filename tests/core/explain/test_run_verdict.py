"""What witnesses say of a scheme together."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from inference.core.experiment import Experiment
from inference.core.explain.problem import Witness, WitnessOutcome
from inference.core.explain.run_verdict import delays_all_alike


def witness(mask: int, delay: float) -> Witness:
    """A flood of the ports in `mask` that takes `delay` cycles longer with the scheme."""
    blocker, width = f"blocker of {mask:b}", mask.bit_count()
    flood = Experiment.of({blocker: 6})
    return Witness(
        blocker=blocker,
        mask=mask,
        copies=6,
        base=flood,
        base_cycles=6 / width,
        tested=Experiment.of({blocker: 6, "scheme": 1}),
        cycles=6 / width + delay,
        samples=3,
        surplus=delay * width,
        below=0,
        uops=round(delay * width),
        tolerance=0.1,
        seen=WitnessOutcome.USES,
    )


@pytest.mark.parametrize(
    ("masks", "alike"),
    [
        ((0b0001, 0b0010, 0b0100, 0b1000), True),
        ((0b0011, 0b0100, 0b0010, 0b1000), True),
        ((0b0001, 0b0011, 0b0101, 0b1001), False),  # its µops may be on the port that all of them flood
        ((0b0001, 0b0010, 0b0100), False),  # too few to say so
    ],
)
def test_a_delay_is_a_sequencers_where_no_port_is_flooded_by_all(masks: Sequence[int], alike: bool) -> None:
    witnesses = [witness(mask, 4.0) for mask in masks]
    assert delays_all_alike(witnesses) == (witnesses if alike else [])


def test_delays_that_differ_are_those_of_ports() -> None:
    assert delays_all_alike([witness(1, 4.0), witness(2, 4.0), witness(4, 4.0), witness(8, 8.0)]) == []
