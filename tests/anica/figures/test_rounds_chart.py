"""The bars of the rounds of a campaign."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anica_app.figures.campaign_charts import HEIGHT, MAX_BARS, WIDTH, rounds_chart

ROUNDS = st.lists(
    st.tuples(st.integers(1, 100), st.floats(0, 1)).map(lambda one: (one[0], int(one[0] * one[1]))),
    min_size=1,
    max_size=400,
)


def test_without_blocks_there_is_no_chart() -> None:
    assert rounds_chart([]) is None
    assert rounds_chart([(0, 0, 0)]) is None


@given(ROUNDS)
def test_every_block_is_in_one_bar_within_the_chart(found: list[tuple[int, int]]) -> None:
    chart = rounds_chart([(at, n, interesting) for at, (n, interesting) in enumerate(found)])
    assert chart is not None
    assert len(chart.bars) <= MAX_BARS
    assert sum(bar.sampled for bar in chart.bars) == sum(n for n, _ in found)
    assert sum(bar.interesting for bar in chart.bars) == sum(i for _, i in found)
    assert chart.bars[0].first == 0
    assert chart.bars[-1].last == len(found) - 1
    for one, other in zip(chart.bars, chart.bars[1:], strict=False):
        assert one.last + 1 == other.first
        assert one.x + one.width <= other.x + 1e-9
    for bar in chart.bars:
        assert 0 <= bar.y <= bar.y + bar.height <= HEIGHT + 1e-9
        assert bar.x + bar.width <= WIDTH + 1e-9
        assert abs(bar.height - HEIGHT * bar.share / chart.top) < 1e-9
    assert 0 <= chart.mean_y <= HEIGHT


def test_few_rounds_do_not_fill_the_chart() -> None:
    chart = rounds_chart([(0, 100, 3)])
    assert chart is not None
    assert chart.top == 0.05
    assert chart.bars[0].width < WIDTH / 10
