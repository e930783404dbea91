"""Partners for all rows of a square of whole numbers, so that their sum is as large as possible.

The Hungarian algorithm by shortest augmenting paths: n³ steps, exact, and always the same answer. For the few
dozen ports of a processor it is done long before a library for it would be loaded.
"""

from __future__ import annotations

from collections.abc import Sequence


def best_partners(gain: Sequence[Sequence[int]]) -> list[int]:
    """For each row another column, with the greatest sum of `gain[row][column]`; `gain` is square."""
    n = len(gain)
    # Prices on rows and columns: no gain exceeds the sum of both, and that of partners is equal to it.
    row_price = [max(row, default=0) for row in gain]
    column_price = [0] * n
    row_of: list[int | None] = [None] * n
    for row in range(n):
        _find_partner(row, gain, row_price, column_price, row_of)
    partners = [0] * n
    for column, row_there in enumerate(row_of):
        assert row_there is not None, "every row was given a column, and there are as many"
        partners[row_there] = column
    return partners


def _find_partner(
    row: int,
    gain: Sequence[Sequence[int]],
    row_price: list[int],
    column_price: list[int],
    row_of: list[int | None],
) -> None:
    """Give one more row a column: rows that have one move on along the path on which least is lost."""
    open_columns = set(range(len(gain)))
    lost = dict.fromkeys(open_columns, 0)  # by the best path to a column; once closed, for good
    before: dict[int, int | None] = dict.fromkeys(open_columns)  # the column that a path comes from
    closed: list[int] = []
    at: int = row
    came_from: int | None = None
    so_far = 0
    while True:
        for column in open_columns:
            loss = so_far + row_price[at] + column_price[column] - gain[at][column]
            if len(closed) == 0 or loss < lost[column]:
                lost[column], before[column] = loss, came_from
        nearest = min(open_columns, key=lambda column: (lost[column], column))
        open_columns.remove(nearest)
        so_far = lost[nearest]
        holder = row_of[nearest]
        if holder is None:
            break
        closed.append(nearest)
        at, came_from = holder, nearest
    row_price[row] -= so_far
    for column in closed:
        column_price[column] += so_far - lost[column]
        holder = row_of[column]
        assert holder is not None, "only a column with a row is passed through"
        row_price[holder] -= so_far - lost[column]
    free: int | None = nearest
    while free is not None:
        previous = before[free]
        row_of[free] = row if previous is None else row_of[previous]
        free = previous
