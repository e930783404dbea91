"""The best partners are as good as those that scipy finds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linear_sum_assignment

from inference.core.identity.renaming import best_partners
from tests.drawn import examples

SQUARES = st.integers(0, 7).flatmap(
    lambda n: arrays(np.int64, (n, n), elements=st.integers(-3, 5) | st.integers(-(2**40), 2**40))
)


@examples(150)
@given(SQUARES)
def test_no_partners_gain_more(gain: np.ndarray) -> None:
    partners = best_partners(gain.tolist())
    assert sorted(partners) == list(range(len(gain)))
    assert sum(gain[row, column] for row, column in enumerate(partners)) == (
        gain[linear_sum_assignment(gain, maximize=True)].sum()
    )


def test_as_many_ports_as_a_mapping_can_have_are_partnered() -> None:
    gain = np.random.default_rng(1).integers(0, 1000, (63, 63))
    partners = best_partners(gain.tolist())
    assert gain[np.arange(63), partners].sum() == gain[linear_sum_assignment(gain, maximize=True)].sum()
