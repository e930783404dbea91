"""Blocks with other addresses: Table 8.4's, and what holds of every variant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from iced_x86 import Decoder, Instruction, RegisterExt

from inference.core.errors import InvalidInputError
from inference.isa.blocks import Block, block_of_bytes, block_of_text, read_blocks
from inference.isa.targets import AARCH64
from inference.predictors.memory_variants import OFFSET_DISTANCE, AddressRelation, variants

REGISTERS = ["rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r12", "r13"]
ADDRESSES = st.builds(
    lambda base, index, offset: f"[{base}{index}+{offset}]",
    st.sampled_from(REGISTERS),
    st.sampled_from(["", "+4*rbp", "+r9"]),
    st.sampled_from([0, 8, 100, 4000]),
)
LINES = st.one_of(
    st.builds("add qword ptr {}, {}".format, ADDRESSES, st.sampled_from(REGISTERS)),
    st.builds("mov {}, qword ptr {}".format, st.sampled_from(REGISTERS), ADDRESSES),
    st.builds("vaddps xmm1, xmm2, xmmword ptr {}".format, ADDRESSES),
    st.builds("add {}, {}".format, st.sampled_from(REGISTERS), st.sampled_from(REGISTERS)),
)
BLOCKS = st.lists(LINES, min_size=1, max_size=4)


def texts(code: bytes) -> str:
    return block_of_bytes(code).text.replace("\n", "; ")


def block(*lines: str) -> Block:
    return block_of_text("\n".join(lines))


def test_the_blocks_of_the_published_table_come_out():
    found = variants(block("add qword ptr [rcx+16], rbx", "add qword ptr [rcx+16], rbx").code)
    first = "{disp32} add qword ptr [rcx+0x10], rbx"
    assert {kind: texts(code) for kind, code in found.code.items()} == {
        AddressRelation.SAME: f"{first}; {first}",
        AddressRelation.OFFSET: f"{first}; add qword ptr [rcx+0x90], rbx",
        AddressRelation.BASE: f"{first}; {{disp32}} add qword ptr [rdx+0x10], rbx",
    }
    assert not found.twice


def test_a_single_access_gets_a_second_one_to_meet():
    found = variants(block("add qword ptr [r13], rbx").code)
    assert found.twice
    assert texts(found.code[AddressRelation.OFFSET]).count("add") == 2


def test_a_base_that_an_instruction_writes_is_replaced():
    found = variants(block("mov rax, qword ptr [rax]", "mov rbx, qword ptr [rax+8]").code)
    same = texts(found.code[AddressRelation.SAME])
    assert same == "mov rax, qword ptr [rcx]; mov rbx, qword ptr [rcx]"


def test_what_cannot_be_chosen_is_left_and_counted():
    found = variants(block("push rax", "mov rbx, qword ptr [rdi]", "mov qword ptr [rsi], rcx").code)
    assert found.untouched == 1
    assert all("push rax" in texts(code) for code in found.code.values())


@pytest.mark.parametrize(
    "lines", [["add rax, rbx"], ["lea rax, [rbx+8]"], ["push rax"], ["mov eax, [rip+5]"]]
)
def test_a_block_without_an_address_to_choose_is_refused(lines: list[str]):
    with pytest.raises(InvalidInputError, match="accesses memory at an address that can be chosen"):
        variants(block(*lines).code)


def test_a_block_with_more_accesses_than_registers_is_refused():
    with pytest.raises(InvalidInputError, match="general-purpose registers left"):
        variants(block(*["mov xmm0, [rcx]".replace("mov", "movups")] * 16).code)


@given(BLOCKS)
def test_only_addresses_change_and_they_relate_as_they_should(lines: list[str]):
    given_block = block(*lines)
    if "[" not in given_block.text:
        return
    found = variants(given_block.code)
    times = 2 if found.twice else 1
    for code in found.code.values():
        assert [one.scheme for one in block_of_bytes(code).instructions] == [
            one.scheme for one in given_block.instructions
        ] * times
    at = {
        kind: [(a.memory_base, a.memory_displacement) for a in _accesses(code)]
        for kind, code in found.code.items()
    }
    first = at[AddressRelation.SAME][0]
    assert set(at[AddressRelation.SAME]) == {first}
    assert at[AddressRelation.OFFSET] == [
        (first[0], first[1] + OFFSET_DISTANCE * n) for n in range(len(at[AddressRelation.OFFSET]))
    ]
    bases = [base for base, _ in at[AddressRelation.BASE]]
    assert len(set(bases)) == len(bases)
    assert {offset for _, offset in at[AddressRelation.BASE]} == {first[1]}
    written = {
        RegisterExt.full_register(one.op0_register)
        for one in _decoded(found.code[AddressRelation.BASE])
        if one.op0_register
    }
    assert not written.intersection(bases)


def _decoded(code: bytes) -> list[Instruction]:
    return list(Decoder(64, code))


def _accesses(code: bytes) -> list[Instruction]:
    return [one for one in _decoded(code) if one.memory_base]


def test_addresses_of_aarch64_are_chosen_likewise() -> None:
    def arm(*lines: str) -> bytes:
        (found,) = read_blocks("\n".join(lines), 1, AARCH64)
        return found.code

    def lines_of(code: bytes) -> list[str]:
        return block_of_bytes(code, AARCH64).text.splitlines()

    found = variants(
        arm("str x1, [x0, #16]", "add x3, x1, x2", "ldr x4, [x5, #8]", "ldr q0, [x6], #16"), AARCH64
    )
    assert (found.twice, found.untouched) == (False, 1)
    same, offset, base = (lines_of(found.code[kind]) for kind in AddressRelation)
    assert (same[0], same[2]) == ("str x1, [x0, #16]", "ldr x4, [x0, #16]")
    assert (offset[0], offset[2]) == ("str x1, [x0, #16]", f"ldr x4, [x0, #{16 + OFFSET_DISTANCE}]")
    assert base[0] == same[0]
    assert base[2] not in (same[2], offset[2])
    assert base[2].endswith(", #16]")
    assert same[1] == offset[1] == base[1] == "add x3, x1, x2"
    assert same[3] == base[3] == "ldr q0, [x6], #16"
    once = variants(arm("ldr x0, [x0]"), AARCH64)  # its base is written: another one is taken
    assert once.twice
    assert all("[x0" not in line for line in lines_of(once.code[AddressRelation.SAME]))
    with pytest.raises(InvalidInputError, match="no instruction of this block accesses memory"):
        variants(arm("ldr x0, [x1, x2]", "ldr x3, [x4, #8]!"), AARCH64)
    with pytest.raises(InvalidInputError, match="cannot be written with another address"):
        variants(arm("ldurb w0, [x1, #250]", "ldurb w2, [x1, #250]"), AARCH64)
