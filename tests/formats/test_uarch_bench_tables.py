"""Tables of uarch-bench: benchmarks whose code is a block, in cycles of one execution."""

from __future__ import annotations

from io import BytesIO

from hypothesis import given
from hypothesis import strategies as st

from inference.formats.block_tables import is_block_table, open_blocks
from inference.formats.blocks_csv import BlockRow, BrokenRows

TABLE = """\
Using timer: clock
** Running group basic : Basic Benchmarks **
                               Benchmark    Cycles     Nanos
                     Dependent add chain      1.00      0.40
                   Independent add chain      0.25      0.10
                  Dependent imul 64->128      3.00      1.20
                Independent imul 64->128      1.01      0.40
         Simple addressing pointer chase      4.00      1.60
 8 bit stores, stride  64, size 2048 KiB      2.59      0.80
               vpaddq ymm0, ymm1, ymm0        1.00      0.40
Finished in 556 ms (basic)
"""


def rows_of(content: str) -> tuple[list[BlockRow], list[str], tuple[str, ...]]:
    blocks = open_blocks(BytesIO(content.encode()), "log.txt", BrokenRows.SKIP)
    rows = list(blocks.rows())
    return rows, [problem.message for problem in blocks.problems.listed], tuple(blocks.notes)


def test_benchmarks_are_blocks_with_the_cycles_of_one_execution() -> None:
    assert is_block_table(TABLE.encode())
    rows, problems, notes = rows_of(TABLE)
    assert problems == []
    assert [(row.instructions, row.numbers, row.origin) for row in rows] == [
        (1, (1.00,), "Dependent add chain"),
        (8, (2.00,), "Independent add chain"),
        (1, (3.00,), "Dependent imul 64->128"),
        (2, (1.01,), "Independent imul 64->128"),
        (1, (4.00,), "Simple addressing pointer chase"),
        (1, (1.00,), "vpaddq ymm0, ymm1, ymm0"),
    ]
    assert notes == ("benchmarks that are no block: 1 (8 bit stores, stride 64, size 2048 KiB, …)",)


def test_counters_behind_the_cycles_do_not_matter() -> None:
    counted = TABLE.replace("Nanos", "INSTRUC   UOPS").replace("0.40\n", "1.01      1.02\n")
    assert rows_of(counted)[0] == rows_of(TABLE)[0]


def test_a_table_without_blocks_is_refused() -> None:
    text = "\n".join(
        line for line in TABLE.splitlines() if "add" not in line and "->" not in line and "chase" not in line
    )
    rows, problems, _ = rows_of(text)
    assert rows == []
    assert "none of its 1 benchmarks is a block" in problems[0]


@given(st.lists(st.sampled_from(TABLE.splitlines()) | st.text(max_size=40), max_size=8))
def test_lines_in_any_order_never_raise(lines: list[str]) -> None:
    rows_of("\n".join([TABLE.splitlines()[2], *lines]))
