"""A basic block as a value: its machine code, its instructions, and the scheme of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

from iced_x86 import (
    Decoder,
    FlowControl,
    Instruction,
    InstructionInfoFactory,
    Mnemonic,
    OpCodeInfo,
    OpKind,
    Register,
    RegisterExt,
)

from inference.isa.x86.blocks.encoding import encoded
from inference.isa.x86.blocks.errors import BlockError
from inference.isa.x86.blocks.listing import intel_formatter
from inference.isa.x86.blocks.reading import read_line
from inference.isa.x86.blocks.recognising import scheme_of
from inference.isa.x86.instances import ADDRESS_OF_CODE, register_names

MOST_BYTES = 4096
MOST_INSTRUCTIONS = 500

GENERAL = "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15".split()  # noqa: SIM905
"""General-purpose registers in the order of their numbers."""

_LONGEST_LINE = 500
_COMMENT = re.compile(r"(?:#|;|//).*")
_CONTROL = re.compile("[\0-\x08\x0e-\x1f\x7f\ud800-\udfff]")
_DIRECTIVE = re.compile(r"\.[a-z_][\w.]*(\s.*)?|[\w.$@]+:\s*")
_THREAD_DATA = (Register.FS, Register.GS)
_JUMP = re.compile(r"(j[a-z]{1,4}|call|loop[a-z]*|ret[a-z]*)\b")
_CHANGES = "changes the control flow: a basic block ends before it, so leave it out"
_LEAVES = {
    FlowControl.INTERRUPT: "interrupts the program",
    FlowControl.EXCEPTION: "raises an exception",
    FlowControl.XBEGIN_XABORT_XEND: "begins or ends a transaction",
}
_BY_MNEMONIC = {
    **dict.fromkeys(("WRFSBASE", "WRGSBASE", "SWAPGS"), "changes where thread-local data is found"),
    **dict.fromkeys(("UMWAIT", "TPAUSE", "UMONITOR", "MWAITX", "MONITORX"), "waits for other processors"),
    **dict.fromkeys(("WRPKRU", "XRSTOR", "XRSTOR64"), "changes the rights to memory"),
    **dict.fromkeys(("SYSCALL", "SYSENTER", "ENCLU"), "calls the operating system"),
}


@dataclass(frozen=True)
class BlockInstruction:
    """One instruction: its bytes, Intel-syntax text and the text of its scheme, None where it has none.

    `obstacle`: why it cannot be part of a basic block that is measured, "" where it can. `registers`: the
    64-bit names of all general-purpose registers that it uses, implicit ones among them.
    """

    code: bytes
    text: str
    scheme: str | None
    obstacle: str
    registers: frozenset[str]


@dataclass(frozen=True)
class Block:
    """A sequence of instructions without control flow."""

    code: bytes
    instructions: tuple[BlockInstruction, ...]

    @property
    def hex(self) -> str:
        """The machine code in hexadecimal digits: the block's name everywhere."""
        return self.code.hex()

    @property
    def text(self) -> str:
        """One instruction a line, in Intel syntax."""
        return "\n".join(one.text for one in self.instructions)

    @cached_property
    def terms(self) -> tuple[tuple[str, int], ...]:
        """Its schemes as an experiment has them: (text, multiplicity), by text; what has none is left out."""
        return tuple(sorted(Counter(one.scheme for one in self.instructions if one.scheme).items()))

    @property
    def unknown(self) -> tuple[str, ...]:
        """The instructions that are of no scheme."""
        return tuple(one.text for one in self.instructions if one.scheme is None)

    @property
    def unused_register(self) -> str:
        """A general-purpose register that no instruction uses, "" where there is none."""
        used = frozenset[str]().union(*(one.registers for one in self.instructions))
        return next((name for name in reversed(GENERAL) if name not in used and name != "rsp"), "")

    def obstacle(self) -> str:
        """Why it cannot be measured anywhere, naming the instruction; "" where nothing is known."""
        for number, one in enumerate(self.instructions, start=1):
            if one.obstacle:
                return f"instruction {number}, {one.text}, {one.obstacle}"
        return ""


def block_of_bytes(code: bytes) -> Block:
    """Decode machine code. Raises `BlockError`."""
    if not 1 <= len(code) <= MOST_BYTES:
        raise BlockError(f"a basic block has 1 to {MOST_BYTES:,} bytes, not {len(code):,}")
    instructions = []
    for one in Decoder(64, code, ip=ADDRESS_OF_CODE):
        begin = one.ip - ADDRESS_OF_CODE
        if one.is_invalid:
            rest = code[begin : begin + 8].hex()
            raise BlockError(f"the bytes from number {begin + 1} on ({rest}…) are no instruction of x86-64")
        instructions.append(_described(one, code[begin : begin + one.len]))
    if len(instructions) > MOST_INSTRUCTIONS:
        raise BlockError(
            f"a basic block has at most {MOST_INSTRUCTIONS} instructions, not {len(instructions)}"
        )
    return Block(code, tuple(instructions))


