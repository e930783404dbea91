"""Blocks of RISC-V: code of two and four bytes, loops, and what is no block."""

from __future__ import annotations

import re

import pytest

from inference.isa.code.block import BlockError
from inference.isa.riscv64.block_reader import READER
from inference.isa.riscv64.statements import read

LOOP = "lw a3, 0(a0); add a4, a4, a3; addi a0, a0, 4; bne a0, a1, -6"


def code(text: str) -> bytes:
    return b"".join(
        instruction.code() or b"" for line in text.split(";") for instruction in read(line.strip())
    )


def test_a_loop_has_its_jump_apart() -> None:
    block = READER.block_of_bytes(code(LOOP))
    assert block.text.splitlines() == [
        ".loop:",
        "lw a3, 0(a0)",
        "add a4, a4, a3",
        "addi a0, a0, 4",
        "bne a0, a1, .loop",
    ]
    assert (block.isa, block.unknown, block.unused_register) == ("RISC-V", (), "t6")
    assert READER.body_of(code(LOOP)) == block.body == code(LOOP)[:-4]
    assert READER.as_loop(code(LOOP)) == code(LOOP)
    assert READER.schemes_of_bytes(code(LOOP))[0] == "lw GPR[64]:W, MEM[32]:R"


def test_a_jump_is_as_short_as_its_distance_allows() -> None:
    short, long = code("bnez a0, -2"), code("bnez a0, -300")
    assert (len(short), len(long)) == (2, 4)
    assert len(READER.close_loop(code("addi a0, a0, -1"), long) or b"") == 4
    assert len(READER.close_loop(code("mul a1, a1, a2") * 80, short) or b"") == 324
    assert READER.close_loop(code("mul a1, a1, a2") * 1100, short) is None
    assert READER.close_loop(b"", code("add a0, a0, a1")) is None


def test_a_straight_block_becomes_a_loop_with_a_counter() -> None:
    block = READER.block_of_bytes(READER.as_loop(code("add a0, a0, a1; mul a2, a2, a0")))
    assert [instruction.text for instruction in block.instructions][-1] == "addi t6, t6, -1"
    assert block.closing_text == "bnez t6, .loop"
    long = READER.as_loop(code("mul a1, a1, a2") * 490)
    assert READER.block_of_bytes(long).closing_text == "bnez t6, .loop"


@pytest.mark.parametrize(
    ("digits", "message"),
    [
        ("93", "instructions of RISC-V have two or four bytes each; these are 1 bytes"),
        ("2e952e959305", "the last instruction (9305) is cut off"),
        ("2e9573001010", "the word at byte 3 (73001010) has no scheme here"),
        ("2e951f000000", "the word at byte 3 (1f000000) is an instruction of more than 32 bits"),
        ("", "a basic block has 1 to 4,096 bytes"),
    ],
)
def test_what_is_no_block_is_named(digits: str, message: str) -> None:
    with pytest.raises(BlockError, match=re.escape(message)):
        READER.block_of_bytes(bytes.fromhex(digits))


def test_arbitrary_bytes_are_steps_with_gaps() -> None:
    steps = list(READER.steps_of_region(bytes.fromhex("2e95 0b000000 8280 93"), 0x1000))
    assert [(step.address, step.flow) for step in steps] == [
        (0x1000, "next"),
        (0x1002, "end"),
        (0x1006, "end"),
    ]


def test_relocatable_files_say_that_their_code_is_compressed() -> None:
    content = READER.object_file(code(LOOP))
    assert content[18:20] == b"\xf3\0"
    assert content[48:52] == b"\x05\0\0\0"


def test_vector_schemes_have_the_mode_of_the_block() -> None:
    text = "vsetvli t0, a2, e32, m1, ta, ma; vle32.v v8, (a0); vadd.vv v8, v8, v9; sub a2, a2, t0"
    schemes = READER.schemes_of_bytes(code(text))
    assert schemes[2] == "vadd.vv VR[e32,m1]:W, VR[e32,m1]:R, VR[e32,m1]:R"
    block = READER.block_of_bytes(code(text))
    assert tuple(instruction.scheme for instruction in block.instructions) == schemes
    (alone,) = READER.block_of_bytes(code("vadd.vv v8, v8, v9")).instructions
    assert alone.scheme is None
