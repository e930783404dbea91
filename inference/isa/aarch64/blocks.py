"""The block facet of AArch64: from machine code to instructions and their schemes, and back."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cached_property, lru_cache

from inference.isa.aarch64 import NAME, catalogue
from inference.isa.aarch64.decoding import WORD_BYTES, decode, table, words_of
from inference.isa.aarch64.printing import text_of, word_directive
from inference.isa.aarch64.statements import read_instruction
from inference.isa.code.block import (
    LABEL,
    MAX_INSTRUCTIONS,
    Block,
    BlockError,
    BlockInstruction,
    refuse_length,
)
from inference.isa.code.control_flow import LOOP, CodeStep, Flow
from inference.isa.code.markers import object_file_of
from inference.isa.words import accesses as words
from inference.isa.words.accesses import DecodedInstruction, InMemory, RegisterPart

GENERAL = [*(f"x{number}" for number in range(31)), "sp"]
"""General-purpose registers by number."""

ASSEMBLY = f"{NAME}, {catalogue.version()}"
"""The writer of the texts with its version, for the identity of answers that depend on them."""

_COUNTERS = tuple(f"x{number}" for number in (*range(17, -1, -1), *range(28, 18, -1), 29, 30))
"""The best first; x18 is the platform's."""

_JUMPS: tuple[Flow, ...] = ("jump", "branch")
_MACHINE = 183  # AArch64 in ELF files
_NO_OPERATION = 0xD503201F
_MARKED_REGISTER, _BEGIN, _END = 1, 111, 222
_MOVE, _DECREMENT, _BRANCH = (
    "mov GPR[64]:W, IMM[16]:R",
    "sub GPR[64]:W, GPR[64]:R, IMM[12]:R",
    "cbnz GPR[64]:R, REL[21]",
)


class AArch64Instruction(BlockInstruction):
    """One instruction of AArch64. Its text is in GNU's spelling."""

    isa = NAME
    counters = _COUNTERS

    @cached_property
    def decoded(self) -> DecodedInstruction:
        return decode(int.from_bytes(self.code, "little"))

    @property
    def scheme(self) -> str | None:
        return self.decoded.scheme

    @property
    def obstacle(self) -> str:
        return self.decoded.obstacle

    @cached_property
    def registers(self) -> frozenset[str]:
        """The 64-bit names of all general-purpose registers that it uses, implicit ones included."""
        numbers: set[int] = set()
        for operand in self.decoded.operands:
            if isinstance(operand, RegisterPart) and operand.bank == words.GENERAL:
                numbers.update((operand.number + k) % 32 for k in range(operand.span))
            elif isinstance(operand, InMemory):
                numbers.update(() if operand.base is None else (operand.base,))
                if operand.index is not None and operand.index.bank == words.GENERAL:
                    numbers.add(operand.index.number)
        form = self.decoded.form
        fixed = (
            name
            for operand in (form.operands if form else ())
            if operand.implicit
            for name in operand.registers
        )
        return frozenset(
            (*(GENERAL[number] for number in numbers), *(name for name in fixed if name in GENERAL))
        )

    @cached_property
    def text(self) -> str:
        return line_of(int.from_bytes(self.code, "little"))

    def jump_text(self, size: int) -> str:
        distance = self.decoded.distance
        return text_of(self.decoded, target=LABEL if distance == -size else "")


def block_of_bytes(code: bytes) -> Block:
    """Decode machine code. Raises `BlockError`."""
    refuse_length(code)
    steps = steps_of(code)
    if len(steps) > MAX_INSTRUCTIONS:
        raise BlockError(f"a basic block has at most {MAX_INSTRUCTIONS} instructions, not {len(steps)}")
    instructions = tuple(AArch64Instruction(step.code) for step in steps)
    if _is_closing(steps[-1]):
        return Block(code, instructions[:-1], instructions[-1])
    return Block(code, instructions)


def body_of(code: bytes) -> bytes:
    """Machine code without the jump that closes a loop; other code, and undecodable bytes, unchanged."""
    *_, last = [None, *steps_of_region(code, 0)]
    is_loop = last is not None and len(code) % WORD_BYTES == 0 and _is_closing(last)
    return code[:-WORD_BYTES] if is_loop else code


def mnemonics_of(code: bytes) -> tuple[str, ...]:
    """The mnemonic of each instruction, such as "add". Raises `BlockError`."""
    refuse_length(code)
    return tuple(instruction.mnemonic for instruction in _decoded(code))


def schemes_of_bytes(code: bytes) -> tuple[str | None, ...]:
    """The scheme of each instruction but a loop's closing jump; None for one without a scheme.

    Raises `BlockError`.
    """
    return tuple(instruction.scheme for instruction in _decoded(body_of(code)))


def steps_of(code: bytes, address: int = 0) -> list[CodeStep]:
    """Machine code at an address. Raises `BlockError` at undecodable bytes."""
    return [
        _step(instruction, address + WORD_BYTES * place) for place, instruction in enumerate(_decoded(code))
    ]


