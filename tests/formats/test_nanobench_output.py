"""Output of nanoBench: blocks from commands, cycles from the counters below them."""

from __future__ import annotations

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.formats.block_tables import is_block_table, open_blocks
from inference.formats.blocks_csv import BlockRow, BrokenRows

OUTPUT = """\
$ sudo ./nanoBench.sh -asm "ADD RAX, RBX; ADD RBX, RAX" -config configs/cfg_Skylake_common.txt
CORE_CYCLES: 2.00
INST_RETIRED: 2.00
UOPS_DISPATCHED_PORT.PORT_0: 0.49

$ sudo ./kernel-nanoBench.sh -asm_init "MOV RAX, R14; SUB RAX, 8" -asm 'MOV RAX, [RAX]' -config cfg.txt
Instructions retired: 1.00
Core cycles: 4.01
"""


def rows_of(content: str, broken: BrokenRows = BrokenRows.STOP) -> tuple[list[BlockRow], list[str]]:
    blocks = open_blocks(BytesIO(content.encode()), "log.txt", broken)
    rows = list(blocks.rows())
    return rows, [problem.message for problem in blocks.problems.listed]


def test_each_command_is_a_block_with_its_cycles() -> None:
    assert is_block_table(OUTPUT.encode())
    rows, problems = rows_of(OUTPUT)
    assert problems == []
    assert [(row.code.hex(), row.numbers) for row in rows] == [("4801d84801c3", (2.0,)), ("488b00", (4.01,))]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("CORE_CYCLES: 2.00\n", "", "the core's cycles are missing"),
        ('-asm "ADD RAX, RBX; ADD RBX, RAX"', "-code add.bin", "no -asm"),
        (" -config configs", " -no_normalization -config configs", "-no_normalization"),
        ("ADD RAX, RBX;", "ADDD RAX, RBX;", "addd"),
    ],
)
def test_a_measurement_without_code_or_cycles_is_refused_with_its_line(old: str, new: str, why: str) -> None:
    rows, problems = rows_of(OUTPUT.replace(old, new), BrokenRows.SKIP)
    assert [row.numbers for row in rows] == [(4.01,)]
    assert len(problems) == 1
    assert why in problems[0].lower() or why in problems[0]


@given(st.lists(st.sampled_from(OUTPUT.splitlines()) | st.text(max_size=40), max_size=8))
def test_lines_in_any_order_never_raise(lines: list[str]) -> None:
    rows_of("\n".join([OUTPUT.splitlines()[0], *lines]), BrokenRows.SKIP)
