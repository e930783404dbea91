"""The machine code around a basic block on x86-64: every register is the block's own, rsp included.

A function `void f(uint64 iterations, void *unused)` by the System V calling convention. It keeps what belongs
to its caller in a page of its own (the state), which no register points to: before and after the block it is
reached by its address alone.

- *In a loop*, registers get their values once and the block goes on from where it was in each iteration. The
  iterations are counted in a register that the block leaves alone, else in memory.
- *Unrolled*, registers begin anew in every iteration, so that what the block computes, and the memory that it
  touches, is the same each time. What that costs is taken out by the difference between two lengths.
"""

from __future__ import annotations

import signal

from inference.agent.protocol import Frame
from inference.agent.targets import x86_registers
from inference.agent.targets.block_state import COUNTER, VECTOR, Layout
from inference.agent.targets.target import FrameError

REGISTERS = "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15".split()  # noqa: SIM905
"""General-purpose registers in the order of their numbers."""

COUNTERS = ["", *REGISTERS[1:]]
"""What can count iterations: rax is set to 0, for the flags, after the counter has got its value."""

SIGNALS = (signal.SIGSEGV,)

CONTROL_WORD = 0x9FC0  # of SSE: denormal numbers count as zero
_LINE = 64  # bytes of a cache line
_NOP = b"\x90"
_SAVE = bytes.fromhex("53 55 4154 4155 4156 4157")  # push rbx, rbp, r12 to r15
_RESTORE = bytes.fromhex("415f 415e 415d 415c 5d 5b")
_PLAIN_FLAGS = bytes.fromhex("6802020000 9d")  # push 0x202; popfq: no trap, no alignment check, upwards
_RESET_X87 = bytes.fromhex("dbe3")  # fninit
_FPU_FILL = {
    "": b"",
    # Seven times fld qword ptr [rax+VECTOR]; fld1: the stack is full, with one on top.
    "x87": _RESET_X87 + 7 * bytes([0xDD, 0x40, VECTOR]) + bytes.fromhex("d9e8"),
    # movq mmN, [rax+VECTOR]: what nothing has written there can take longer to read.
    "mmx": b"".join(bytes([0x0F, 0x6F, 0x40 | number << 3, VECTOR]) for number in range(8)),
}
"""By what a frame says of the registers that x87 and MMX share."""

_FENCE = bytes.fromhex("0faee8")  # lfence
_UPWARDS = b"\xfc"  # cld
_ESCAPE_BYTES = 14  # of the instructions that say where to go on when a block is broken off
_CLEAR_UPPER = bytes.fromhex("c5f877")  # vzeroupper
_CLEAR_ALL = bytes.fromhex("c5fc77")  # vzeroall


def function(frame: Frame, body: bytes, at: int, layout: Layout, *, refills: bool) -> bytes:
    """The whole function for an address; see `BlockCode.function`."""
    if frame.fpu not in _FPU_FILL:
        raise FrameError(f"fpu must be one of {', '.join(filter(None, _FPU_FILL))}, not {frame.fpu!r}")
    unknown = sorted(frame.registers.keys() - set(REGISTERS))
    if unknown:
        raise FrameError(f"there is no general-purpose register {unknown[0]!r}")
    begin = _begin(frame, layout, refills=refills)
    start = _SAVE + _set("rax", layout.state)
    start += bytes.fromhex("48896040 48897848 0fae5850 0fae5054")  # keep rsp, iterations, mxcsr; set mxcsr
    initial, per_iteration = (b"", begin) if frame.unrolled else (begin, b"")
    start_length = len(start) + _ESCAPE_BYTES + len(initial)
    padding = _NOP * ((frame.offset - start_length - len(per_iteration)) % _LINE)
    start_length += len(padding)
    repeated = per_iteration + body
    loop_branch = _loop_branch(frame, at + start_length, len(repeated), layout)
    escape = at + start_length + len(repeated) + len(loop_branch)
    start += _set("rcx", escape) + bytes.fromhex("48894810")  # mov [rax+ESCAPE], rcx
    return start + initial + padding + repeated + loop_branch + _end(frame, layout)


def _begin(frame: Frame, layout: Layout, *, refills: bool) -> bytes:
    """Memory, vector and general-purpose registers as they shall be."""
    code = _UPWARDS + _set("rax", layout.state) + (_RESET_X87 if frame.unrolled else b"")
    if refills:
        # mov rdi, [rax+SOURCE]; mov rdx, rax; mov rax, [rax+PATTERN]; mov ecx, 4096; rep stosq; mov rax, rdx
        code += bytes.fromhex("488b7830 4889c2 488b4060 b900100000 f348ab 4889d0")
    code += _fill_vectors(frame) + _FPU_FILL[frame.fpu]
    counter = frame.counter_register
    if not frame.unrolled and counter:
        number = REGISTERS.index(counter)  # mov counter, [rax+COUNTER]
        code += bytes([0x48 | (number >> 3) << 2, 0x8B, 0x40 | (number & 7) << 3, COUNTER])
    code += b"\x31\xc0"  # xor eax, eax: the flags, too, begin anew
    for name in REGISTERS:
        if frame.unrolled or name != counter:
            code += _set(name, frame.registers.get(name, 0))
    return code + (_FENCE if frame.unrolled else b"")


