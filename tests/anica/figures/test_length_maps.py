"""Heat maps by the length of the experiments."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inference.figures.length_maps import MAX_PANELS, PER_ROW, LengthMap, length_maps
from tests.drawn import examples

points = st.lists(st.tuples(st.integers(1, 8), st.floats(0.1, 50), st.floats(0, 80)), min_size=1, max_size=60)


@examples(40)
@given(points)
def test_every_experiment_is_in_the_panel_of_its_length(rows: list[tuple[int, float, float]]) -> None:
    lengths, seen, said = (np.array(column) for column in zip(*rows, strict=True))
    found = length_maps(lengths, seen, said)
    assert [each.length for each in found] == sorted(set(lengths.tolist()))
    for each in found:
        assert each.heat_map.n == each.scores.n == int((lengths == each.length).sum())
        assert each.heat_map.n == each.heat_map.outside + sum(map(sum, each.heat_map.counts))
        told = json.loads(json.dumps(each.as_json()))
        assert LengthMap.from_json(told).heat_map == each.heat_map


@examples(40)
@given(points)
def test_bins_are_equally_wide_and_rows_share_their_axes(rows: list[tuple[int, float, float]]) -> None:
    lengths, seen, said = (np.array(column) for column in zip(*rows, strict=True))
    found = length_maps(lengths, seen, said)
    widths = [each.heat_map.limit / each.heat_map.bins for each in found]
    assert np.allclose(widths, widths[0])
    for start in range(0, len(found), PER_ROW):
        assert len({each.heat_map.limit for each in found[start : start + PER_ROW]}) == 1


def test_of_many_lengths_those_with_most_experiments_are_shown() -> None:
    lengths = np.repeat(np.arange(1, MAX_PANELS + 4), np.arange(1, MAX_PANELS + 4))
    values = np.ones(len(lengths))
    shown = [each.length for each in length_maps(lengths, values, values)]
    assert shown == list(range(4, MAX_PANELS + 4))
    assert length_maps(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)) == []