def steps_of_region(code: bytes, address: int) -> Iterator[CodeStep]:
    """Arbitrary bytes: an undecodable word ends a path and is skipped."""
    for place, word in enumerate(words_of(code)):
        yield _step(decode(word), address + WORD_BYTES * place)


def close_loop(body: bytes, jump: bytes) -> bytes | None:
    """The body with a jump of the same condition back to its start; None where it cannot reach so far."""
    word = int.from_bytes(jump, "little")
    decoded_form = table().decode(word)
    if decoded_form is None or decoded_form[0].encoding.flow not in _JUMPS:
        return None
    form, operands = decoded_form
    closing = form.word([*operands[:-1], -len(body)])
    return None if closing is None else body + struct.pack("<I", closing)


def intel_of_bytes(code: bytes) -> tuple[str, ...]:
    """The instructions as pages and commands print them. Raises `BlockError`."""
    return _listed(code)


att_of_bytes = plain_att_of_bytes = intel_of_bytes
"""AArch64 has one order of operands."""


def as_loop(code: bytes) -> bytes:
    """A loop unchanged; another block, `sub` of an unused register and `cbnz`, which keep the flags.

    Raises `BlockError` for invalid code, and for a block that uses all general-purpose registers.
    """
    block = block_of_bytes(code)
    if block.kind == LOOP:
        return code
    if not block.unused_register:
        raise BlockError("a loop needs a counter, but the block uses all general-purpose registers")
    counter = RegisterPart(words.GENERAL, GENERAL.index(block.unused_register), 64)
    back = -len(code) - WORD_BYTES
    return code + _encoded(_DECREMENT, counter, counter, 1) + _encoded(_BRANCH, counter, back)


def with_markers(code: bytes) -> bytes:
    """The block between the markers that OSACA finds: `mov x1, #111` or `#222`, and a `nop`."""
    register = RegisterPart(words.GENERAL, _MARKED_REGISTER, 64)
    begin, end = (
        _encoded(_MOVE, register, number) + struct.pack("<I", _NO_OPERATION) for number in (_BEGIN, _END)
    )
    return begin + code + end


def object_file(code: bytes, name: str = "block") -> bytes:
    """A relocatable ELF file for AArch64 with the code as a global function of this name."""
    return object_file_of(code, name, _MACHINE)


@lru_cache(maxsize=1 << 16)
def line_of(word: int) -> str:
    """An instruction other than a loop's jump, as text that reads back to the same word."""
    text = text_of(decode(word))
    try:
        return text if read_instruction(text).word() == word else f"{word_directive(word)} // {text}"
    except BlockError:
        return f"{word_directive(word)} // {text}"


def _listed(code: bytes) -> tuple[str, ...]:
    block = block_of_bytes(code)
    lines = [text for _, text in block.listing]
    if block.kind == LOOP:
        lines[0] = f"{LABEL}: {lines[0]}"
    return tuple(lines)


def _encoded(scheme: str, *operands: RegisterPart | int) -> bytes:
    word = table().by_text[scheme].word(operands)
    assert word is not None
    return struct.pack("<I", word)


def _decoded(code: bytes) -> list[DecodedInstruction]:
    if len(code) % WORD_BYTES:
        raise BlockError(f"instructions of {NAME} have four bytes each; these are {len(code)} bytes")
    instructions = [decode(word) for word in words_of(code)]
    for place, instruction in enumerate(instructions):
        if instruction.form is None:
            number, digits = WORD_BYTES * place + 1, code[WORD_BYTES * place :][:WORD_BYTES].hex()
            raise BlockError(f"the word at byte {number} ({digits}) {instruction.reason}")
    return instructions


def _step(instruction: DecodedInstruction, address: int) -> CodeStep:
    code = struct.pack("<I", instruction.word)
    is_jump = instruction.flow in _JUMPS and instruction.distance is not None
    target = address + (instruction.distance or 0) if is_jump else None
    return CodeStep(address, code, instruction.flow, target)


def step_at(word: int, address: int) -> CodeStep | None:
    """The step of a word at an address; None for an unknown word."""
    instruction = decode(word)
    return None if instruction.form is None else _step(instruction, address)


def _is_closing(step: CodeStep) -> bool:
    """Whether the last step of code at address 0 jumps back to its first."""
    return step.target == 0 and step.address != 0


__all__ = [
    "ASSEMBLY",
    "GENERAL",
    "AArch64Instruction",
    "as_loop",
    "att_of_bytes",
    "block_of_bytes",
    "body_of",
    "close_loop",
    "intel_of_bytes",
    "line_of",
    "mnemonics_of",
    "object_file",
    "plain_att_of_bytes",
    "schemes_of_bytes",
    "step_at",
    "steps_of",
    "steps_of_region",
    "with_markers",
]