def _loop_branch(frame: Frame, start: int, length: int, layout: Layout) -> bytes:
    """Count an iteration and go back to the start of the body unless it was the last."""
    state = (layout.state + COUNTER).to_bytes(8, "little")
    if frame.unrolled:
        count = b"\x48\xa1" + state + b"\x48\xff\xc8" + b"\x48\xa3" + state  # rax is not needed any more
    elif frame.counter_register:
        number = REGISTERS.index(frame.counter_register)
        count = bytes([0x48 | number >> 3, 0xFF, 0xC8 | number & 7])
    else:
        distance = layout.state + COUNTER - (start + length + 7)
        count = b"\x48\xff\x0d" + distance.to_bytes(4, "little", signed=True)
    distance = -(length + len(count) + 6)
    return count + b"\x0f\x85" + distance.to_bytes(4, "little", signed=True)


def _end(frame: Frame, layout: Layout) -> bytes:
    code = _set("rax", layout.state)
    code += bytes.fromhex("488b6040")  # mov rsp, [rax+STACK]
    code += _PLAIN_FLAGS + _RESET_X87
    if frame.avx:
        code += _CLEAR_UPPER
    return code + bytes.fromhex("0fae5050") + _RESTORE + b"\xc3"  # ldmxcsr [rax+CONTROL]


def _set(name: str, value: int) -> bytes:
    number = REGISTERS.index(name)
    return bytes([0x48 | number >> 3, 0xB8 | number & 7]) + (value % 2**64).to_bytes(8, "little")


def _fill_vectors(frame: Frame) -> bytes:
    """Fill vector registers and masks, as wide as there are: the processor is in that state then."""
    if not frame.mask_bits:
        return b"".join(_fill_vector(number, avx=frame.avx) for number in range(16))
    if frame.mask_bits not in x86_registers.MASK_BITS:
        raise FrameError(f"mask registers have 16 or 64 bits, not {frame.mask_bits}")
    at = bytes([VECTOR // 8])
    filled = b"".join(x86_registers.broadcast(number, 0, at) for number in range(32))
    return _CLEAR_ALL + filled + x86_registers.fill_masks(frame.mask_bits, all_set=not frame.clear_masks)


def _fill_vector(number: int, *, avx: bool) -> bytes:
    """Fill a vector register with the pattern at [rax+VECTOR]: vbroadcastsd, or movddup without AVX."""
    operand = bytes([0x40 | (number & 7) << 3, VECTOR])
    if avx:
        return bytes([0xC4, 0x62 if number > 7 else 0xE2, 0x7D, 0x19]) + operand
    return b"\xf2" + (b"\x44" if number > 7 else b"") + b"\x0f\x12" + operand


# The handler gets (signal, siginfo, context) in rdi, rsi, rdx; rbx is the state, rbp the context.
_HANDLER = bytes.fromhex(
    "4889d5"  # mov rbp, rdx
    "488b82a8000000"  # mov rax, [rdx+168]: the instruction that faulted
    "483b03"  # cmp rax, [rbx+LOW]
    "0f8297000000"  # jb foreign
    "483b4308"  # cmp rax, [rbx+HIGH]
    "0f838d000000"  # jae foreign
    "4c8b4610"  # mov r8, [rsi+16]: the address that it touched
    "4c894328"  # mov [rbx+ADDRESS], r8
    "8b4608"  # mov eax, [rsi+8]: what kind of fault
    "41b903000000"  # mov r9d, NO_ADDRESS
    "3d80000000"  # cmp eax, SI_KERNEL
    "7465"  # je escape
    "41b901000000"  # mov r9d, NOT_ITS_OWN
    "83f801"  # cmp eax, SEGV_MAPERR: nothing is there
    "755a"  # jne escape
    "41b902000000"  # mov r9d, TOO_MANY
    "48837b1800"  # cmp qword ptr [rbx+LEFT], 0
    "744d"  # je escape
    "4981e000f0ffff"  # and r8, -4096
    "41b904000000"  # mov r9d, REFUSED
    "4981f800000100"  # cmp r8, 0x10000: many systems give these to nobody
    "7237"  # jb escape
    "4489c7"  # mov edi, r8d
    "81e700700000"  # and edi, (PAGES - 1) * 4096
    "48037b30"  # add rdi, [rbx+SOURCE]
    "31f6"  # xor esi, esi: of size 0, a shared mapping is not moved but made once more
    "ba00100000"  # mov edx, 4096
    "41ba03000000"  # mov r10d, MREMAP_MAYMOVE | MREMAP_FIXED
    "b819000000"  # mov eax, mremap
    "0f05"  # syscall
    "4c39c0"  # cmp rax, r8
    "7511"  # jne escape
    "488b4338"  # mov rax, [rbx+NEXT]
    "4c8900"  # mov [rax], r8
    "4883433808"  # add qword ptr [rbx+NEXT], 8
    "48ff4b18"  # dec qword ptr [rbx+LEFT]
    "c3"  # ret
    # escape:
    "4c894b20"  # mov [rbx+REASON], r9
    "488b4310"  # mov rax, [rbx+ESCAPE]
    "488985a8000000"  # mov [rbp+168], rax
    "c3"  # ret
    # foreign: not a block's fault, which ends this process as it would without a handler
    "bf0b000000"  # mov edi, SIGSEGV
    "488db380000000"  # lea rsi, [rbx+NO_ACTION]
    "31d2"  # xor edx, edx
    "41ba08000000"  # mov r10d, 8
    "b80d000000"  # mov eax, rt_sigaction
    "0f05"  # syscall
    "c3"  # ret
)


def handler(state: int) -> bytes:
    """The handler of faults, which knows the state by its address."""
    return b"\x48\xbb" + state.to_bytes(8, "little") + _HANDLER  # mov rbx, state
