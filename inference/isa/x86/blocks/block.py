"""Basic blocks of x86-64, decoded by iced-x86."""

from __future__ import annotations

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

from inference.isa.code.block import (
    MOST_INSTRUCTIONS,
    Block,
    BlockError,
    BlockInstruction,
    bytes_of_hex,
    refuse_length,
)
from inference.isa.x86.blocks.listing import closing_of, closing_text, text_of
from inference.isa.x86.blocks.recognising import scheme_of
from inference.isa.x86.facts import NAME
from inference.isa.x86.instances import ADDRESS_OF_CODE, register_names

GENERAL = "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15".split()  # noqa: SIM905
"""General-purpose registers in the order of their numbers."""

_THREAD_DATA = (Register.FS, Register.GS)
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


class X86Instruction(BlockInstruction):
    """One instruction of x86-64. Its text is in Intel syntax."""

    isa = NAME
    counters = tuple(name for name in reversed(GENERAL) if name != "rsp")

    @cached_property
    def scheme(self) -> str | None:
        """The text of its scheme, None where it has none."""
        return scheme_of(self._decoded)

    @cached_property
    def obstacle(self) -> str:
        """Why it cannot be part of a basic block that is measured, "" where it can."""
        return _obstacle(self._decoded)

    @cached_property
    def registers(self) -> frozenset[str]:
        """The 64-bit names of all general-purpose registers that it uses, implicit ones among them."""
        used = _information().info(self._decoded).used_registers()
        general = {RegisterExt.full_register(one.register) for one in used}
        names = register_names()
        return frozenset(names[one] for one in general if Register.RAX <= one <= Register.R15)

    @cached_property
    def text(self) -> str:
        """Intel syntax that reads back to the same bytes."""
        return text_of(self.code, "intel")

    def text_behind(self, size: int) -> str:
        return closing_text(self.code, size)

    @property
    def _decoded(self) -> Instruction:
        return Decoder(64, self.code, ip=ADDRESS_OF_CODE).decode()


def block_of_bytes(code: bytes) -> Block:
    """Decode machine code. Raises `BlockError`."""
    refuse_length(code)
    instructions = []
    closing = None
    for one in Decoder(64, code, ip=ADDRESS_OF_CODE):
        begin = one.ip - ADDRESS_OF_CODE
        if one.is_invalid:
            rest = code[begin : begin + 8].hex()
            raise BlockError(f"the bytes from number {begin + 1} on ({rest}…) are no instruction of x86-64")
        own = code[begin : begin + one.len]
        if begin + one.len == len(code) and closing_of(one, own):
            closing = X86Instruction(own)
        else:
            instructions.append(X86Instruction(own))
    if len(instructions) > MOST_INSTRUCTIONS:
        raise BlockError(
            f"a basic block has at most {MOST_INSTRUCTIONS} instructions, not {len(instructions)}"
        )
    return Block(code, tuple(instructions), closing)


def body_of(code: bytes) -> bytes:
    """Machine code without the jump that closes a loop; other code, and bytes that are none, as they are."""
    last = None
    for one in Decoder(64, code, ip=ADDRESS_OF_CODE):
        last = one
    if last is None or last.is_invalid:
        return code
    begin = last.ip - ADDRESS_OF_CODE
    return code[:begin] if closing_of(last, code[begin:]) else code


def mnemonics_of(code: bytes) -> tuple[str, ...]:
    """The mnemonic of each instruction of machine code, "add"; many times faster than describing them.

    Raises `BlockError`.
    """
    refuse_length(code)
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
    return block_of_bytes(bytes_of_hex(text))


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
