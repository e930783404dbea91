"""The few RISC-V instructions that frames and known blocks are made of, as 32-bit words.

Registers are numbers; names are those of the unprivileged specification. Compressed encodings are not used.
"""

from __future__ import annotations

from collections.abc import Iterator

ZERO, SP = 0, 2
NOP = 0x00000013  # `addi x0, x0, 0`
RET = 0x00008067  # `jalr x0, 0(x1)`
_OPERATION, _IMMEDIATE, _FLOATING = 0x33, 0x13, 0x53  # opcodes
_DYNAMIC = 7  # rounding mode: that of fcsr
_FCSR = 0x003
_FARTHEST_BRANCH = 4096  # bytes backwards
_LOW, _HALF = 12, 1 << 11  # bits of an immediate, and the first value that it cannot have


def _register_form(opcode: int, upper: int, middle: int, target: int, first: int, second: int) -> int:
    return upper << 25 | second << 20 | first << 15 | middle << 12 | target << 7 | opcode


def _immediate_form(opcode: int, middle: int, target: int, source: int, value: int) -> int:
    return (value & 0xFFF) << 20 | source << 15 | middle << 12 | target << 7 | opcode


def _store_form(opcode: int, source: int, base: int, offset: int) -> int:
    offset &= 0xFFF
    return offset >> 5 << 25 | source << 20 | base << 15 | 3 << 12 | (offset & 31) << 7 | opcode


def add(target: int, first: int, second: int) -> int:
    return _register_form(_OPERATION, 0, 0, target, first, second)


def multiply(target: int, first: int, second: int) -> int:
    return _register_form(_OPERATION, 1, 0, target, first, second)


def multiply_doubles(target: int, first: int, second: int) -> int:
    return _register_form(_FLOATING, 0x09, _DYNAMIC, target, first, second)


def move(target: int, source: int) -> int:
    return _immediate_form(_IMMEDIATE, 0, target, source, 0)


def move_to_floating(target: int, source: int) -> int:
    return _register_form(_FLOATING, 0x79, 0, target, source, 0)


def load(target: int, base: int, offset: int) -> int:
    """`ld xT, offset(xB)`; |offset| < 2048, as below."""
    return _immediate_form(0x03, 3, target, base, offset)


def store(source: int, base: int, offset: int) -> int:
    return _store_form(0x23, source, base, offset)


def load_double(target: int, base: int, offset: int) -> int:
    return _immediate_form(0x07, 3, target, base, offset)


def store_double(source: int, base: int, offset: int) -> int:
    return _store_form(0x27, source, base, offset)


def swap_control(target: int, source: int) -> int:
    """`fscsr xT, xS`: rounding mode and exceptions of floating-point numbers."""
    return _immediate_form(0x73, 1, target, source, _FCSR)


def add_immediate(target: int, source: int, value: int) -> Iterator[int]:
    """`addi`, or a constant in `target` and `add`, in which case `target` is not `source`."""
    if -_HALF <= value < _HALF:
        yield _immediate_form(_IMMEDIATE, 0, target, source, value)
        return
    yield from set_register(target, value)
    yield add(target, target, source)


def set_register(number: int, value: int) -> Iterator[int]:
    """As `li`: `lui`, `addi`, and shifts for more than 32 bits; of `value` the low 64 bits count."""
    value = (value + (1 << 63)) % (1 << 64) - (1 << 63)
    if -_HALF <= value < _HALF:
        yield _immediate_form(_IMMEDIATE, 0, number, ZERO, value)
        return
    low = (value + _HALF) % (1 << _LOW) - _HALF
    if -(1 << 31) <= value < 1 << 31:
        yield (value - low & 0xFFFFFFFF) | number << 7 | 0x37  # lui
        if low:
            yield _immediate_form(0x1B, 0, number, number, low)  # addiw
        return
    yield from set_register(number, value - low >> _LOW)
    yield _immediate_form(_IMMEDIATE, 1, number, number, _LOW)  # slli
    if low:
        yield _immediate_form(_IMMEDIATE, 0, number, number, low)


def count_down(counter: int, distance: int) -> Iterator[int]:
    """`addi xC, xC, -1`, and a jump back by `distance` bytes from it until the counter is zero."""
    yield from add_immediate(counter, counter, -1)
    yield from jump_back(counter, distance + 4)


def jump_back(counter: int, distance: int) -> Iterator[int]:
    """A jump back by `distance` bytes unless the counter is zero."""
    if distance <= _FARTHEST_BRANCH:
        yield _branch(1, counter, -distance)  # bnez
        return
    yield _branch(0, counter, 8)  # beqz
    back = -distance - 4
    high, low = (back >> 20 & 1) << 31 | (back >> 1 & 0x3FF) << 21, (back >> 11 & 1) << 20 | back & 0xFF000
    yield high | low | 0x6F  # j


def address(target: int, distance: int) -> Iterator[int]:
    """The address so many bytes behind this: `auipc` and `addi`."""
    low = (distance + _HALF) % (1 << _LOW) - _HALF
    yield (distance - low & 0xFFFFF000) | target << 7 | 0x17
    yield from add_immediate(target, target, low)


def _branch(middle: int, register: int, distance: int) -> int:
    """A comparison with zero that leads so many bytes away."""
    high = (distance >> 12 & 1) << 31 | (distance >> 5 & 0x3F) << 25
    return high | register << 15 | middle << 12 | (distance >> 1 & 15) << 8 | (distance >> 11 & 1) << 7 | 0x63
