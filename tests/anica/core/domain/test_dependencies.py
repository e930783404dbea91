"""Which instruction reads what another wrote: by hand, by the decoder's table, and in sampled blocks."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from iced_x86 import Decoder, Instruction, InstructionInfoFactory, OpAccess, OpKind, Register, RegisterExt

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.settings import DomainSettings
from anica_app.core.domain.space import SampledBlock, SchemeSpace
from inference.isa.blocks import block_of_text
from tests.anica.core.small import TEXTS, above, random_block, small_domain
from tests.drawn import examples

SEEDS = st.integers(0, 2**32)
READS = {OpAccess.READ, OpAccess.COND_READ, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
WRITES = {OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}


@cache
def whole() -> BlockDomain:
    return BlockDomain.of()


def waits_of(text: str) -> set[str]:
    """`1>2 register`: instruction 2 reads a register that 1 wrote."""
    block = whole().block_of_code(block_of_text(text).code)
    assert block is not None, text
    found = block.dependencies(whole().space)
    return {f"{one.writer + 1}>{one.reader + 1} {one.kind}" for one in found}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("mov rax, rbx; lea rcx, [rax + 8]", {"1>2 register"}),
        ("lea rcx, [rax + 8]; mov rax, rbx", {"2>1 register"}),
        ("mov rax, rbx; mov rcx, rdx", set()),
        ("add rax, rbx", set()),
        ("add rax, rbx; adc rcx, rdx", {"1>2 flag"}),
        ("cmp rax, rbx; test rcx, rdx; setc r8b", {"2>3 flag"}),
        ("setz r8b; cmp r9b, r10b", {"2>1 flag"}),
        ("mov r8d, 5; movzx eax, r8b", {"1>2 register"}),
        ("mov al, bl", set()),
        ("mov ah, bl; movzx ecx, al", set()),
        ("mov ah, bl; mov rcx, rax", {"1>2 register"}),
        ("mul rcx; mov rcx, rdx", {"1>2 register", "2>1 register"}),
        ("mov rax, rbx; mov rax, rcx; mov rdx, rax", {"2>3 register"}),
        ("mov rax, [rbx]; mov rbx, [rax]", set()),
        ("push rax; pop rbx", set()),
        ("vaddps xmm1, xmm2, xmm3; vmulps ymm2, ymm1, ymm4", {"1>2 register", "2>1 register"}),
        (
            "vpcmpestrm xmm1, xmm2, 3; vmovaps ymm5, ymm0; sbb rcx, rdx",
            {"1>2 register", "1>3 flag"},
        ),
        ("inc eax; adc ecx, edx", set()),
        ("nop", set()),
        ("mov rdx, rbx; cwd", {"1>2 register"}),
        ("mov rdx, rbx; mul cx", {"1>2 register"}),
        ("mov rax, rbx; lahf", {"1>2 register"}),
    ],
)
def test_who_waits_for_whom(text: str, found: set[str]) -> None:
    assert waits_of(text.replace("; ", "\n")) == found


@cache
def factory() -> InstructionInfoFactory:
    return InstructionInfoFactory()


def used_by(one: Instruction) -> tuple[set[tuple[int, int]], set[tuple[int, int]], int, int]:
    """Bytes of registers read and written, and bits of flags, as the decoder's table has it."""
    reads: set[tuple[int, int]] = set()
    writes: set[tuple[int, int]] = set()
    info = factory().info(one)
    addressing = {
        RegisterExt.full_register(part)
        for memory in info.used_memory()
        for part in (memory.base, memory.index)
    }
    for each in info.used_registers():
        full = RegisterExt.full_register(each.register)
        if RegisterExt.is_gpr8(each.register):
            parts = {1 if Register.AH <= each.register <= Register.BH else 0}
        else:
            parts = {0, 1}
        some = {(full, part) for part in parts}
        narrow = RegisterExt.is_gpr8(each.register) or RegisterExt.is_gpr16(each.register)
        kept = each.access == OpAccess.COND_WRITE or (narrow and each.access in WRITES)
        if (each.access in READS or kept) and full not in addressing:
            reads |= some
        if each.access in WRITES:
            writes |= some
    written = one.rflags_written | one.rflags_cleared | one.rflags_set | one.rflags_undefined
    return reads, writes, one.rflags_read, written


def by_the_decoder(block: SampledBlock) -> set[tuple[int, int, str]]:
    used = [used_by(one) for one in Decoder(64, block.code)]
    found = set()
    for writer in range(len(used)):
        registers, flags = set(used[writer][1]), used[writer][3]
        for distance in range(1, len(used)):
            reader = (writer + distance) % len(used)
            if registers & used[reader][0]:
                found.add((writer, reader, "register"))
            if flags & used[reader][2]:
                found.add((writer, reader, "flag"))
            registers -= used[reader][1]
            flags &= ~used[reader][3]
    return found


def is_zero_idiom(one: Instruction) -> bool:
    """Whether the decoder may take it not to read its operands, which are all the same."""
    names = [one.op_register(at) for at in range(one.op_count) if one.op_kind(at) == OpKind.REGISTER]
    return len(names) > 1 and len(set(names[-2:])) == 1


@examples(150)
@given(SEEDS)
@example(1744)
@example(2014)
@example(8464)
def test_dependencies_are_those_that_the_table_of_the_decoder_gives(seed: int) -> None:
    block = random_block(whole(), Random(seed), 5)
    assume(not any(map(is_zero_idiom, Decoder(64, block.code))))
    assert {tuple(one) for one in block.dependencies(whole().space)} == by_the_decoder(block), [
        str(i) for i in Decoder(64, block.code)
    ]


