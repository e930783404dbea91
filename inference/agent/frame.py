"""The machine code around a loop body on x86-64: sets registers, counts iterations, restores everything.

A function `void f(uint64 iterations, void *memory)` by the System V calling convention. Denormal
floating-point numbers count as zero (DAZ, FTZ), as thesis §3.2.1 asks: they would cost extra cycles.
"""

from __future__ import annotations

from inference.agent.protocol import Frame

_NUMBERS = {
    name: number
    for number, name in enumerate(
        "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15".split()  # noqa: SIM905
    )
}
_SAVED = ("rbx", "rbp", "r12", "r13", "r14", "r15")
_ITERATIONS, _MEMORY = "rdi", "rsi"  # the arguments
_DAZ_FTZ = 0x9FC0  # the default control word with both bits
_VECTORS = 16
_LINE = 64
_BRANCH_WINDOW = 32
_NOP = b"\x90"
STACK = 24  # keeps the stack aligned to 16 bytes, with room for two control words and a pattern


class FrameError(ValueError):
    """A frame that cannot be built: an unknown register or instruction set."""


def function(frame: Frame, body: bytes) -> bytes:
    """The whole function, to be placed at an address that is a multiple of 64.

    The loop starts at a cache line, unless its closing branch would then touch the end of a 32-byte window,
    which costs extra cycles on some processors (Intel's JCC erratum).
    """
    if frame.isa != "x86-64":
        raise FrameError(f"this agent builds frames for x86-64, not for {frame.isa}")
    start = _prologue(frame)
    closing = _decrement(frame.counter_register)
    shift = _shift(len(body), len(closing) + 6)
    start += _NOP * ((shift - len(start)) % _LINE)
    length = len(body) + len(closing) + 6
    branch = b"\x0f\x85" + (-length).to_bytes(4, "little", signed=True)
    return start + body + closing + branch + _epilogue(frame)


def _shift(body: int, closing: int) -> int:
    """Where in its cache line the loop shall start."""
    begin, end = body % _BRANCH_WINDOW, body % _BRANCH_WINDOW + closing
    return 0 if end < _BRANCH_WINDOW else _BRANCH_WINDOW - begin


def _prologue(frame: Frame) -> bytes:
    code = b"".join(_push(name) for name in _SAVED)
    code += b"\x48\x83\xec" + bytes([STACK])  # sub rsp, STACK
    code += b"\x0f\xae\x1c\x24"  # stmxcsr [rsp]
    code += b"\xc7\x44\x24\x04" + _DAZ_FTZ.to_bytes(4, "little")  # mov dword ptr [rsp+4], …
    code += b"\x0f\xae\x54\x24\x04"  # ldmxcsr [rsp+4]
    code += _set("rax", frame.vector) + b"\x48\x89\x44\x24\x08"  # mov [rsp+8], rax
    code += b"".join(_fill_vector(number, avx=frame.avx) for number in range(_VECTORS))
    code += _move(frame.counter_register, _ITERATIONS) + _move(frame.memory_register, _MEMORY)
    reserved = {frame.counter_register, frame.memory_register, "rsp"}
    for name, value in frame.registers.items():
        if name in reserved:
            raise FrameError(f"the register {name} is reserved")
        code += _set(name, value)
    return code + b"\xfc"  # cld


def _epilogue(frame: Frame) -> bytes:
    code = b"\xfc"  # cld
    if frame.avx:
        code += b"\xc5\xf8\x77"  # vzeroupper
    code += b"\x0f\xae\x14\x24"  # ldmxcsr [rsp]
    code += b"\x48\x83\xc4" + bytes([STACK])  # add rsp, STACK
    return code + b"".join(_pop(name) for name in reversed(_SAVED)) + b"\xc3"


def _number(name: str) -> int:
    try:
        return _NUMBERS[name]
    except KeyError:
        raise FrameError(f"there is no general-purpose register {name!r}") from None


def _push(name: str) -> bytes:
    number = _number(name)
    return (b"\x41" if number > 7 else b"") + bytes([0x50 | number & 7])


def _pop(name: str) -> bytes:
    number = _number(name)
    return (b"\x41" if number > 7 else b"") + bytes([0x58 | number & 7])


def _set(name: str, value: int) -> bytes:
    number = _number(name)
    return bytes([0x48 | number >> 3, 0xB8 | number & 7]) + (value % 2**64).to_bytes(8, "little")


def _move(target: str, source: str) -> bytes:
    to, by = _number(target), _number(source)
    return bytes([0x48 | (by >> 3) << 2 | to >> 3, 0x89, 0xC0 | (by & 7) << 3 | to & 7])


def _decrement(name: str) -> bytes:
    number = _number(name)
    return bytes([0x48 | number >> 3, 0xFF, 0xC8 | number & 7])


def _fill_vector(number: int, *, avx: bool) -> bytes:
    """Fill a vector register with the pattern at [rsp+8]: vbroadcastsd, or movddup without AVX."""
    operand = bytes([0x44 | (number & 7) << 3, 0x24, 0x08])
    if avx:
        return bytes([0xC4, 0x62 if number > 7 else 0xE2, 0x7D, 0x19]) + operand
    return b"\xf2" + (b"\x44" if number > 7 else b"") + b"\x0f\x12" + operand
