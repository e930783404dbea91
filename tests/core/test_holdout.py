"""The split into training and held-out experiments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.errors import InvalidInputError
from inference.core.sampling import split


@given(n=st.integers(0, 300), share=st.floats(0, 0.99), seed=st.integers(0, 1000))
def test_every_experiment_is_on_one_side_and_the_seed_decides(n: int, share: float, seed: int) -> None:
    training, held_out = (part.tolist() for part in split(n, share, seed))
    assert sorted(training + held_out) == list(range(n))
    assert training == sorted(training)
    assert held_out == sorted(held_out)
    assert [part.tolist() for part in split(n, share, seed)] == [training, held_out]
    if n >= 2:
        assert training
        assert bool(held_out) == (share > 0)


def test_a_fifth_is_a_fifth() -> None:
    training, held_out = split(6310, 0.2, seed=1)
    assert (len(training), len(held_out)) == (5048, 1262)
    assert held_out.tolist() != split(6310, 0.2, seed=2)[1].tolist()


@pytest.mark.parametrize(("n", "share"), [(10, 1.0), (10, -0.1), (10, float("nan")), (-1, 0.5)])
def test_impossible_splits_are_refused(n: int, share: float) -> None:
    with pytest.raises(InvalidInputError):
        split(n, share, seed=0)
