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
    MAX_INSTRUCTIONS,
    Block,
    BlockError,
    BlockInstruction,
    refuse_length,
)
from inference.isa.x86.blocks.listing import closing_text, is_closing, text_of
from inference.isa.x86.blocks.scheme_lookup import scheme_of
from inference.isa.x86.instances import ADDRESS_OF_CODE, register_names
from inference.isa.x86.isa_name import NAME

GENERAL = "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15".split()  # noqa: SIM905
"""General-purpose registers by number."""

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
        return scheme_of(self._decode)

    @cached_property
    def obstacle(self) -> str:
        """Why it cannot be part of a measured block, "" where it can."""
        return _obstacle(self._decode)

    @cached_property
    def registers(self) -> frozenset[str]:
        """The 64-bit names of all general-purpose registers that it uses, implicit ones included."""
        used = _information().info(self._decode).used_registers()
        general = {RegisterExt.full_register(register.register) for register in used}
        names = register_names()
        return frozenset(names[register] for register in general if Register.RAX <= register <= Register.R15)

    @cached_property
    def text(self) -> str:
        """Intel syntax that reads back to the same bytes."""
        return text_of(self.code, "intel")

    def jump_text(self, size: int) -> str:
        return closing_text(self.code, size)

    @property
    def _decode(self) -> Instruction:
        return Decoder(64, self.code, ip=ADDRESS_OF_CODE).decode()


def block_of_bytes(code: bytes) -> Block:
    """Decode machine code. Raises `BlockError`."""
    refuse_length(code)
    instructions = []
    closing = None
    for instruction in Decoder(64, code, ip=ADDRESS_OF_CODE):
        start = instruction.ip - ADDRESS_OF_CODE
        if instruction.is_invalid:
            digits = code[start : start + 8].hex()
            raise BlockError(f"the bytes from number {start + 1} on ({digits}…) are no instruction of x86-64")
        own_code = code[start : start + instruction.len]
        if start + instruction.len == len(code) and is_closing(instruction, own_code):
            closing = X86Instruction(own_code)
        else:
            instructions.append(X86Instruction(own_code))
    if len(instructions) > MAX_INSTRUCTIONS:
        raise BlockError(
            f"a basic block has at most {MAX_INSTRUCTIONS} instructions, not {len(instructions)}"
        )
    return Block(code, tuple(instructions), closing)


def body_of(code: bytes) -> bytes:
    """Machine code without the jump that closes a loop; other code, and undecodable bytes, unchanged."""
    last = None
    for instruction in Decoder(64, code, ip=ADDRESS_OF_CODE):
        last = instruction
    if last is None or last.is_invalid:
        return code
    start = last.ip - ADDRESS_OF_CODE
    return code[:start] if is_closing(last, code[start:]) else code


def mnemonics_of(code: bytes) -> tuple[str, ...]:
    """The mnemonic of each instruction, such as "add"; many times faster than `block_of_bytes`.

    Raises `BlockError`.
    """
    refuse_length(code)
    decoder, decoded, mnemonics, names = Decoder(64, code), Instruction(), [], _mnemonic_names()
    while decoder.can_decode:
        decoder.decode_out(decoded)
        if decoded.is_invalid:
            digits, number = code[decoded.ip : decoded.ip + 8].hex(), decoded.ip + 1
            raise BlockError(f"the bytes from number {number} on ({digits}…) are no instruction of x86-64")
        mnemonics.append(names[decoded.mnemonic])
    return tuple(mnemonics)


def _obstacle(instruction: Instruction) -> str:
    """Why an instruction cannot be measured in a block, as the end of a sentence; "" for no reason."""
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
