"""x86-64: the machine code around a loop body, the clock, and the blocks with known answers.

The function follows the System V calling convention. Denormal floating-point numbers count as zero (DAZ,
FTZ), as thesis §3.2.1 asks: they would cost extra cycles. Sources of the expected times: Intel's and AMD's
optimisation guides, Agner Fog's instruction tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inference.agent.checks import COPIES, ReferenceBlock, item
from inference.agent.protocol import Frame
from inference.agent.reading import Json
from inference.agent.targets import x86_blocks, x86_registers
from inference.agent.targets.target import CHAIN_LENGTH, FrameError

ISA = "x86-64"
MACHINES = ("x86_64", "AMD64")
SYNCHRONISE = b""
HAS_CPUID = True
BLOCKS = x86_blocks

CHAIN = b"\x48\x01\xd8" * CHAIN_LENGTH  # add rax, rbx
"""Dependent additions of registers: one cycle each on every x86-64 core (those of immediates are not)."""

_NUMBERS = {
    name: number
    for number, name in enumerate(
        "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15".split()  # noqa: SIM905
    )
}
"""Numbers of the general-purpose registers in encodings; bit 3 is in the REX prefix."""

_SAVED = ("rbx", "rbp", "r12", "r13", "r14", "r15")
"""Registers that the calling convention has a function preserve."""

_ITERATIONS, _MEMORY = "rdi", "rsi"  # the arguments
_DAZ_FTZ = 0x9FC0  # the default control word with both bits
_VECTOR_COUNT = 16  # vector registers that every x86-64 processor has
_LINE = 64  # bytes of a cache line
_BRANCH_WINDOW = 32  # bytes; the loop's closing jump stays within one window
_BRANCH_BYTES = 6  # of jne with a distance of 32 bits
_NOP = b"\x90"
STACK = 24  # keeps the stack aligned to 16 bytes, with room for two control words and a pattern


def function(frame: Frame, body: bytes) -> bytes:
    """The whole function, to be placed at an address that is a multiple of 64.

    The loop starts at a cache line, unless its closing branch would then touch the end of a 32-byte window,
    which costs extra cycles on some processors (Intel's JCC erratum).

    Raises:
        FrameError: The frame asks for what this instruction set does not have.
    """
    if frame.addresses:
        raise FrameError("loop bodies of x86-64 have one memory register, no others with addresses")
    start = _prologue(frame)
    closing = _decrement(frame.counter_register)
    shift = _shift(len(body), len(closing) + _BRANCH_BYTES)
    start += _NOP * ((shift - len(start)) % _LINE)
    length = len(body) + len(closing) + _BRANCH_BYTES
    branch = b"\x0f\x85" + (-length).to_bytes(4, "little", signed=True)  # jne to the body
    return start + body + closing + branch + _epilogue(frame)


def _shift(body: int, closing: int) -> int:
    """Offset of the loop's start in its cache line, in bytes, for the lengths of its body and its closing.

    `closing` is the decrement and the branch, which the processor fuses: the erratum concerns both.
    """
    begin, end = body % _BRANCH_WINDOW, body % _BRANCH_WINDOW + closing
    return 0 if end < _BRANCH_WINDOW else _BRANCH_WINDOW - begin


def _prologue(frame: Frame) -> bytes:
    """Save what the convention asks for, switch denormals off, and fill registers as the frame wants them.

    Vectors are filled through [rsp+8] and rax, so general-purpose registers come last.
    """
    code = b"".join(_push(name) for name in _SAVED)
    code += b"\x48\x83\xec" + bytes([STACK])  # sub rsp, STACK
    code += b"\x0f\xae\x1c\x24"  # stmxcsr [rsp]
    code += b"\xc7\x44\x24\x04" + _DAZ_FTZ.to_bytes(4, "little")  # mov dword ptr [rsp+4], …
    code += b"\x0f\xae\x54\x24\x04"  # ldmxcsr [rsp+4]
    code += _set("rax", frame.vector) + b"\x48\x89\x44\x24\x08"  # mov [rsp+8], rax
    code += b"".join(x86_registers.fill_vector(number, frame) for number in range(_VECTOR_COUNT))
    code += x86_registers.fill(frame)
    code += _move(frame.counter_register, _ITERATIONS) + _move(frame.memory_register, _MEMORY)
    reserved = {frame.counter_register, frame.memory_register, "rsp"}
    for name, value in frame.registers.items():
        if name in reserved:
            raise FrameError(f"the register {name} is reserved")
        code += _set(name, value)
    return code + b"\xfc"  # cld


def _epilogue(frame: Frame) -> bytes:
    """Empty vector and x87 state, restore the control word and the saved registers, and return."""
    code = b"\xfc" + x86_registers.leave(frame)  # cld
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
    return (b"\x41" if number > 7 else b"") + bytes([0x50 | number & 7])  # push


def _pop(name: str) -> bytes:
    number = _number(name)
    return (b"\x41" if number > 7 else b"") + bytes([0x58 | number & 7])  # pop


def _set(name: str, value: int) -> bytes:
    number = _number(name)
    # mov name, value with an immediate of 64 bits
    return bytes([0x48 | number >> 3, 0xB8 | number & 7]) + (value % 2**64).to_bytes(8, "little")


def _move(target: str, source: str) -> bytes:
    to, by = _number(target), _number(source)
    return bytes([0x48 | (by >> 3) << 2 | to >> 3, 0x89, 0xC0 | (by & 7) << 3 | to & 7])  # mov target, source


def _decrement(name: str) -> bytes:
    number = _number(name)
    return bytes([0x48 | number >> 3, 0xFF, 0xC8 | number & 7])  # dec


_TARGETS = (0, 1, 2, 6, 7, 8, 9, 10, 11, 12)  # rax rcx rdx rsi rdi r8 … r12
_SOURCE = 3  # rbx
_VECTORS = (0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13)
"""Registers that the reference block writes in turn; 6 and 7 are only read."""


def _addition(k: int) -> bytes:
    target = _TARGETS[k % len(_TARGETS)]  # add target, rbx
    return bytes([0x48 | target >> 3, 0x01, 0xC0 | _SOURCE << 3 | target & 7])


def _multiplication(k: int) -> bytes:
    target = _TARGETS[k % len(_TARGETS)]  # imul target, rbx
    return bytes([0x48 | (target >> 3) << 2, 0x0F, 0xAF, 0xC0 | (target & 7) << 3 | _SOURCE])


def _load(k: int) -> bytes:
    target = _TARGETS[k % len(_TARGETS)]  # mov target, [r14 + 8·k]
    return bytes([0x49 | (target >> 3) << 2, 0x8B, 0x46 | (target & 7) << 3, 8 * (k % 8)])


def _vector_multiplication(k: int) -> bytes:
    target = _VECTORS[k % len(_VECTORS)]  # vmulps target, ymm6, ymm7
    return bytes([0xC5, (0 if target > 7 else 0x80) | (~6 & 15) << 3 | 4, 0x59, 0xC7 | (target & 7) << 3])


ADDITIONS = ReferenceBlock(
    "additions",
    item("additions", [_addition(k) for k in range(COPIES)]),
    (1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6),
)
MULTIPLICATIONS = ReferenceBlock(
    "multiplications",
    item("multiplications", [_multiplication(k) for k in range(COPIES)]),
    (2, 1, 1 / 2, 1 / 3),  # Zen 5 and Lion Cove have three multipliers
)
LOADS = ReferenceBlock("loads", item("loads", [_load(k) for k in range(COPIES)]), (1, 1 / 2, 1 / 3, 1 / 4))
VECTORS = ReferenceBlock(
    "vector multiplications",
    item("vector multiplications", [_vector_multiplication(k) for k in range(COPIES)]),
    (2, 1, 1 / 2),
)


def frame(*, avx: bool) -> Frame:
    """What the checks need around them."""
    return Frame(avx=avx)


def checks(*, avx: bool) -> tuple[ReferenceBlock, ...]:
    """The blocks for a computer with or without AVX."""
    return (ADDITIONS, MULTIPLICATIONS, LOADS, *((VECTORS,) if avx else ()))


# Cycles per instruction of the reference blocks on cores of a kind.
_FOUR_ALUS = {"additions": 1 / 4, "multiplications": 1.0, "loads": 1 / 2, "vector multiplications": 1 / 2}
_ZEN = {"additions": 1 / 4, "multiplications": 2.0, "loads": 1 / 2, "vector multiplications": 1.0}
_THREE_LOADS = {**_FOUR_ALUS, "loads": 1 / 3}
_GOLDEN_COVE = {**_THREE_LOADS, "additions": 1 / 5}
_ZEN_5 = {"additions": 1 / 6, "multiplications": 1 / 3, "loads": 1 / 4, "vector multiplications": 1 / 2}
_SANDY_BRIDGE = {**_FOUR_ALUS, "additions": 1 / 3, "vector multiplications": 1.0}

# Vendor, family, models and cycles of known microarchitectures.
_FAMILIES: tuple[tuple[str, int, range | tuple[int, ...], Mapping[str, float]], ...] = (
    ("GenuineIntel", 6, (0x2A, 0x2D, 0x3A, 0x3E), _SANDY_BRIDGE),
    ("GenuineIntel", 6, (0x3C, 0x3F, 0x45, 0x46, 0x3D, 0x47, 0x4F, 0x56), _FOUR_ALUS),  # Haswell, Broadwell
    ("GenuineIntel", 6, (0x4E, 0x5E, 0x55, 0x8E, 0x9E, 0xA5, 0xA6), _FOUR_ALUS),  # Skylake to Comet Lake
    ("GenuineIntel", 6, (0x6A, 0x6C, 0x7D, 0x7E, 0x8C, 0x8D, 0xA7), _FOUR_ALUS),  # Ice, Tiger, Rocket Lake
    ("GenuineIntel", 6, (0x8F, 0xCF), _GOLDEN_COVE),  # Sapphire and Emerald Rapids
    ("AuthenticAMD", 23, range(0x30), _ZEN),
    ("AuthenticAMD", 23, range(0x30, 0x100), _FOUR_ALUS),  # Zen 2
    ("AuthenticAMD", 25, range(0x100), _THREE_LOADS),  # Zen 3 and Zen 4
    ("AuthenticAMD", 26, range(0x100), _ZEN_5),
)


def emulator(machine: str, processor: Mapping[str, str]) -> str:
    del machine, processor
    return ""


def description(processor: Mapping[str, str], emulated: str) -> Json:
    """Nothing: the common facts are written for x86-64."""
    del processor, emulated
    return {}


def expected(vendor: str, family: int, model: int) -> Mapping[str, float]:
    """{check: cycles per instruction} of a known microarchitecture, empty for another one."""
    for known_vendor, known_family, models, answers in _FAMILIES:
        if (vendor, family) == (known_vendor, known_family) and model in models:
            return answers
    return {}


def documented(facts: Mapping[str, Any]) -> Mapping[str, float]:
    return expected(str(facts.get("vendor", "")), facts.get("family") or 0, facts.get("model") or 0)
