"""Prepares blocks of x86-64 for measurements: start values, and a jump that closes a loop.

The jump is of the loop's own kind, and taken each time. The condition of the code itself is ignored: the
agent counts iterations. Copies of a loop lie one behind another, each at the beginning of a line of the
instruction cache, and each ends with a jump to the next one, so that an iteration has one taken jump as in
the program.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import log2

from iced_x86 import Decoder, FlowControl, Instruction, Mnemonic, OpKind, Register, RegisterExt

from inference.isa.code.block import LINE, Block, Iteration
from inference.isa.code.control_flow import LOOP
from inference.isa.dependences import MEMORY_BYTES
from inference.isa.scheme import GROUPS, TOP_OF_STACK, Scheme
from inference.isa.x86.addresses import block_walks
from inference.isa.x86.assembly.encoding import encode, encode_jump
from inference.isa.x86.assembly.operands import (
    ImmediateOperand,
    RegisterOperand,
    WrittenInstruction,
    registers,
)
from inference.isa.x86.body_context import needs
from inference.isa.x86.forms import MNEMONICS
from inference.isa.x86.instances import register_names
from inference.isa.x86.scheme_set import scheme_and_form

_WALK_BYTES = MEMORY_BYTES // 2
"""Memory within which a block walks; the rest is for its other accesses."""

_SHORT = 8
"""Bits of the jumps' distances, which are less than a line."""

_VECTORS = ("XMM", "YMM", "ZMM", "xmm", "ymm")
_TRAP = b"\xcc"  # int3: a jump that is not taken shows
_COMPARED = 1
"""The compared register's value."""

_OVERFLOWS = -(2**31)  # its difference from `_COMPARED` exceeds 32 bits
_CONDITIONS_BY_OPERAND = {
    # cmp of 1 with: 0 leaves 1; 1 leaves 0; 2 borrows and leaves -1; the last one overflows
    0: "ne a ae g ge ns np no",
    1: "e be le p",
    2: "b l s",
    _OVERFLOWS: "o",
}
_COMPARED_WITH = {name: value for value, names in _CONDITIONS_BY_OPERAND.items() for name in names.split()}
_TESTED = {
    **dict.fromkeys("ne a ae g ge ns np no".split(), 1),  # noqa: SIM905
    **dict.fromkeys("e be le p".split(), 0),  # noqa: SIM905
    **dict.fromkeys("l s".split(), -1),  # noqa: SIM905
}
"""{condition: value of a register for which `test` with itself makes it true}; it never makes `b` and `o`
true."""


def iteration_of(block: Block) -> Iteration:
    """One iteration; that of a loop fills whole lines of the instruction cache."""
    if block.kind != LOOP or block.closing is None:
        return Iteration(block.code)
    jump = Decoder(64, block.closing.code).decode()
    name = MNEMONICS[jump.mnemonic]
    if jump.flow_control == FlowControl.UNCONDITIONAL_BRANCH:
        return Iteration(_pad(block.body, ["jmp"]), loop_note="measured in a loop closed by jmp")
    condition = name.removeprefix("j")
    if (pair := _fused_pair(block, condition)) is not None:
        return pair
    words = f"measured in a loop closed by {name}, or by jmp where {name} falls through"
    return Iteration(_pad(block.body, [name, "jmp"]), loop_note=words)


def walk_end(block: Block, copies: int, registers: Mapping[str, int]) -> bytes:
    """Code behind the copies in a loop that keeps registers which walk through memory within `_WALK_BYTES`.

    A bit of the register, 0 at the start, is cleared again once additions have set it; one that is 1 is set
    again once subtractions have cleared it. Registers that would still escape are left alone.

    Args:
        block: Block of which `copies` are in the loop.
        copies: Before this code.
        registers: {name: start value}; 0 for others.
    """
    code = b""
    for walk in block_walks([instruction.code for instruction in block.instructions]):
        start = registers.get(register_names()[Register.RAX + walk.register], 0)
        falls = walk.step < 0
        largest = int(log2(max(_WALK_BYTES / max(walk.bytes_per_unit, 1), 1)))
        bit = next((bit for bit in range(largest, 0, -1) if start >> bit & 1 == falls), 0)
        if abs(walk.step) * copies < 1 << bit:
            operation = 0xC8 if falls else 0xE0  # or, and
            mask = 1 << bit if falls else -1 - (1 << bit)
            code += bytes([0x48 | walk.register >> 3, 0x81, operation | walk.register & 7])
            code += mask.to_bytes(4, "little", signed=True)
    return code


