"""Sampled blocks: what they must be (thesis §8.1.5), on the full set of schemes and on a small one."""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from iced_x86 import Decoder, InstructionInfoFactory, OpAccess, Register, RegisterExt

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.abstract import AbstractBlock
from anica_app.core.domain.settings import DomainSettings, SpaceSettings
from anica_app.core.domain.space import SampledBlock, SchemeSpace, reasons
from anica_app.core.search.settings import SearchSettings
from inference.isa.blocks import block_of_bytes
from inference.isa.operand_slots import Address
from inference.isa.targets import sampling_groups
from inference.isa.x86.register_choices import LINE
from tests.anica.core.small import TEXTS, random_abstract, random_block, small_domain
from tests.drawn import examples

SEEDS = st.integers(0, 2**32)
WRITES = {OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}


@cache
def whole() -> BlockDomain:
    return BlockDomain.of()


def sampled(domain: BlockDomain, abstract: AbstractBlock, seed: int) -> SampledBlock:
    block = domain.sample(abstract, Random(seed))
    assert block is not None
    return block


def general_text(domain: BlockDomain, scheme: int) -> str:
    """The scheme that recognition knows: it does not tell an immediate of 0 from others."""
    text = domain.space.texts[scheme]
    return text.removesuffix("0x0") + "IMM[8]:R" if text.endswith(" 0x0") else text


def test_every_scheme_gives_an_instruction_that_is_recognised_as_just_this() -> None:
    domain = whole()
    for number in range(len(domain.space)):
        block = domain.sampler.instance(number)
        assert domain.block_of_code(block.code) == block, domain.space.texts[number]
        (decoded,) = block_of_bytes(block.code).instructions
        assert decoded.scheme == general_text(domain, number)
        assert not decoded.obstacle


def test_schemes_of_all_groups_are_encoded_as_what_they_are() -> None:
    everything = SpaceSettings(groups=" ".join(sampling_groups()))
    allowed = [text for text, reason in reasons(everything).items() if not reason]
    domain = BlockDomain.of(None, everything, among=Random(1).sample(allowed, 400))
    for number in range(400):
        block = domain.sampler.instance(number)
        assert domain.block_of_code(block.code) == block, domain.space.texts[number]


@examples(60)
@given(SEEDS)
def test_blocks_of_any_schemes_come_back_from_their_machine_code(seed: int) -> None:
    domain = whole()
    block = sampled(domain, domain.unconstrained(4), seed)
    assert domain.block_of_code(domain.code(block)) == block
    decoded = [one.scheme for one in block_of_bytes(block.code).instructions]
    assert decoded == [general_text(domain, one.scheme) for one in block.instructions]


@examples(80)
@given(SEEDS)
def test_sampled_blocks_are_what_they_were_sampled_from(seed: int) -> None:
    domain = small_domain()
    abstract = random_abstract(domain, Random(seed))
    for k in range(4):
        block = domain.sample(abstract, Random(k))
        if block is not None:
            assert domain.contains(abstract, block)
            assert domain.block_of_code(block.code) == block


@examples(40)
@given(SEEDS)
def test_sampling_from_what_represents_a_block_always_finds_one(seed: int) -> None:
    for domain in (small_domain(scheme=True), whole()):
        abstract = domain.represent(random_block(domain, Random(seed), 5))
        random = Random(seed)
        attempts = (domain.sample(abstract, random) for _ in range(SearchSettings().attempts))
        found = next((block for block in attempts if block is not None), None)
        assert found is not None
        assert domain.contains(abstract, found)


def test_the_same_seed_gives_the_same_blocks() -> None:
    one, other = BlockDomain(SchemeSpace.listed(TEXTS)), BlockDomain(SchemeSpace.listed(TEXTS))
    first, second = Random("campaign/1"), Random("campaign/1")
    for _ in range(50):
        assert one.sample(one.unconstrained(3), first) == other.sample(other.unconstrained(3), second)


def written(block: SampledBlock) -> set[int]:
    factory = InstructionInfoFactory()
    return {
        RegisterExt.full_register(used.register)
        for instruction in Decoder(64, block.code)
        for used in factory.info(instruction).used_registers()
        if used.access in WRITES
    }


@examples(60)
@given(SEEDS)
def test_nothing_overwrites_a_register_that_addresses_memory_or_names_the_stack(seed: int) -> None:
    domain = whole()
    block = sampled(domain, domain.unconstrained(5), seed)
    addresses = [one for each in block.instructions for one in each.contents if isinstance(one, Address)]
    chosen = {one.base for one in addresses if one.displacement}
    assert chosen <= {Register.RBP, Register.R14, Register.R15}
    assert not written(block) & chosen
    for each in block.instructions:
        for instruction in Decoder(64, each.code):
            registers = {instruction.op_register(k) for k in range(instruction.op_count)}
            assert not {RegisterExt.full_register(one) for one in registers} & {*chosen, Register.RSP}


@examples(60)
@given(SEEDS)
def test_memory_that_is_written_differently_lies_apart_whatever_the_base_registers_hold(seed: int) -> None:
    domain = whole()
    block = sampled(domain, domain.unconstrained(5), seed)
    addresses = {one for each in block.instructions for one in each.contents if isinstance(one, Address)}
    free = [one for one in addresses if one.displacement]
    assert len({one.displacement for one in free}) == len(free)
    assert all(one.displacement % 64 == 0 and 64 <= one.displacement < 2048 for one in free)


