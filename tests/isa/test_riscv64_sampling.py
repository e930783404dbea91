"""Random blocks of RISC-V: operands that are chosen are those that are decoded."""

from __future__ import annotations

from random import Random

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.abstract import FREE, Aliasing
from anica_app.core.domain.space import SchemeSpace
from inference.isa.operand_slots import OperandPlace
from inference.isa.riscv64.sampling import LAYOUT, SAMPLING
from inference.isa.targets import RISCV

ADD = "add GPR[64]:W, GPR[64]:R, GPR[64]:R"
LOAD = "ld GPR[64]:W, MEM[64]:R"
STORE = "fsd FPR[64]:R, MEM[64]:W"
SIGN = "fsgnj.d FPR[64]:W, FPR[64]:R, FPR[64]:R"


def domain_of(*texts: str) -> BlockDomain:
    return BlockDomain(SchemeSpace.listed(texts, isa=RISCV))


def test_each_scheme_is_decoded_with_the_operands_that_were_chosen() -> None:
    members = [member for member in SAMPLING.block_schemes().values() if not member.obstacle(frozenset())]
    slots = {member.scheme.text: member.slots for member in members}
    filled = SAMPLING.filler(members)
    assert len(members) > 190
    for number, member in enumerate(members):
        (filling,) = SAMPLING.independent_fillings([member])
        contents, code = filled(number, filling)
        assert list(SAMPLING.decode_operands(code, slots)) == [(member.scheme.text, contents, code)]


def test_compressed_instructions_have_the_operands_of_their_scheme() -> None:
    member = SAMPLING.block_scheme(ADD)
    assert member is not None
    code = bytes.fromhex("2e953305b500ff")  # c.add a0, a1; add a0, a0, a1; half an instruction
    short, long, rest = SAMPLING.decode_operands(code, {ADD: member.slots})
    assert short is not None
    assert long is not None
    assert (short[:2], len(short[2])) == (long[:2], 2)
    assert rest is None


def test_the_zero_register_aliases_nothing() -> None:
    member = SAMPLING.block_scheme(ADD)
    assert member is not None
    ((_, contents, _),) = filter(
        None, SAMPLING.decode_operands(bytes.fromhex("b3000000"), {ADD: member.slots})
    )
    assert contents[1:] == (0, 0)


def test_equal_and_different_addresses_are_what_blocks_have() -> None:
    domain = domain_of(LOAD, STORE)
    pair = (OperandPlace(0, "memory", 0), OperandPlace(1, "memory", 0))
    for seed in range(20):
        for aliasing, is_equal in (
            (Aliasing(frozenset([pair]), frozenset()), True),
            (Aliasing(frozenset(), frozenset([pair])), False),
        ):
            block = domain.sampler.block([0, 1], aliasing, Random(seed))
            first, second = (instruction.contents[-1] for instruction in block.instructions)
            assert (first == second) == is_equal
            assert domain.block_of_code(block.code) == block


def test_sources_differ_where_equal_ones_are_a_move() -> None:
    domain = domain_of(SIGN)
    for seed in range(20):
        contents = domain.sampler.block([0], FREE, Random(seed)).instructions[0].contents
        assert contents[1] != contents[2]


def test_registers_of_addresses_are_no_operands() -> None:
    assert not {*LAYOUT.bases, *LAYOUT.plain_bases} & {*LAYOUT.choices}
    assert not {0, 2, 3, 4} & {*LAYOUT.choices}