def _fused_pair(block: Block, condition: str) -> Iteration | None:
    """Closed by a comparison and a branch of the same kind, with an unused register."""
    if not block.instructions or not block.unused_registers:
        return None
    last = block.instructions[-1].code
    comparison = Decoder(64, last).decode()
    if not _compares_registers(comparison):
        return None
    register = block.unused_registers[0]
    half = RegisterExt.full_register32(registers()[register])
    name, operand = register_names()[half], RegisterOperand(half)
    if comparison.mnemonic == Mnemonic.TEST:
        if condition not in _TESTED:
            return None
        value = _TESTED[condition]
        written, text = WrittenInstruction("test", (operand, operand)), f"test {name}, {name}"
    else:
        value, number = _COMPARED, _COMPARED_WITH[condition]
        written, text = (
            WrittenInstruction("cmp", (operand, ImmediateOperand(number))),
            f"cmp {name}, {number}",
        )
    body = block.body[: -len(last)] + encode(written)
    words = f"measured in a {text.partition(' ')[0]}/j{condition} loop"
    return Iteration(_pad(body, [f"j{condition}"]), {register: value % 2**64}, words)


def _compares_registers(instruction: Instruction) -> bool:
    """Whether it only sets flags, from registers and numbers."""
    kinds = [instruction.op_kind(position) for position in range(instruction.op_count)]
    return instruction.mnemonic in (Mnemonic.CMP, Mnemonic.TEST) and OpKind.MEMORY not in kinds


def _pad(body: bytes, jumps: list[str]) -> bytes:
    """The body followed by jumps to the next line of the instruction cache."""
    sizes = [len(encode_jump(name, 0, _SHORT) or b"") for name in jumps]
    end = len(body) + sum(sizes)
    end += -end % LINE
    code = body
    for name in jumps:
        size = len(encode_jump(name, 0, _SHORT) or b"")
        code += encode_jump(name, end - len(code) - size, _SHORT) or b""
    return code + _TRAP * (end - len(code))


def needs_avx(block: Block, flags: Collection[str] | None) -> bool:
    """Whether vector registers start 256 bits wide: legacy SSE alone would wait for their upper halves."""
    if flags is not None and "avx" not in flags:
        return False
    schemes = [scheme for step in block.instructions if (scheme := _scheme(step.scheme)) is not None]
    vectors = [s for s in schemes if any(operand.name.startswith(_VECTORS) for operand in s.operands)]
    return not vectors or any(scheme.encoding != "legacy" for scheme in vectors)


def mask_bits(block: Block, flags: Collection[str] | None) -> int:
    """Bits of the mask registers: 16 or 64 where block and CPU have AVX-512, else 0."""
    schemes = (_scheme(step.scheme) for step in block.instructions)
    if not any(scheme is not None and "avx512" in needs(scheme) for scheme in schemes):
        return 0
    if flags is not None and "avx512f" not in flags:
        return 0
    return 64 if flags is None or "avx512bw" in flags else 16


def filled_fpu(block: Block) -> str:
    """The unit whose registers are filled before the block: "x87", "mmx", or "" for neither.

    "x87" where the block computes with its registers and pushes nothing, "mmx" for MMX without x87.
    """
    schemes = [scheme for step in block.instructions if (scheme := _scheme(step.scheme)) is not None]
    exclusions = [scheme.exclusion for scheme in schemes if "x87" in needs(scheme)]
    if exclusions:
        return "x87" if all(step.startswith((GROUPS["x87"], TOP_OF_STACK)) for step in exclusions) else ""
    return "mmx" if any("mmx" in needs(scheme) for scheme in schemes) else ""


def _scheme(text: str | None) -> Scheme | None:
    scheme_form = None if text is None else scheme_and_form(text)
    return None if scheme_form is None else scheme_form[0]
