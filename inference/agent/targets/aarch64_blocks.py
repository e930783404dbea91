"""The machine code around a basic block on AArch64: every register is the block's own, sp included.

As on x86-64 (`x86_blocks`), with two differences: the iterations of a loop are counted in a register, as
memory cannot be counted in without one, and `isb` stands between registers and block where both repeat.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

from inference.agent.protocol import Frame
from inference.agent.targets import aarch64_calls, words
from inference.agent.targets.block_state import COUNTER, ESCAPE, PAGE, PAGES, PATTERN, SOURCE, STACK, Layout
from inference.agent.targets.target import FrameError

REGISTERS = [*(f"x{number}" for number in range(31)), "sp"]
"""General-purpose registers in the order of their numbers."""

COUNTERS = REGISTERS[:-1]
CONTROL_WORD = 0  # FPCR is set as for loop bodies
SIGNALS = (signal.SIGSEGV, signal.SIGBUS)

_STATE, _OTHER, _PATTERN, _COUNT = 9, 10, 11, 12  # registers between blocks
_LINE = 64  # bytes of a cache line
_CLEAR_FLAGS = 0xD51B421F  # msr nzcv, xzr
_FENCE = 0xD5033FDF  # isb
_STORE_PAIR = 0xA8812D4B  # stp x11, x11, [x10], #16

# The handler gets (signal, siginfo, context) in x0, x1, x2; x9 is the state.
_HANDLER = bytes.fromhex(
    "ea0302aa"  # mov x10, x2
    "43dc40f9"  # ldr x3, [x2, #440]: the instruction that faulted
    "240140f9 7f0004eb 23050054"  # ldr x4, [x9, #LOW]; cmp x3, x4; b.lo foreign
    "240540f9 7f0004eb c2040054"  # ldr x4, [x9, #HIGH]; cmp x3, x4; b.hs foreign
    "240840f9 241500f9"  # ldr x4, [x1, #16]: the address that it touched; str x4, [x9, #ADDRESS]
    "660080d2 1f2c0071 a1030054"  # mov x6, #NO_ADDRESS; cmp w0, #SIGSEGV; b.ne escape
    "260080d2 270840b9"  # mov x6, #NOT_ITS_OWN; ldr w7, [x1, #8]: what kind of fault
    "ff040071 21030054"  # cmp w7, #SEGV_MAPERR: nothing is there; b.ne escape
    "460080d2 270d40f9 c70200b4"  # mov x6, #TOO_MANY; ldr x7, [x9, #LEFT]; cbz x7, escape
    "84cc7492 860080d2"  # and x4, x4, #-4096; mov x6, #REFUSED
    "9f4040f1 43020054"  # cmp x4, #0x10000: many systems give these to nobody; b.lo escape
    "271940f9 80087492 0000078b"  # ldr x7, [x9, #SOURCE]; and x0, x4, #(PAGES - 1) * 4096; add x0, x0, x7
    "010080d2"  # mov x1, #0: of size 0, a shared mapping is not moved but made once more
    "020082d2 630080d2"  # mov x2, #4096; mov x3, #(MREMAP_MAYMOVE | MREMAP_FIXED)
    "081b80d2 010000d4"  # mov x8, #mremap; svc #0
    "1f0004eb 01010054"  # cmp x0, x4; b.ne escape
    "271d40f9 e48400f8 271d00f9"  # ldr x7, [x9, #NEXT]; str x4, [x7], #8; str x7, [x9, #NEXT]
    "270d40f9 e70400d1 270d00f9"  # ldr x7, [x9, #LEFT]; sub x7, x7, #1; str x7, [x9, #LEFT]
    "c0035fd6"  # ret
    # escape:
    "261100f9 270940f9"  # str x6, [x9, #REASON]; ldr x7, [x9, #ESCAPE]
    "47dd00f9 c0035fd6"  # str x7, [x10, #440]; ret
    # foreign: not a block's fault, which ends this process as it would without a handler
    "600180d2 21010291 020080d2"  # mov x0, #SIGSEGV; add x1, x9, #NO_ACTION; mov x2, #0
    "030180d2 c81080d2 010000d4"  # mov x3, #8; mov x8, #rt_sigaction; svc #0
    "c0035fd6"  # ret
)


def handler(state: int) -> bytes:
    """The handler of faults, which knows the state by its address."""
    return words.code(words.set_register(_STATE, state)) + _HANDLER


def function(frame: Frame, body: bytes, at: int, layout: Layout, *, refills: bool) -> bytes:
    """The whole function for an address; see `BlockCode.function`."""
    if len(body) % 4:
        raise FrameError(f"code of AArch64 has 4 bytes per instruction, and this block {len(body)}")
    unknown = sorted(frame.registers.keys() - set(REGISTERS))
    if unknown:
        raise FrameError(f"there is no general-purpose register {unknown[0]!r}")
    begin = words.code(_begin(frame, layout, refills=refills))
    start = words.code(
        [
            *aarch64_calls.save(),
            *aarch64_calls.surroundings(frame.vector),
            *words.set_register(_STATE, layout.state),
            words.store(0, _STATE, COUNTER),  # the iterations
            *words.add_immediate(_OTHER, words.SP, 0),
            words.store(_OTHER, _STATE, STACK),
        ]
    )
    initial, per_iteration = (b"", begin) if frame.unrolled else (begin, b"")
    length = len(start) + 8 + len(initial)  # with the instructions that keep where to go on
    padding = words.code([words.NOP] * ((frame.offset - at - length - len(per_iteration)) % _LINE // 4))
    repeated = per_iteration + body
    branch = words.code(_loop_branch(frame, len(repeated), layout))
    escape = 8 + len(initial) + len(padding) + len(repeated) + len(branch)
    start += words.code([words.address(_OTHER, escape), words.store(_OTHER, _STATE, ESCAPE)])
    return start + initial + padding + repeated + branch + words.code(_end(layout))


def _begin(frame: Frame, layout: Layout, *, refills: bool) -> Iterator[int]:
    """Memory, vector and general-purpose registers, and flags as they shall be."""
    if refills:
        yield from words.set_register(_STATE, layout.state)
        yield words.load(_OTHER, _STATE, SOURCE)
        yield words.load(_PATTERN, _STATE, PATTERN)
        yield from words.set_register(_COUNT, PAGES * PAGE // 16)
        yield _STORE_PAIR
        yield from words.add_immediate(_COUNT, _COUNT, -1)
        yield words.branch_while_not_zero(_COUNT, -8)
    if frame.unrolled:
        yield from aarch64_calls.fill_vectors(frame.vector)
    yield _CLEAR_FLAGS
    counter = None if frame.unrolled else REGISTERS.index(frame.counter_register)
    yield from words.set_register(_OTHER, frame.registers.get("sp", 0))
    yield from words.add_immediate(words.SP, _OTHER, 0)
    yield from words.set_register(_STATE, layout.state)
    for number, name in enumerate(REGISTERS[:-1]):
        if number not in (_STATE, counter):
            yield from words.set_register(number, frame.registers.get(name, 0))
    if counter is not None:
        yield words.load(counter, _STATE, COUNTER)
    if counter != _STATE:
        yield from words.set_register(_STATE, frame.registers.get(REGISTERS[_STATE], 0))
    if frame.unrolled:
        yield _FENCE


def _loop_branch(frame: Frame, length: int, layout: Layout) -> Iterator[int]:
    """Count an iteration and go back to the start of what repeats unless it was the last."""
    if not frame.unrolled:
        counter = REGISTERS.index(frame.counter_register)
        yield from words.add_immediate(counter, counter, -1)
        yield words.branch_while_not_zero(counter, -length - 4)
        return
    code = [*words.set_register(_STATE, layout.state), words.load(_OTHER, _STATE, COUNTER)]
    code += [*words.add_immediate(_OTHER, _OTHER, -1), words.store(_OTHER, _STATE, COUNTER)]
    yield from code
    yield words.branch_while_not_zero(_OTHER, -length - 4 * len(code))


def _end(layout: Layout) -> Iterator[int]:
    yield from words.set_register(_STATE, layout.state)
    yield words.load(_OTHER, _STATE, STACK)
    yield from words.add_immediate(words.SP, _OTHER, 0)
    yield from aarch64_calls.restore()