def mnemonics_of(code: bytes) -> tuple[str, ...]:
    """The mnemonic of each instruction of machine code, "add"; many times faster than describing them.

    Raises `BlockError`.
    """
    if not 1 <= len(code) <= MOST_BYTES:
        raise BlockError(f"a basic block has 1 to {MOST_BYTES:,} bytes, not {len(code):,}")
    decoder, one, found, names = Decoder(64, code), Instruction(), [], _mnemonic_names()
    while decoder.can_decode:
        decoder.decode_out(one)
        if one.is_invalid:
            rest = code[one.ip : one.ip + 8].hex()
            raise BlockError(f"the bytes from number {one.ip + 1} on ({rest}…) are no instruction of x86-64")
        found.append(names[one.mnemonic])
    return tuple(found)


def block_of_hex(text: str) -> Block:
    """Decode hexadecimal digits, spaces between them or not. Raises `BlockError`."""
    digits = re.sub(r"\s|0x|\\x|,", "", text.lower())
    odd = re.search(r"[^0-9a-f]", digits)
    if odd:
        raise BlockError(f"machine code is written in hexadecimal digits; {odd.group()!r} is none")
    if len(digits) % 2:
        raise BlockError(f"machine code has two hexadecimal digits per byte; these are {len(digits)}")
    return block_of_bytes(bytes.fromhex(digits))


def block_of_text(text: str) -> Block:
    """Assemble Intel syntax, one instruction a line.

    Comments begin with `#`, `;` or `//`; labels and directives are passed over. Raises `BlockError` with the
    number of the line.
    """
    code = bytearray()
    for count, (number, line) in enumerate(written_lines(text), start=1):
        if count > MOST_INSTRUCTIONS:
            raise BlockError(f"a basic block has at most {MOST_INSTRUCTIONS} instructions", number)
        try:
            code += encoded(read_line(line), ADDRESS_OF_CODE + len(code))
        except BlockError as error:
            raise error.at(number) from None
    if not code:
        raise BlockError("there is no instruction")
    return block_of_bytes(bytes(code))


def written_lines(text: str) -> Iterator[tuple[int, str]]:
    """(number of the line, instruction) of assembly without comments, labels and directives.

    Raises `BlockError` for a jump by its name: it would need a label.
    """
    for number, written in enumerate(text.splitlines(), start=1):
        line = _COMMENT.sub("", written).strip()
        if not line or _DIRECTIVE.fullmatch(line.lower()):
            continue
        if len(line) > _LONGEST_LINE:
            raise BlockError(f"an instruction has at most {_LONGEST_LINE} characters", number)
        if _CONTROL.search(line):
            raise BlockError(f"{line[:40]!a} has characters that no assembly has", number)
        if _JUMP.match(line.lower()):
            raise BlockError(f"{line.split()[0]} {_CHANGES}", number)
        yield number, line


def _described(instruction: Instruction, code: bytes) -> BlockInstruction:
    used = _information().info(instruction).used_registers()
    general = {RegisterExt.full_register(one.register) for one in used}
    names = register_names()
    return BlockInstruction(
        code=code,
        text=intel_formatter().format(instruction),
        scheme=scheme_of(instruction),
        obstacle=_obstacle(instruction),
        registers=frozenset(names[one] for one in general if Register.RAX <= one <= Register.R15),
    )


def _obstacle(instruction: Instruction) -> str:
    flow = instruction.flow_control
    if flow != FlowControl.NEXT:
        return _LEAVES.get(flow, _CHANGES)
    info = OpCodeInfo(instruction.code)
    if info.is_privileged or info.must_be_cpl0 or info.is_input_output:
        return "needs the rights of the operating system's kernel"
    if reason := _by_mnemonic().get(instruction.mnemonic):
        return reason
    for position in range(instruction.op_count):
        kind = instruction.op_kind(position)
        if kind == OpKind.REGISTER and Register.ES <= instruction.op_register(position) <= Register.GS:
            if position == 0 and instruction.op_count > 1:
                return "loads a segment register"
        elif kind == OpKind.MEMORY and instruction.memory_segment in _THREAD_DATA:
            return "addresses data of the thread (fs, gs), which is the measuring process's own"
    return ""


@cache
def _by_mnemonic() -> dict[int, str]:
    return {
        getattr(Mnemonic, name): reason for name, reason in _BY_MNEMONIC.items() if hasattr(Mnemonic, name)
    }


@cache
def _mnemonic_names() -> dict[int, str]:
    return {number: name.lower() for name, number in vars(Mnemonic).items() if isinstance(number, int)}


@cache
def _information() -> InstructionInfoFactory:
    return InstructionInfoFactory()
