"""A small instruction set with everything that makes a difference, and random values over it."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.abstract import AbstractBlock, AbstractInstruction, Aliasing
from anica_app.core.domain.settings import DomainSettings
from anica_app.core.domain.space import SampledBlock, SchemeSpace

TEXTS = (
    "add GPR[64]:RW, GPR[64]:R",
    "add GPR[32]:RW, GPR[32]:R",
    "add GPR[8h]:RW, MEM[8]:R",
    "add GPR[64]:RW, MEM[64]:R",
    "lock add MEM[64]:RW, GPR[64]:R",
    "adc GPR[64]:RW, GPR[64]:R",
    "and GPR[64]:RW, MEM[64]:R",
    "mov GPR[64]:W, MEM[64]:R",
    "mov MEM[64]:W, GPR[64]:R",
    "mov GPR[8]:W, GPR[8]:R",
    "mul GPR[64]:R",
    "xchg GPR[64]:RW, rax:RW",
    "shl GPR[32]:RW, cl:R",
    "shl GPR[32]:RW, IMM[8]:R",
    "shl GPR[32]:RW, 0x0",
    "lea GPR[64]:W, ADDR[B+I]",
    "cmpsq MEM[64,rsi]:R, MEM[64,rdi]:R",
    "stosq MEM[64,rdi]:W, rax:R",
    "push GPR[64]:R",
    "nop",
    "vaddpd XMM:W, XMM:R, XMM:R",
    "vaddps XMM:W, XMM:R, MEM[128]:R",
    "vaddps YMM:W, YMM:R, YMM:R",
    "vmovups MEM[256]:W, YMM:R",
)
UOPS = {text: len(text) % 9 * 4 for text in TEXTS[:-3]}


@cache
def small_domain(*, scheme: bool = False) -> BlockDomain:
    """All features; the exact scheme among them if wanted."""
    features = DomainSettings().features + (" scheme" if scheme else "")
    return BlockDomain(SchemeSpace.listed(TEXTS, UOPS), DomainSettings(features=features))


def random_block(domain: BlockDomain, random: Random, longest: int = 4) -> SampledBlock:
    """Of one to so many instructions of any scheme."""
    block = domain.sample(domain.unconstrained(random.randint(1, longest)), random)
    assert block is not None, "nothing can fail without constraints"
    return block


def above(domain: BlockDomain, abstract: AbstractBlock, random: Random) -> AbstractBlock:
    """An abstract block that is as general or more so, made without the domain's expansions."""
    names = domain.vocabulary.names
    instructions = tuple(
        AbstractInstruction(
            tuple(_above(name, value, random) for name, value in zip(names, one.values, strict=True))
        )
        for one in abstract.instructions
    )
    keep = random.random()
    return AbstractBlock(
        instructions,
        Aliasing(
            frozenset(pair for pair in abstract.aliasing.must if random.random() < keep),
            frozenset(pair for pair in abstract.aliasing.must_not if random.random() < keep),
        ),
        frozenset(one for one in sorted(abstract.dependencies) if random.random() < keep),
    )


def _above(name: str, value: Any, random: Random) -> Any:
    fate = random.random()
    if value is None or fate < 0.3:
        return None
    if fate < 0.6:
        return value
    if name == "mnemonic":
        return value[0], random.randint(value[1], 3)
    if name == "uops":
        return random.randint(value, 5)
    if name in ("memory", "operands") and value != "none":
        return frozenset(one for one in value if random.random() < 0.5)
    return value


def random_abstract(domain: BlockDomain, random: Random) -> AbstractBlock:
    """Something above what represents a random block."""
    return above(domain, domain.represent(random_block(domain, random)), random)
