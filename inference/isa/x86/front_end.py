"""Codes that show the front end of an x86-64 core, of instructions that every such processor has.

What needs no port, so that nothing but the front end limits it: NOPs, zeroing idioms, moves that the core
eliminates. The agent closes loops with `dec r15` and a branch. Registers start with an address whose memory
holds the same number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from iced_x86 import Decoder, Instruction, OpKind

from inference.isa.front_end import Aspect, FetchedInstruction, FrontEndCode, TimedCode
from inference.isa.start_values import START
from inference.isa.tables import table_beside
from inference.isa.x86.control_flow import step_of
from inference.isa.x86.forms import MNEMONICS

_NOPS = (
    *("90", "6690", "0f1f00", "0f1f4000", "0f1f440000", "660f1f440000", "0f1f8000000000"),
    *("0f1f840000000000", "660f1f840000000000"),
)
"""By length, as the vendors recommend them."""
_NOP, _SHORT_NOP = bytes.fromhex(_NOPS[3]), bytes.fromhex(_NOPS[0])
_LONGEST_NOP = 15
_PREFIX = b"\x66"

_TABLES = table_beside(__file__)
_SIZES: Sequence[int] = _TABLES["sizes"]
_TAKEN = {6: 30, 14: 30, 30: 30, 62: 20}
"""{bytes jumped over: jumps in a loop}: those that lie closer share what a predictor keeps of them."""
_LOOP_NOPS = 6
_OFFSETS = range(0, 64, 4)

_ZEROED = (0, 1, 2, 3, 5, 6, 7)
"""Numbers of registers, apart from the stack pointer and those that need a prefix."""
_MOVED = ("4989c0", "4989c9", "4989d2", "4989db")  # mov r8, rax; mov r9, rcx; mov r10, rdx; mov r11, rbx
_WRITTEN = (0, 1, 2, 3, 5, 7, 0, 1)


def front_end_codes(*, offsets: bool) -> tuple[FrontEndCode, ...]:
    """All of them; `offsets`: also loops that begin elsewhere than at a cache line."""
    return (
        *_sizes(),
        *_lengths(),
        *_mixes(),
        *_branches(),
        *(_offsets() if offsets else ()),
        *_encodings(),
        *_fusions(),
        *_moves(),
        FrontEndCode(Aspect.KEPT_FLAGS, "", _SHIFTS, TimedCode(_ZERO_SHIFTS, 1 + 2 * _SHIFTS, loop=True)),
    )


_SHIFTS = 4
_ZERO_SHIFTS = bytes.fromhex("b900000000" + "d3e30f92c0" * _SHIFTS)
"""mov ecx, 0; shl ebx, cl; setb al; …"""
_PORTLESS: Mapping[str, Sequence[bytes]] = {
    "zeroing idioms": [bytes([0x31, 0xC0 | number << 3 | number]) for number in _ZEROED],
    "register moves": [bytes.fromhex(one) for one in _MOVED],
}


def _sizes() -> Iterator[FrontEndCode]:
    """Loops of one copy, so that nothing but the loop's own counter and branch stands beside."""
    for name, filler in {**_PORTLESS, "NOPs": [_SHORT_NOP]}.items():
        for size in _SIZES:
            body = b"".join(filler[k % len(filler)] for k in range(size))
            if len(body) <= _LONGEST_LOOP:
                yield FrontEndCode(Aspect.SIZE, name, size, TimedCode(body, size, loop=True, copies=1))


_LONGEST_LOOP = 24 * 1024


