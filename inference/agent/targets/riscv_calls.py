"""What functions of RISC-V preserve for their caller, by the standard calling convention (LP64D).

x1, x8, x9, x18 to x27, the stack pointer, and f8, f9, f18 to f27 belong to the caller; x3 and x4 to the
linker and the C library. Rounding is to nearest between `save` and `restore`. Denormal numbers cannot count
as zero.
"""

from __future__ import annotations

from collections.abc import Iterator

from inference.agent.targets import riscv_words as words

SCRATCH = 5  # register x5, which a function need not preserve
REGISTERS = 32  # of each kind
_SAVED = (1, 3, 4, 8, 9, *range(18, 28))
_SAVED_FLOATING = (8, 9, *range(18, 28))
_CONTROL = 8 * (len(_SAVED) + len(_SAVED_FLOATING))  # where fcsr is kept on the stack
_STACK = _CONTROL + 8  # bytes of the frame, a multiple of 16


def save() -> Iterator[int]:
    """Keep all of that on the stack."""
    yield from words.add_immediate(words.SP, words.SP, -_STACK)
    for k, number in enumerate(_SAVED):
        yield words.store(number, words.SP, 8 * k)
    for k, number in enumerate(_SAVED_FLOATING, len(_SAVED)):
        yield words.store_double(number, words.SP, 8 * k)
    yield words.swap_control(SCRATCH, words.ZERO)
    yield words.store(SCRATCH, words.SP, _CONTROL)


def restore() -> Iterator[int]:
    """Give it back, and return."""
    yield words.load(SCRATCH, words.SP, _CONTROL)
    yield words.swap_control(words.ZERO, SCRATCH)
    for k, number in enumerate(_SAVED):
        yield words.load(number, words.SP, 8 * k)
    for k, number in enumerate(_SAVED_FLOATING, len(_SAVED)):
        yield words.load_double(number, words.SP, 8 * k)
    yield from words.add_immediate(words.SP, words.SP, _STACK)
    yield words.RET


def fill_floating(pattern: int) -> Iterator[int]:
    """The pattern in all floating-point registers."""
    yield from words.set_register(SCRATCH, pattern)
    for number in range(REGISTERS):
        yield words.move_to_floating(number, SCRATCH)
