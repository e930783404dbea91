"""The machine code around a basic block on RISC-V: every register is the block's own, sp, gp and tp included.

As on AArch64 (`aarch64_blocks`); fence.i stands between registers and block where both repeat.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

from inference.agent.protocol import Frame
from inference.agent.targets import riscv_calls
from inference.agent.targets import riscv_words as words
from inference.agent.targets.block_state import COUNTER, ESCAPE, PAGE, PAGES, PATTERN, SOURCE, STACK, Layout
from inference.agent.targets.target import FrameError
from inference.agent.targets.words import code

REGISTERS = [
    *("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1"),
    *(f"a{number}" for number in range(8)),
    *(f"s{number}" for number in range(2, 12)),
    *(f"t{number}" for number in range(3, 7)),
]
"""General-purpose registers in the order of their numbers, by their names in the ABI."""

COUNTERS = [name for name in REGISTERS if name not in ("zero", "sp")]
CONTROL_WORD = 0  # fcsr is set as for loop bodies
SIGNALS = (signal.SIGSEGV, signal.SIGBUS)

_STATE, _OTHER, _PATTERN, _COUNT = 5, 6, 7, 28  # registers between blocks
_ITERATIONS = 10  # the argument
_LINE = 64  # bytes of a cache line
_FENCE = 0x0000100F  # fence.i

# The handler gets (signal, siginfo, context) in a0, a1, a2; t0 is the state.
_HANDLER = bytes.fromhex(
    "13030600"  # mv t1, a2: the context
    "8333060b"  # ld t2, 176(a2): the instruction that faulted
    "03be0200"  # ld t3, LOW(t0)
    "63e4c30b"  # bltu t2, t3, foreign
    "03be8200"  # ld t3, HIGH(t0)
    "63f0c30b"  # bgeu t2, t3, foreign
    "03be0501"  # ld t3, 16(a1): the address that it touched
    "23b4c203"  # sd t3, ADDRESS(t0)
    "930e3000"  # li t4, NO_ADDRESS
    "130fb000"  # li t5, 11
    "631ee507"  # bne a0, t5, escape: SIGSEGV
    "930e1000"  # li t4, NOT_ITS_OWN
    "83af8500"  # lw t6, 8(a1)
    "6398df07"  # bne t6, t4, escape: SEGV_MAPERR: nothing is there
    "930e2000"  # li t4, TOO_MANY
    "83bf8201"  # ld t6, LEFT(t0)
    "63820f06"  # beqz t6, escape
    "37ffffff"  # lui t5, 0xfffff
    "337eee01"  # and t3, t3, t5
    "930e4000"  # li t4, REFUSED
    "370f0100"  # lui t5, 16
    "6368ee05"  # bltu t3, t5, escape: many systems give these to nobody
    "83bf0203"  # ld t6, SOURCE(t0)
    "377f0000"  # lui t5, 7: (PAGES - 1) * 4096
    "3375ee01"  # and a0, t3, t5
    "3305f501"  # add a0, a0, t6
    "93050000"  # li a1, 0: of size 0, a shared mapping is not moved but made once more
    "37160000"  # lui a2, 1: 4096
    "93063000"  # li a3, 3: MREMAP_MAYMOVE | MREMAP_FIXED
    "13070e00"  # mv a4, t3
    "9308800d"  # li a7, 216: mremap
    "73000000"  # ecall
    "6312c503"  # bne a0, t3, escape
    "83bf8203"  # ld t6, NEXT(t0)
    "23b0cf01"  # sd t3, 0(t6)
    "938f8f00"  # addi t6, t6, 8
    "23bcf203"  # sd t6, NEXT(t0)
    "83bf8201"  # ld t6, LEFT(t0)
    "938fffff"  # addi t6, t6, -1
    "23bcf201"  # sd t6, LEFT(t0)
    "67800000"  # ret
    # escape:
    "23b0d203"  # sd t4, REASON(t0)
    "83bf0201"  # ld t6, ESCAPE(t0)
    "2338f30b"  # sd t6, 176(t1)
    "67800000"  # ret
    # foreign: not a block's fault, which ends this process as it would without a handler
    "1305b000"  # li a0, 11
    "93850208"  # addi a1, t0, NO_ACTION
    "13060000"  # li a2, 0
    "93068000"  # li a3, 8
    "93086008"  # li a7, 134: rt_sigaction
    "73000000"  # ecall
    "67800000"  # ret
)


def handler(state: int) -> bytes:
    """The handler of faults, which knows the state by its address."""
    return code(words.set_register(_STATE, state)) + _HANDLER


def function(frame: Frame, body: bytes, at: int, layout: Layout, *, refills: bool) -> bytes:
    """The whole function for an address; see `BlockCode.function`."""
    if len(body) % 2:
        raise FrameError(f"code of RISC-V has an even number of bytes, and this block {len(body)}")
    unknown = sorted(frame.registers.keys() - set(REGISTERS))
    if unknown:
        raise FrameError(f"there is no general-purpose register {unknown[0]!r}")
    begin = code(_begin(frame, layout, refills=refills))
    start = code(
        [
            *riscv_calls.save(),
            *riscv_calls.fill_floating(frame.vector),
            *words.set_register(_STATE, layout.state),
            words.store(_ITERATIONS, _STATE, COUNTER),
            words.store(words.SP, _STATE, STACK),
        ]
    )
    initial, per_iteration = (b"", begin) if frame.unrolled else (begin, b"")
    length = len(start) + 12 + len(initial)  # with the instructions that keep where to go on
    padding = code([words.NOP] * ((frame.offset - at - length - len(per_iteration)) % _LINE // 4))
    repeated = per_iteration + body
    branch = code(_loop_branch(frame, len(repeated), layout))
    escape = 12 + len(initial) + len(padding) + len(repeated) + len(branch)
    start += code([*words.address(_OTHER, escape), words.store(_OTHER, _STATE, ESCAPE)])
    return start + initial + padding + repeated + branch + code(_end(layout))


def _begin(frame: Frame, layout: Layout, *, refills: bool) -> Iterator[int]:
    """Memory, floating-point and general-purpose registers as they shall be."""
    yield from words.set_register(_STATE, layout.state)
    if refills:
        yield words.load(_OTHER, _STATE, SOURCE)
        yield words.load(_PATTERN, _STATE, PATTERN)
        yield from words.set_register(_COUNT, PAGES * PAGE // 8)
        yield words.store(_PATTERN, _OTHER, 0)
        yield from words.add_immediate(_OTHER, _OTHER, 8)
        yield from words.count_down(_COUNT, 8)
    if frame.unrolled:
        yield from riscv_calls.fill_floating(frame.vector)
        yield from words.set_register(_STATE, layout.state)
    counter = None if frame.unrolled else REGISTERS.index(frame.counter_register)
    for number, name in enumerate(REGISTERS):
        if number not in (words.ZERO, _STATE, counter):
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
        yield from words.count_down(REGISTERS.index(frame.counter_register), length)
        return
    counting = [*words.set_register(_STATE, layout.state), words.load(_OTHER, _STATE, COUNTER)]
    counting += [*words.add_immediate(_OTHER, _OTHER, -1), words.store(_OTHER, _STATE, COUNTER)]
    yield from counting
    yield from words.jump_back(_OTHER, length + 4 * len(counting))


def _end(layout: Layout) -> Iterator[int]:
    yield from words.set_register(_STATE, layout.state)
    yield words.load(words.SP, _STATE, STACK)
    yield from riscv_calls.restore()