@examples(150)
@given(SEEDS)
def test_blocks_that_are_sampled_have_the_dependencies_that_are_asked_for(seed: int) -> None:
    random = Random(seed)
    for domain in (small_domain(), whole()):
        abstract = above(domain, domain.represent(random_block(domain, random, 4)), random)
        found = [block for _ in range(100) if (block := domain.sample(abstract, random)) is not None]
        assert found, "the block that it represents is one"
        for block in found:
            assert domain.contains(abstract, block)
            assert abstract.dependencies <= block.dependencies(domain.space)
            assert domain.block_of_code(block.code) == block


def test_a_dependency_alone_finds_its_operands() -> None:
    domain = whole()
    asked = {"instructions": [{}, {}], "dependencies": [[1, 2, "register"], [2, 1, "flag"]]}
    abstract, random = domain.read(asked), Random(3)
    found = [domain.sample(abstract, random) for _ in range(300)]
    blocks = [block for block in found if block is not None]
    assert len(blocks) > 250, "schemes that cannot have it are not even drawn"
    readers = {domain.space.schemes[block.instructions[0].scheme].mnemonic for block in blocks}
    assert {"adc", "rcl"} <= readers
    assert any(name.startswith("cmov") for name in readers)
    assert all(abstract.dependencies <= block.dependencies(domain.space) for block in blocks)


def test_samples_of_what_an_expansion_adds_lack_the_dependency() -> None:
    domain = whole()
    special = domain.read({"instructions": [{}, {}], "dependencies": [[1, 2, "register"], [2, 1, "flag"]]})
    (expansion,) = [one for one in domain.expansions(special) if "flag" in str(one)]
    general, random = domain.expand(special, expansion), Random(5)
    new = [block for _ in range(100) if (block := domain.sample_new(special, general, random)) is not None]
    assert len(new) > 50
    assert all(domain.contains(general, block) and not domain.contains(special, block) for block in new)


@pytest.mark.parametrize("settings", [DomainSettings(dependencies=False), DomainSettings(aliasing=False)])
def test_whoever_does_not_want_them_has_none(settings: DomainSettings) -> None:
    domain = BlockDomain(SchemeSpace.listed(TEXTS), settings)
    for seed in range(50):
        block = random_block(domain, Random(seed))
        assert not domain.represent(block).dependencies


def test_what_is_overwritten_in_between_is_not_covered_by_the_dependency() -> None:
    domain = whole()
    carry = domain.read({"instructions": [{}, {}], "dependencies": [[1, 2, "flag"]]})

    def covered(text: str) -> bool:
        block = domain.block_of_code(block_of_text(text).code)
        assert block is not None
        return domain.subsumes(carry, domain.represent(block))

    assert covered("add rax, rbx\nadc rcx, rdx")
    assert covered("adc rcx, rdx\nadd rax, rbx")
    assert covered("add rax, rbx\nmov r8, r9\nadc rcx, rdx")
    assert not covered("add rax, rbx\nmov rcx, rdx")
    assert not covered("cmp rax, rbx\nmov rcx, rdx\nnop")


def test_nothing_writes_what_a_string_instruction_addresses_memory_through() -> None:
    domain = whole()
    abstract = domain.read({"instructions": [{"category": "string"}, {}, {}]})
    random = Random(11)
    for _ in range(300):
        block = domain.sample(abstract, random)
        assert block is not None
        first, *others = Decoder(64, block.code)
        memory = {used.base for used in factory().info(first).used_memory()}
        for one, scheme in zip(others, block.instructions[1:], strict=True):
            if domain.space.slots[scheme.scheme].pointing:
                continue  # which moves its own addresses along
            written = {
                RegisterExt.full_register(used.register)
                for used in factory().info(one).used_registers()
                if used.access in WRITES
            }
            assert not memory & written, block.code.hex()


def test_a_fixed_register_that_is_overwritten_in_between_leaves_other_ways() -> None:
    domain = whole()
    texts = ("cmpxchg GPR[64]:RW, GPR[64]:R", "lodsq rax:W, MEM[64,rsi]:R", "mul GPR[64]:R")
    asked = [{"scheme": text} for text in texts]
    by_scheme = BlockDomain(domain.space, DomainSettings(features=DomainSettings().features + " scheme"))
    abstract = by_scheme.read({"instructions": asked, "dependencies": [[1, 3, "register"]]})
    random = Random(2)
    found = [by_scheme.sample(abstract, random) for _ in range(200)]
    assert sum(block is not None for block in found) > 100


def test_blocks_without_dependencies_are_not_said_to_have_them() -> None:
    domain = BlockDomain(SchemeSpace.listed(TEXTS), DomainSettings(aliasing=False))
    abstract = domain.read({"instructions": [{}, {}], "dependencies": [[1, 2, "flag"]]})
    random = Random(4)
    blocks = [block for _ in range(200) if (block := domain.sample(abstract, random)) is not None]
    assert blocks, "flags cannot be avoided"
    unmet = domain.read({"instructions": [{}, {}], "dependencies": [[1, 2, "register"]]})
    blocks += [block for _ in range(200) if (block := domain.sample(unmet, random)) is not None]
    assert all(domain.contains(abstract, block) or domain.contains(unmet, block) for block in blocks)
