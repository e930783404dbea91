"""Treemaps: areas by size, nothing overlaps, everything is filled."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anica_app.figures.campaign_charts import HEIGHT, WIDTH, treemap


@given(st.lists(st.integers(0, 1000), max_size=31))
def test_the_rectangles_fill_the_picture_by_size(sizes):
    cells = treemap(sizes)
    assert sorted(cell.place for cell in cells) == [at for at, size in enumerate(sizes) if size]
    for cell in cells:
        area = 10_000 * sizes[cell.place] / sum(sizes)
        assert cell.width * cell.height == pytest.approx(area, rel=1e-6)
        assert -1e-6 <= cell.x <= cell.x + cell.width <= 100 + 1e-6
        assert -1e-6 <= cell.y <= cell.y + cell.height <= 100 + 1e-6
    for at, one in enumerate(cells):
        for other in cells[at + 1 :]:
            wide = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
            high = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
            assert min(wide, high) < 1e-6, "two of them overlap"


def test_equal_parts_are_nearly_square():
    cells = treemap([1.0] * 16)
    assert all(0.4 < cell.width * WIDTH / (cell.height * HEIGHT) < 2.5 for cell in cells)
