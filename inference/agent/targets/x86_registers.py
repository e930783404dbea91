"""Filling the registers of x86-64 that only some loop bodies use: AVX-512's, MMX's and x87's.

All of it runs with the frame's pattern at [rsp+8], as `x86_64` leaves it, and may change rax.
"""

from __future__ import annotations

import re

from inference.agent.protocol import Frame
from inference.agent.targets.target import FrameError

_AT_PATTERN = b"\x24\x08"
"""SIB byte and displacement of the operand [rsp+8]."""

# Code that fills the registers of x87 or MMX, which share their state, and code that empties them again.
_FPU = {
    "": (b"", b""),
    # movq mmN, [rsp+8]; emms
    "mmx": (b"".join(bytes([0x0F, 0x6F, 0x44 | n << 3]) + _AT_PATTERN for n in range(8)), b"\x0f\x77"),
    # fninit; seven times fld qword ptr [rsp+8]; fld1; fninit
    "x87": (b"\xdb\xe3" + 7 * (b"\xdd\x44" + _AT_PATTERN) + b"\xd9\xe8", b"\xdb\xe3"),
}

MASK_BITS = (0, 16, 64)
"""Of mask registers: none, with AVX-512F alone, and with AVX-512BW."""

_VECTOR = re.compile(r"xmm([0-9]|1[0-5])")


def fill(frame: Frame) -> bytes:
    """Code that fills what a frame wants besides general-purpose registers and the sixteen usual vectors.

    Raises:
        FrameError: The frame names a number of mask bits, a vector register or a state that does not exist.
    """
    if frame.mask_bits not in MASK_BITS:
        raise FrameError(f"mask registers have {MASK_BITS[1:]} bits, not {frame.mask_bits}")
    code = _of(frame)[0]
    if frame.mask_bits:
        code += b"".join(_fill_zmm(number) for number in range(16, 32))
        code += fill_masks(frame.mask_bits)
    for name, pattern in frame.vectors.items():
        code += b"\x48\xb8" + (pattern % 2**64).to_bytes(8, "little")  # mov rax, pattern
        code += b"\x48\x89\x44" + _AT_PATTERN  # mov [rsp+8], rax
        code += fill_vector(_number(name), frame)
    return code


def leave(frame: Frame) -> bytes:
    """Code that empties x87 or MMX again, as calling conventions demand on return.

    Raises:
        FrameError: The frame names a state that does not exist.
    """
    return _of(frame)[1]


def fill_vector(number: int, frame: Frame) -> bytes:
    """Fill a vector register: vbroadcastsd as wide as the frame has it, or movddup without AVX."""
    if frame.mask_bits:
        return _fill_zmm(number)
    # ModRM with a displacement of one byte and a SIB byte; the register's fourth bit is in the prefix: VEX
    # stores it inverted (vbroadcastsd ymmN), REX as it is (movddup xmmN).
    operand = bytes([0x44 | (number & 7) << 3]) + _AT_PATTERN
    if frame.avx:
        return bytes([0xC4, 0x62 if number > 7 else 0xE2, 0x7D, 0x19]) + operand
    return b"\xf2" + (b"\x44" if number > 7 else b"") + b"\x0f\x12" + operand


def _of(frame: Frame) -> tuple[bytes, bytes]:
    """The code for the frame's x87 or MMX state: to fill it, and to empty it."""
    try:
        return _FPU[frame.fpu]
    except KeyError:
        raise FrameError(f"fpu must be one of {', '.join(filter(None, _FPU))}, not {frame.fpu!r}") from None


def _number(name: str) -> int:
    """The number of a vector register: 12 for "xmm12"."""
    match = _VECTOR.fullmatch(name)
    if match is None:
        raise FrameError(f"there is no vector register {name!r}")
    return int(match[1])


def _fill_zmm(number: int) -> bytes:
    """vbroadcastsd zmmN, [rsp+8]: base 4 asks for a SIB byte, and the displacement is one unit of 8 bytes."""
    return broadcast(number, 4, b"\x24\x01")


def broadcast(number: int, base: int, suffix: bytes) -> bytes:
    """vbroadcastsd zmmN, [base + displacement].

    Args:
        number: N, 0 to 31.
        base: Number of the base register, 0 to 7.
        suffix: What follows ModRM, with the displacement in units of eight bytes.
    """
    # EVEX stores the upper two bits of the register's number inverted, in R and R'.
    high = (~number >> 3 & 1) << 7 | (~number >> 4 & 1) << 4
    return bytes([0x62, high | 0x62, 0xFD, 0x48, 0x19, 0x40 | (number & 7) << 3 | base]) + suffix


def fill_masks(bits: int, *, all_set: bool = True) -> bytes:
    """Sets k1 to k7 to so many ones, 16 or 64, or to zeros."""
    return b"".join(_fill_mask(number, wide=bits > 16, all_set=all_set) for number in range(1, 8))


def _fill_mask(number: int, *, wide: bool, all_set: bool) -> bytes:
    """kxnorq or kxnorw of a register with itself: ones; kxorq or kxorw: zeros."""
    last = (~number & 15) << 3 | 4  # VEX: the first source inverted (vvvv), and L = 1
    prefix = bytes([0xC4, 0xE1, 0x80 | last]) if wide else bytes([0xC5, 0x80 | last])
    return prefix + bytes([0x46 if all_set else 0x47, 0xC0 | number << 3 | number])
