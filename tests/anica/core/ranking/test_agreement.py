"""Tools that are compared two by two agree with the judge of campaigns."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anica_app.core.search.interestingness import ABSOLUTE, RELATIVE, Disagreement, InterestSettings
from inference.core.judging.disagreement import disagreements
from inference.predictors.protocol import Answer

CYCLES = st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 7.0]))


@given(
    st.integers(2, 4).flatmap(lambda n: st.lists(st.lists(CYCLES, min_size=n, max_size=n), max_size=8)),
    st.sampled_from([RELATIVE, ABSOLUTE]),
)
def test_a_pair_differs_where_a_campaign_would_find_the_block_interesting(
    blocks: list[list[float | None]], metric: str
) -> None:
    tools = len(blocks[0]) if blocks else 2
    cycles = np.array(
        [[np.nan if value is None else value for value in one] for one in blocks], dtype=np.float64
    ).reshape(len(blocks), tools)
    found = disagreements(list(cycles.T), metric, 0.5)
    judge = Disagreement(InterestSettings(metric=metric, threshold=0.5, failures="crash"))
    for one in range(tools):
        for other in range(tools):
            pairs = [(block[one], block[other]) for block in blocks]
            whole = [pair for pair in pairs if None not in pair]
            assert found.both[one, other] == len(whole)
            if one != other:
                verdicts = [judge.verdict([Answer(cycles=a), Answer(cycles=b)]).interesting for a, b in whole]
                assert found.differing[one, other] == sum(verdicts)
