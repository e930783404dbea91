"""Experiments that an algorithm needs stay with it, however much is held out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from inference.core.experiment import Experiment
from inference.core.sampling import held_out_experiments

EXPERIMENTS = [
    *(Experiment.of([scheme]) for scheme in "abcdef"),
    *(Experiment.of({"a": 10, scheme: 1}) for scheme in "bcdef"),
    *(Experiment.of(["a", "b", scheme]) for scheme in "cdef"),
]


@given(st.floats(0.0, 0.99), st.integers(0, 5), st.integers(0, 3))
def test_what_is_never_held_out_is_not(share: float, seed: int, never: int) -> None:
    kept = held_out_experiments(EXPERIMENTS, share, seed, never)
    assert all(len(each.terms) > never for each in kept)
    if share and never < 3:
        assert kept
