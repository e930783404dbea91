"""Random blocks of AArch64: operands that are chosen are those that are decoded."""

from __future__ import annotations

from random import Random

import pytest

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.abstract import FREE, Aliasing
from anica_app.core.domain.space import SchemeSpace
from inference.isa.aarch64.sampling import LAYOUT, SAMPLING
from inference.isa.operand_slots import OperandPlace
from inference.isa.targets import AARCH64

ADD = "add GPR[64]:W, GPR[64]:R, GPR[64]:R"
LOAD = "ldr GPR[64]:W, MEM[64]:R"
NEAR = "ldur GPR[64]:W, MEM[64,near]:R"
POST = "ldr GPR[64]:W, MEM[64,post]:R"
INDEXED = "ldr GPR[64]:W, MEM[64,base+index*8]:R"
EXTENDED = "ldr GPR[64]:W, MEM[64,base+sxtw*8]:R"
PAIR = "ldp GPR[64]:W, GPR[64]:W, MEM[128,near]:R"
TABLE = "ld1 VECx4[16B]:W, MEM[512,base]:R"
VECTORS = "add VEC[16B]:W, VEC[16B]:R, VEC[16B]:R"
INCREMENT = "csinc GPR[64]:W, GPR[64]:R, GPR[64]:R, COND"


def domain_of(*texts: str) -> BlockDomain:
    return BlockDomain(SchemeSpace.listed(texts, isa=AARCH64))


def test_each_scheme_is_decoded_with_the_operands_that_were_chosen() -> None:
    members = [member for member in SAMPLING.block_schemes().values() if not member.obstacle(frozenset())]
    slots = {member.scheme.text: member.slots for member in members}
    filled = SAMPLING.filler(members)
    assert len(members) > 1800
    for number, member in enumerate(members):
        (filling,) = SAMPLING.independent_fillings([member])
        contents, code = filled(number, filling)
        assert list(SAMPLING.decode_operands(code, slots)) == [(member.scheme.text, contents, code)]


def test_words_of_no_scheme_and_rests_have_no_operands() -> None:
    member = SAMPLING.block_scheme(ADD)
    assert member is not None
    slots = {ADD: member.slots}
    code = bytes.fromhex("2000028bffffffff2000")
    found = list(SAMPLING.decode_operands(code, slots))
    assert [part and part[0] for part in found] == [ADD, None, None]


def test_the_zero_register_aliases_nothing() -> None:
    member = SAMPLING.block_scheme(ADD)
    assert member is not None
    ((_, contents, _),) = filter(
        None, SAMPLING.decode_operands(bytes.fromhex("e0031f8b"), {ADD: member.slots})
    )
    assert contents[1:] == (0, 0)  # add x0, xzr, xzr


@pytest.mark.parametrize(
    "texts", [(LOAD, NEAR), (POST, LOAD), (INDEXED, POST), (EXTENDED, INDEXED), (TABLE, POST)]
)
def test_equal_and_different_addresses_are_what_blocks_have(texts: tuple[str, str]) -> None:
    domain = domain_of(*texts)
    pair = (OperandPlace(0, "memory", 0), OperandPlace(1, "memory", 0))
    memory = [slots.memories[0] for slots in domain.space.slots]
    for seed in range(20):
        different = domain.sampler.block([0, 1], Aliasing(frozenset(), frozenset([pair])), Random(seed))
        first, second = (instruction.contents[-1] for instruction in different.instructions)
        assert first != second
        assert domain.block_of_code(different.code) == different
        if memory[0].matches(memory[1]):
            same = domain.sampler.block([0, 1], Aliasing(frozenset([pair]), frozenset()), Random(seed))
            first, second = (instruction.contents[-1] for instruction in same.instructions)
            assert first == second
            assert domain.block_of_code(same.code) == same


def test_accesses_that_move_their_base_do_not_move_that_of_others() -> None:
    assert not {*LAYOUT.bases} & {*LAYOUT.plain_bases, LAYOUT.index_register}
    domain = domain_of(LOAD, POST)
    for seed in range(20):
        block = domain.sampler.block([0, 1, 1, 0], FREE, Random(seed))
        bases = [getattr(instruction.contents[-1], "base", 0) - 1 for instruction in block.instructions]
        displaced = {base for base, part in zip(bases, block.instructions, strict=True) if part.scheme == 0}
        assert displaced <= {*LAYOUT.bases}
        assert {*bases} - displaced <= {*LAYOUT.plain_bases}


def test_lists_of_registers_overlap_registers_within_them() -> None:
    domain = domain_of(TABLE, VECTORS)
    pair = (OperandPlace(0, "register", 0), OperandPlace(1, "register", 1))
    for seed in range(40):
        block = domain.sampler.block([0, 1], Aliasing(frozenset(), frozenset([pair])), Random(seed))
        listed, read = block.instructions[0].contents[0], block.instructions[1].contents[1]
        assert isinstance(listed, int)
        assert isinstance(read, int)
        assert listed.bit_count() == 4
        assert not listed & read


@pytest.mark.parametrize("text", [PAIR, INCREMENT])
def test_registers_differ_where_equal_ones_are_another_instruction_or_none(text: str) -> None:
    domain = domain_of(text)
    for seed in range(40):
        block = domain.sampler.block([0], FREE, Random(seed))
        contents = block.instructions[0].contents
        assert contents[0] != contents[1] if text == PAIR else contents[1] != contents[2]


def test_flags_and_features_are_named_as_in_schemes() -> None:
    member = SAMPLING.block_scheme("adcs GPR[64]:W, GPR[64]:R, GPR[64]:R")
    assert member is not None
    assert member.obstacle(frozenset()) == ""
    assert member.slots.read == member.slots.written != 0
    assert (member.prefix, member.isa_sets, member.extension_family) == ("", ["BASE"], "BASE")
    branch = SAMPLING.block_scheme("cbz GPR[64]:R, REL[21]")
    assert branch is not None
    assert branch.obstacle(frozenset()) == "changes the control flow"