def test_operands_are_the_same_by_chance_now_and_then() -> None:
    domain = BlockDomain(SchemeSpace.listed(["mov GPR[64]:W, MEM[64]:R", "mov MEM[64]:W, GPR[64]:R"]))
    random = Random(5)
    found: Counter[str] = Counter()
    for _ in range(600):
        block = domain.sample(domain.unconstrained(2), random)
        assert block is not None
        for row in domain.document(domain.represent(block))["aliasing"]:
            found[" ".join(row)] += 1
    assert 60 < found["1.memory.1 2.memory.1 same"] < 150  # one in six
    assert 25 < found["1.register.1 2.register.1 same"] < 90  # one in twelve


def test_fixed_operands_that_must_differ_fail_as_in_the_thesis() -> None:
    domain = small_domain()
    shifts = {"mnemonic": {"base": "shl", "edits": 0}, "operands": ["cl:R"]}
    apart = [["1.register.2", "2.register.2", "different"]]
    failures = domain.sampler.failures
    assert (
        domain.sample(domain.read({"instructions": [shifts, shifts], "aliasing": apart}), Random(1)) is None
    )
    assert domain.sampler.failures == failures + 1
    mixed = domain.read({"instructions": [shifts, {}], "aliasing": apart})
    blocks = [domain.sample(mixed, Random(k)) for k in range(60)]
    assert 0 < blocks.count(None) < 20
    assert all(block is None or domain.contains(mixed, block) for block in blocks)


def test_what_must_be_the_same_as_a_fixed_operand_becomes_it() -> None:
    domain = small_domain()
    abstract = domain.read(
        {
            "instructions": [
                {"mnemonic": {"base": "adc", "edits": 0}},
                {"operands": ["cl:R"]},
                {"mnemonic": {"base": "mov", "edits": 0}, "memory": ["R"]},
                {"mnemonic": {"base": "cmpsq", "edits": 0}},
            ],
            "aliasing": [
                ["1.register.1", "2.register.2", "same"],
                ["1.register.2", "1.register.1", "different"],
                ["3.memory.1", "4.memory.2", "same"],
            ],
        }
    )
    for seed in range(20):
        block = sampled(domain, abstract, seed)
        first, _, third, _ = Decoder(64, block.code)
        assert first.op_register(0) == Register.RCX
        assert first.op_register(1) != Register.RCX
        assert third.memory_base == Register.RDI
        assert third.memory_displacement == 0


def test_nothing_is_sampled_from_what_represents_nothing() -> None:
    domain = small_domain()
    empty = domain.read({"instructions": [{"mnemonic": {"base": "nop", "edits": 0}, "memory": ["W"]}]})
    assert domain.generality(empty) == 0
    assert domain.sample(empty, Random(0)) is None


def test_registers_for_ah_go_with_memory_that_needs_no_prefix() -> None:
    domain = BlockDomain(SchemeSpace.listed(["add GPR[8h]:RW, MEM[8]:R", "mov GPR[64]:W, MEM[64]:R"]))
    for seed in range(40):
        block = sampled(domain, domain.unconstrained(3), seed)
        assert domain.block_of_code(block.code) == block


def test_without_aliasing_blocks_have_few_dependencies() -> None:
    texts = ["add GPR[64]:RW, GPR[64]:R", "mov GPR[64]:W, MEM[64]:R", "mov MEM[64]:W, GPR[64]:R"]
    texts += ["vaddpd XMM:W, XMM:R, XMM:R", "vpaddd YMM:W, YMM:R, MEM[256]:R", "lea GPR[64]:W, ADDR[B+I]"]
    domain = BlockDomain(SchemeSpace.listed(texts), DomainSettings(aliasing=False))
    factory = InstructionInfoFactory()
    for seed in range(60):
        block = sampled(domain, domain.unconstrained(5), seed)
        assert domain.block_of_code(block.code) == block
        assert not domain.represent(block).aliasing.pairs
        uses: list[tuple[set[int], set[int]]] = []
        memory: dict[bool, set[int]] = {True: set(), False: set()}
        for instruction in Decoder(64, block.code):
            used = factory.info(instruction).used_registers()
            for one in factory.info(instruction).used_memory():
                memory[one.access in WRITES].add(one.displacement // LINE)
            full = [(RegisterExt.full_register(one.register), one.access) for one in used]
            read = {register for register, access in full if access != OpAccess.WRITE}
            uses.append((read, {register for register, access in full if access in WRITES}))
        assert not memory[True] & memory[False]
        assert len(memory[False]) <= 1
        for k, (_, outputs) in enumerate(uses):
            for other, (inputs, _) in enumerate(uses):
                assert other == k or not outputs & inputs


@pytest.mark.parametrize("position", [0, 1, 2])
def test_removing_an_instruction_leaves_the_others_as_they_are(position: int) -> None:
    domain = small_domain()
    block = sampled(domain, domain.unconstrained(3), 7)
    left = domain.without(block, position)
    assert len(left) == 2
    parts = [one.code for k, one in enumerate(block.instructions) if k != position]
    assert domain.code(left) == b"".join(parts)
    assert domain.block_of_code(left.code) == left


def test_gathers_have_vector_registers_that_differ() -> None:
    domain = BlockDomain(SchemeSpace.listed(["vpgatherdd XMM:RW, MEM[32,XMM]:R, XMM:RW"]))
    for seed in range(80):
        block = sampled(domain, domain.unconstrained(1), seed)
        assert domain.block_of_code(block.code) == block
    same = {"instructions": [{}], "aliasing": [["1.register.1", "1.register.2", "same"]]}
    assert domain.sample(domain.read(same), Random(1)) is None
