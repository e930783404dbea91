"""The loop bodies of AArch64, which llvm-mc encodes; see `inference.isa.words.assembling`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

from inference.agent.protocol import Frame
from inference.isa import llvm_mc
from inference.isa.aarch64 import NAME, by_text, catalogue, instruction_set
from inference.isa.aarch64.allocation import ADDRESSES, COUNTER, MEMORY, VALUES, AArch64Allocator
from inference.isa.aarch64.statements import read_instruction
from inference.isa.facets import WrittenScheme
from inference.isa.machine_bodies import CannotMeasureError
from inference.isa.words.assembling import BodyLanguage, LoopText, WordAssembler, WordBodies
from inference.isa.words.dependent_blocks import DependentBlocks

__all__ = ["BODIES", "CPU", "FEATURES", "TRIPLE", "Assembler", "LoopText", "frame", "obstacle"]

TRIPLE, CPU, FEATURES = "aarch64", "cortex-a72", "+crc,+crypto"
_BYTES = 4  # per instruction


def frame() -> Frame:
    return Frame(
        isa=NAME,
        memory_register=f"x{MEMORY}",
        counter_register=f"x{COUNTER}",
        registers=VALUES,
        addresses=ADDRESSES,
        avx=False,
    )


def _encode(lines: Sequence[str]) -> list[bytes]:
    done = llvm_mc.assemble(lines, TRIPLE, CPU, FEATURES)
    if done.refused:
        number, reason = min(done.refused.items())
        raise llvm_mc.AssemblerError(f"llvm-mc refuses {lines[number]!r}: {reason}")
    if len(done.code) != _BYTES * len(lines):
        raise llvm_mc.AssemblerError(f"llvm-mc made {len(done.code)} bytes of {len(lines)} instructions")
    return [done.code[at : at + _BYTES] for at in range(0, len(done.code), _BYTES)]


@cache
def _refused_schemes() -> dict[str, str]:
    """{scheme that this version of llvm-mc does not know: its message}. One call for all."""
    lines = LANGUAGE.single_lines()
    done = llvm_mc.assemble(list(lines.values()), TRIPLE, CPU, FEATURES)
    texts = list(lines)
    return {texts[number]: reason for number, reason in done.refused.items()}


LANGUAGE = BodyLanguage(
    NAME,
    by_text,
    lambda: instruction_set().forms,
    lambda form: "vector" if form.bank == "vector" else "general",
    AArch64Allocator,
    MEMORY,
    lambda _features: frame(),
    lambda _schemes: (),
    _encode,
    _refused_schemes,
    catalogue.missing_feature,
    needs_assembler=True,
)
BODIES = WordBodies(LANGUAGE)


def code_of_line(line: str) -> bytes:
    """Machine code of a line without llvm-mc, which takes 30 ms for any number of lines."""
    code = read_instruction(line).code()
    if code is None:
        raise CannotMeasureError(line, "it has no encoding")
    return code


DEPENDENT_BLOCKS = DependentBlocks(LANGUAGE, code_of_line)
obstacle = LANGUAGE.obstacle
instances = BODIES.instances


Assembler = partial(WordAssembler, LANGUAGE)


triple, cpu, features = TRIPLE, CPU, FEATURES
models = ""


def register_probes() -> dict[str, bytes]:
    """{}: registers have the same names in all releases."""
    return {}


def gnu_scheme(text: str) -> WrittenScheme | None:
    """None: the only syntax is that of the schemes."""
    return None


def gnu_lines(code: bytes) -> list[str]:
    """The words of the code as assembler directives."""
    return [f".inst {int.from_bytes(code[at : at + 4], 'little'):#010x}" for at in range(0, len(code), 4)]
