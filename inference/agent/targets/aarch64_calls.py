"""What functions of AArch64 preserve for their caller, by the procedure call standard (AAPCS64).

x19 to x30, the stack pointer and the lower halves of v8 to v15 belong to the caller. Denormal floating-point
numbers count as zero (FPCR.FZ) between `surroundings` and `restore`.
"""

from __future__ import annotations

from collections.abc import Iterator

from inference.agent.targets import words

SCRATCH = 9  # register x9, which a function need not preserve
_SAVED_PAIRS = ((29, 30), (19, 20), (21, 22), (23, 24), (25, 26), (27, 28))
"""General-purpose registers that a function preserves."""

_SAVED_VECTORS = ((8, 9), (10, 11), (12, 13), (14, 15))
"""Vector registers whose low half a function preserves."""

_CONTROL = 16 * (len(_SAVED_PAIRS) + len(_SAVED_VECTORS))  # where FPCR is kept on the stack
_STACK = _CONTROL + 16  # bytes of the frame, a multiple of 16
_FLUSH_TO_ZERO = 24  # bit of FPCR: denormal numbers would take extra cycles
_VECTORS = 32  # registers


def save() -> Iterator[int]:
    """Keep all of that on the stack."""
    yield from words.add_immediate(words.SP, words.SP, -_STACK)
    for k, (first, second) in enumerate(_SAVED_PAIRS):
        yield words.store_pair(first, second, 16 * k)
    for k, (first, second) in enumerate(_SAVED_VECTORS, len(_SAVED_PAIRS)):
        yield words.store_vectors(first, second, 16 * k)


def restore() -> Iterator[int]:
    """Give it back, and return."""
    yield words.load(SCRATCH, words.SP, _CONTROL)
    yield words.MSR_FPCR_X9
    for k, (first, second) in enumerate(_SAVED_PAIRS):
        yield words.load_pair(first, second, 16 * k)
    for k, (first, second) in enumerate(_SAVED_VECTORS, len(_SAVED_PAIRS)):
        yield words.load_vectors(first, second, 16 * k)
    yield from words.add_immediate(words.SP, words.SP, _STACK)
    yield words.RET


def surroundings(vector: int) -> Iterator[int]:
    """Floating-point control, kept on the stack, and the pattern in all vector registers."""
    yield words.MRS_X9_FPCR
    yield words.store(SCRATCH, words.SP, _CONTROL)
    yield words.set_bit(SCRATCH, _FLUSH_TO_ZERO)
    yield words.MSR_FPCR_X9
    yield from fill_vectors(vector)


def fill_vectors(pattern: int) -> Iterator[int]:
    yield from words.set_register(SCRATCH, pattern)
    for number in range(_VECTORS):
        yield words.fill_vector(number, SCRATCH)