def _lengths() -> Iterator[FrontEndCode]:
    for length in range(1, _LONGEST_NOP + 1):
        nop = bytes.fromhex(_NOPS[min(length, len(_NOPS)) - 1])
        nop = _PREFIX * (length - len(nop)) + nop
        yield FrontEndCode(Aspect.LOOP_LENGTH, "", length, TimedCode(nop, 1, loop=True))
        yield FrontEndCode(Aspect.STRAIGHT_LENGTH, "", length, TimedCode(nop, 1, copies=_STRAIGHT_NOPS))
    for name, filler in _PORTLESS.items():
        code = TimedCode(b"".join(filler), len(filler), copies=_STRAIGHT_NOPS // len(filler))
        yield FrontEndCode(Aspect.STRAIGHT, name, len(filler[0]), code)


_STRAIGHT_NOPS = 1600
_MIXED, _MEAN_BYTES = range(3, 9), (2, 6)
"""NOPs in a mix, and their mean lengths. Golden Cove decodes 16 bytes per cycle where 32 bytes have more than
eight instructions, else 32: code of 3.75 bytes per instruction is slower than any of NOPs of one length up to
seven."""


def _mixes() -> Iterator[FrontEndCode]:
    """As many NOPs as short blocks have instructions, of even lengths and of others: how they lie matters."""
    shortest, longest = _MEAN_BYTES
    for count in _MIXED:
        for size in range(shortest * count, longest * count + 1):
            even = [(k + 1) * size // count - k * size // count for k in range(count)]
            wide = _uneven(even, 2)
            mixes = {"even": even, "uneven": _uneven(even, 1), "wide": wide, "short first": sorted(wide)}
            for name, lengths in mixes.items():
                if min(lengths) > 0:
                    code = bytes.fromhex("".join(_NOPS[length - 1] for length in lengths))
                    timed = TimedCode(code, count, copies=_STRAIGHT_NOPS // count)
                    yield FrontEndCode(Aspect.STRAIGHT_MIX, f"{count} {name}", size, timed)


def _uneven(lengths: Sequence[int], by: int) -> list[int]:
    """Of each three, one shorter and one longer."""
    changed = len(lengths) // 3 * 3
    return [length + by * (0, -1, 1)[k % 3] * (k < changed) for k, length in enumerate(lengths)]


def _branches() -> Iterator[FrontEndCode]:
    for between, copies in _TAKEN.items():
        jump = bytes([0xEB, between]) + b"\xcc" * between  # jmp; int3, which nothing reaches
        yield FrontEndCode(Aspect.TAKEN, "", between, TimedCode(jump, 1, loop=True, copies=copies))
    smallest = TimedCode(_SHORT_NOP, 1, loop=True, copies=1)
    yield FrontEndCode(Aspect.TAKEN, "smallest loop", len(_SHORT_NOP), smallest)
    # jb: the agent's counter leaves the carry flag alone, which is clear
    yield FrontEndCode(Aspect.UNTAKEN, "", 0, TimedCode(b"\x72\x00", 1, loop=True))


def _offsets() -> Iterator[FrontEndCode]:
    for offset in _OFFSETS:
        code = TimedCode(_NOP * _LOOP_NOPS, _LOOP_NOPS, loop=True, copies=1, offset=offset)
        yield FrontEndCode(Aspect.OFFSET, "", offset, code)


def _encodings() -> Iterator[FrontEndCode]:
    """Instructions with a displacement or immediate of one byte, and the same with longer ones."""
    far, close = (0x01223344).to_bytes(4, "little"), b"\x01"
    kinds = {
        "lea, displacement": {1: _lea(0x46, close), 4: _lea(0x86, far)},
        "load, displacement": {1: _load(0x46, close), 4: _load(0x86, far)},
        "cmp, immediate": {1: _compared(0x83, close), 4: _compared(0x81, far)},
        "mov, immediate": {
            4: [bytes([0x48, 0xC7, 0xC0 | number]) + far for number in _WRITTEN],
            8: [bytes([0x48, 0xB8 | number]) + far * 2 for number in _WRITTEN],
        },
    }
    for name, by_bytes in kinds.items():
        for size, instructions in by_bytes.items():
            for where, loop in (("in a loop", True), ("in straight code", False)):
                code = TimedCode(b"".join(instructions), len(instructions), loop=loop)
                yield FrontEndCode(Aspect.ENCODING, f"{name}, {where}", size, code)


def _lea(mode: int, displacement: bytes) -> list[bytes]:
    return [bytes([0x48, 0x8D, mode | number << 3]) + displacement for number in _WRITTEN]  # from rsi


def _load(mode: int, displacement: bytes) -> list[bytes]:
    return [bytes([0x48, 0x8B, mode | number << 3]) + displacement for number in _WRITTEN]


def _compared(opcode: int, immediate: bytes) -> list[bytes]:
    return [bytes([0x48, opcode, 0xF8 | number]) + immediate for number in _WRITTEN]


_CONDITIONS = {"o": 0x70, "b": 0x72, "e": 0x74, "be": 0x76, "s": 0x78, "p": 0x7A, "l": 0x7C, "le": 0x7E}
"""The second half of the opcode's pairs, their opposites, is decided by the same flags."""
_BETWEEN = bytes.fromhex("4589c8")  # mov r8d, r9d
_FUSION_NOPS = 12
"""Of four bytes: where instructions lie closer than µop caches have room for, something else is the limit."""


def _fusions() -> Iterator[FrontEndCode]:
    """Comparisons and branches that the core may make one operation of, together and apart.

    Registers are such that no branch is ever taken: all flags stay clear.
    """
    for name, compared in _TABLES["compared"].items():
        rax = compared.get("rax", 0) + (START if compared.get("is_address") else 0)
        for condition, opcode in _CONDITIONS.items():
            if condition == compared.get("holds"):
                continue
            first, branch = bytes.fromhex(compared["code"]), bytes([opcode, 0])
            for together, code in ((1, first + branch + _BETWEEN), (0, first + _BETWEEN + branch)):
                timed = TimedCode(
                    code + _NOP * _FUSION_NOPS,
                    3 + _FUSION_NOPS,
                    loop=True,
                    registers=(("rax", rax), ("rbx", compared.get("rbx", 0))),
                )
                yield FrontEndCode(Aspect.FUSION, f"{name} + j{condition}", together, timed)


_COPY = bytes.fromhex("4989c0")  # mov r8, rax
_OTHER_COPY = bytes.fromhex("4589d1")  # mov r9d, r10d


def _moves() -> Iterator[FrontEndCode]:
    """Moves and operations on the copy that the core may make one operation of, together and apart."""
    for name, operation in _TABLES["on_copy"].items():
        update = bytes.fromhex(operation)
        for together, code in ((1, _COPY + update + _OTHER_COPY), (0, _COPY + _OTHER_COPY + update)):
            timed = TimedCode(code + _NOP * _FUSION_NOPS, 3 + _FUSION_NOPS, loop=True)
            yield FrontEndCode(Aspect.MOVE, f"mov reg, reg + {name}", together, timed)


def fetched(code: bytes) -> list[FetchedInstruction]:
    """The instructions of machine code as a front end sees them."""
    return [_fetched(one) for one in Decoder(64, code)]


def _fetched(one: Instruction) -> FetchedInstruction:
    mnemonic = MNEMONICS[one.mnemonic]
    places = range(one.op_count)
    registers = tuple(one.op_register(at) if one.op_kind(at) == OpKind.REGISTER else None for at in places)
    behind_opcode = one.len - 4 if mnemonic in {"mov", "cmp"} else 0
    number_bytes = max(one.memory_displ_size, behind_opcode)
    return FetchedInstruction(mnemonic, step_of(one, b"").flow, number_bytes, registers)
