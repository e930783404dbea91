"""What blocks read of the values that they start with, and the values to measure them with again."""

from __future__ import annotations

import pytest
from iced_x86 import Encoder

from inference.isa.blocks import read_blocks
from inference.isa.scheme import Operand
from inference.isa.start_values import BlockReads, repetitions
from inference.isa.x86 import schemes
from inference.isa.x86.block_inputs import reads_of
from inference.isa.x86.instances import instance
from inference.isa.x86.scheme_set import scheme_and_form
from inference.measuring.blocks import BlockOptions

USUAL = BlockOptions().start


def reads(text: str) -> BlockReads:
    (block,) = read_blocks(text, 1)
    return reads_of(instruction.code for instruction in block.instructions)


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        ("shl rax, cl", ["rax", "cl"]),
        ("shlx rax, rbx, rcx", ["cl", "rbx"]),
        ("mov ecx, 3\nshl rax, cl", ["rax"]),
        ("mov cl, 3\nadd rax, rcx", ["rax", "rcx"]),
        ("xor edx, edx\ndiv rcx", ["rax", "rcx"]),
        ("add ah, bl", ["ah", "bl"]),
        ("sar r10d, cl\ncmovno r13, rcx", ["rcx", "cl", "r10d"]),
        ("lea rax, [rbx+rcx]", ["rcx", "rbx"]),
        ("mov rax, [rbx+8*rcx]", ["memory"]),
        ("mov [rbx], rax", ["rax"]),
        ("shl qword ptr [rcx], cl", ["cl", "memory"]),
        ("vmaskmovpd ymm1, ymm2, [rax]", ["ymm2", "memory"]),
        ("vpaddd zmm1{k1}, zmm2, zmm3", ["zmm1, zmm2, zmm3", "k1"]),
        ("paddd mm1, mm2", ["mm1, mm2"]),
        ("fadd st(0), st(3)", ["st0, st3"]),
        ("mov eax, 1", []),
        ("pop rax", ["memory"]),
    ],
)
def test_an_input_is_what_is_read_before_it_is_written(text: str, inputs: list[str]) -> None:
    assert [block_input.name for block_input in reads(text).inputs] == inputs


def test_counts_masks_vectors_and_memory_get_zeros_ones_small_and_all_ones() -> None:
    values = [
        reads("vpaddd zmm1{k1}, zmm2, [rbx]\nshl rax, cl").values(repeat.start)
        for repeat in repetitions(USUAL, reads("vpaddd zmm1{k1}, zmm2, [rbx]\nshl rax, cl"))
    ]
    ones = "0xffffffffffffffff"
    assert [row["cl"] for row in values] == ["0", "1", "5", "255"]
    assert [row["rax"] for row in values] == ["0", "1", "3", ones]
    assert [row["k1"] for row in values] == ["0", ones, ones, ones]
    assert [row["zmm1, zmm2"] for row in values] == ["0", "0x3f8000013f800001", "0x3f8ccccd3f8ccccd", ones]
    assert [row["memory"] for row in values] == ["0", "1", "0x3f8ccccd3f8ccccd", ones]


def test_addresses_stay_but_a_count_of_the_same_register_does_not() -> None:
    block = "shl rax, cl\nmov rdx, [rcx]\nmov rsi, [rdi]"
    starts = [repeat.start for repeat in repetitions(USUAL, reads(block))]
    assert {start.registers["rdi"] for start in starts} == {USUAL.registers["rdi"]}
    assert {start.registers["rsp"] for start in starts} == {USUAL.registers["rsp"]}
    assert [start.registers["rcx"] - USUAL.registers["rcx"] for start in starts] == [0, 8, 8, 8]


def test_what_is_read_alike_is_not_measured_twice() -> None:
    assert repetitions(USUAL, reads("mov eax, 1")) == []
    labels = [repeat.label for repeat in repetitions(USUAL, reads("add al, cl"))]
    assert labels == ["1", "small", "all ones"]  # al and cl are 0 in the usual values


def _is_read(operand: Operand) -> bool:
    kinds = {"register": "R" in operand.access, "memory": "R" in operand.access}
    return kinds.get(operand.kind, False) and not {"rsp", "rip"} & set(operand.registers)


_MASKED_STORES = ("vmaskmov", "vpmaskmov")
"""Of their destination, what stays is taken for written."""


_NOT_VARIED = ("CR", "DR", "SEG", "TMM", "fs", "gs", "ds", "es", "ss", "cs", "xcr0")
"""Registers of the system: blocks cannot start with values of their own in them."""


def test_all_operands_that_any_scheme_reads_are_inputs_or_addresses() -> None:
    """One with a value that matters and is never varied would make a finding hold everywhere."""
    asked = 0
    for scheme in schemes():
        found = scheme_and_form(scheme.text)
        if scheme.exclusion or found is None:
            continue
        operands = [
            operand
            for operand in scheme.operands
            if _is_read(operand) and not operand.name.startswith(_NOT_VARIED)
        ]
        encoder = Encoder(64)
        encoder.encode(instance(found[1]), 0)
        block = reads_of([encoder.take_buffer()])
        names = {block_input.kind.value for block_input in block.inputs}
        if scheme.mnemonic.startswith(_MASKED_STORES):
            operands = [operand for operand in operands if operand.kind != "memory" or operand.access == "R"]
        for operand in operands:
            asked += 1
            kind = "memory" if operand.kind == "memory" else _bank(operand)
            assert kind in names or (kind == "register" and block.addresses > {"rsp"}), (scheme.text, operand)
    assert asked > 3_500


def _bank(operand: Operand) -> str:
    name = operand.name.upper()
    if name.startswith("K") and not name.startswith("KEY"):
        return "mask"
    return "vector" if name.startswith(("XMM", "YMM", "ZMM", "MM", "ST")) else "register"
