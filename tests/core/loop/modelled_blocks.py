"""Blocks on core models for tests of their analysis: random ones, and a core with fused jumps."""

from __future__ import annotations

import gzip
import random
from dataclasses import replace
from functools import cache
from pathlib import Path

from inference.core.core_model import Assumptions, CoreModel, FrontEndLimits, NearestSchemes
from inference.core.loop.analysis import analyse
from inference.core.loop.modelled import ModelledBlock, modelled
from inference.core.loop.values import Changes, LoopAnalysis
from inference.core.mapping import PortMapping
from inference.formats.core_model_json import read_core_model
from inference.isa.blocks import Block, read_blocks
from inference.isa.targets import DEFAULT, target_of
from tests.core.core_model.small_core import CORE

GALLERY = Path("inference/features/library/gallery/cores")
CMP, JNE = "cmp GPR[64]:R, GPR[64]:R", "jne REL[8]"
PAIR = "cmp reg, reg + je"

assert CORE.mapping is not None
assert CORE.front_end is not None
JUMPING = replace(
    CORE,
    mapping=PortMapping(
        ("0", "1", "2", "3", "4"),
        {**CORE.mapping.usage, CMP: ((0b0011, 1),), JNE: ((0b10000, 1),)},
        issue_width=4,
    ),
    front_end=replace(CORE.front_end, fused=frozenset({PAIR})),
)
"""`CORE` with a port for jumps, which fuse with comparisons."""
UNFUSED = replace(JUMPING, front_end=FrontEndLimits(6.0, 4.0, 16.0, 1000, 1.0, fused=frozenset()))

_INSTRUCTIONS = (
    "add rax, rbx",
    "add rcx, 8",
    "imul rax, rcx",
    "imul rdx, rbx",
    "mov rbx, rcx",
    "mov rax, qword ptr [rsi]",
    "mov rdx, qword ptr [rsi+rcx*8]",
    "mov qword ptr [rdi], rax",
    "mov qword ptr [rdi+8], rdx",
    "mov dword ptr [rdi+rcx*4], eax",
    "add rax, qword ptr [rsi]",
    "xor eax, eax",
    "xor r8, r9",
    "lea r8, [rcx+8]",
    "popcnt r9, rax",
    "shl r9, 3",
    "vaddsd xmm0, xmm0, xmm1",
    "vaddsd xmm2, xmm2, qword ptr [rsi]",
    "vfmadd231pd ymm3, ymm4, ymm5",
    "vmulsd xmm1, xmm1, xmm2",
    "nop",
    "adc rax, rdx",
    "div rbx",
    "bsf r10, rax",
    "push rax",
    "pop rcx",
    "cmp rax, rcx",
)


@cache
def recorded_core(name: str = "zen-4") -> CoreModel:
    return read_core_model(gzip.decompress((GALLERY / f"{name}.json.gz").read_bytes())).model()


RECORDED_CORES = sorted(path.name.removesuffix(".json.gz") for path in GALLERY.glob("*.json.gz"))


def block_of(code: str) -> Block:
    (block,) = read_blocks(code, 1)
    return block


def loop_of(code: str) -> Block:
    """The code as a loop that ends with a comparison."""
    return block_of(f".L:\n{code}\ncmp rsi, rdi\njne .L")


def random_block(seed: int, longest: int = 12) -> Block:
    """Straight code, or a loop."""
    dice = random.Random(seed)
    code = "\n".join(dice.choices(_INSTRUCTIONS, k=dice.randint(1, longest)))
    return loop_of(code) if dice.random() < 0.6 else block_of(code)


def on_core(
    block: Block, model: CoreModel, *, nearest: bool = False, changes: Changes | None = None
) -> ModelledBlock:
    schemes = NearestSchemes(model, target_of(DEFAULT).schemes.scheme_of) if nearest else None
    return modelled(block, model, schemes, Assumptions(in_loop=True), changes or Changes())


def analysis(
    code: str, model: CoreModel, *, nearest: bool = False, changes: Changes | None = None
) -> LoopAnalysis:
    return analyse(on_core(block_of(code), model, nearest=nearest, changes=changes))
