"""Code that shows the front end of an x86-64 core, of instructions that every such processor has.

Instructions without ports are limited by the front end only: NOPs, zeroing idioms, eliminated moves. The
agent closes loops with `dec r15` and a branch. Registers start with an address whose memory contains the same
number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from iced_x86 import Decoder, OpKind

from inference.isa.front_end import (
    SHORT_LOOPS,
    AddressUse,
    Aspect,
    FetchedInstruction,
    FrontEndCode,
    TimedCode,
    order_codes,
)
from inference.isa.start_values import START
from inference.isa.tables import table_of_module
from inference.isa.x86.control_flow import step_of
from inference.isa.x86.forms import MNEMONICS

COUNTER = "r15"
_NOPS = (
    *("90", "6690", "0f1f00", "0f1f4000", "0f1f440000", "660f1f440000", "0f1f8000000000"),
    *("0f1f840000000000", "660f1f840000000000"),
)
"""By length, as the vendors recommend them."""

_NOP, _SHORT_NOP = bytes.fromhex(_NOPS[3]), bytes.fromhex(_NOPS[0])
_MAX_NOP_BYTES = 15  # of an x86 instruction
_PREFIX = b"\x66"

_TABLES = table_of_module(__file__)
_SIZES: Sequence[int] = _TABLES["sizes"]
_JUMP_DISTANCES = {6: 30, 14: 30, 30: 30, 62: 20}
"""{bytes jumped over: jumps in a loop}: closer jumps share entries of a branch predictor."""

_LOOP_NOPS = 6  # in the loop that is moved through a cache line
_OFFSETS = range(0, 64, 4)  # bytes from the beginning of a cache line

_ZEROED = (0, 1, 2, 3, 5, 6, 7)
"""Numbers of registers, without the stack pointer and those that need a prefix."""

_MOVES = ("4989c0", "4989c9", "4989d2", "4989db")  # mov r8, rax; mov r9, rcx; mov r10, rdx; mov r11, rbx
_DESTINATIONS = (0, 1, 2, 3, 5, 7, 0, 1)  # registers that moves of immediates write in turn


def front_end_codes(*, offsets: bool) -> tuple[FrontEndCode, ...]:
    """All codes; `offsets`: also loops that do not begin at a cache line."""
    return (
        *_size_codes(),
        *_length_codes(),
        *_mix_codes(),
        *_branch_codes(),
        *(_offset_codes() if offsets else ()),
        *_encoding_codes(),
        *_fusion_codes(),
        *_move_codes(),
        *_short_loop_codes(),
        *_branch_port_codes(),
        *_indexed_codes(),
        FrontEndCode(Aspect.PRESERVED_FLAGS, "", _SHIFTS, _FLAG_READERS),
        *_order_codes(),
    )


_SHIFTS = 4  # each followed by a reader of its flags
_ZERO_SHIFTS = bytes.fromhex("b900000000" + "d3e30f92c0" * _SHIFTS)
"""mov ecx, 0; shl ebx, cl; setb al; …"""

_FLAG_READERS = TimedCode(_ZERO_SHIFTS, 1 + 2 * _SHIFTS, loop=True)
_PORTLESS: Mapping[str, Sequence[bytes]] = {
    "zeroing idioms": [bytes([0x31, 0xC0 | number << 3 | number]) for number in _ZEROED],
    "register moves": [bytes.fromhex(digits) for digits in _MOVES],
}


def _size_codes() -> Iterator[FrontEndCode]:
    """Loops of one copy, with only the loop's own counter and branch beside."""
    for name, filler in {**_PORTLESS, "NOPs": [_SHORT_NOP]}.items():
        for size in _SIZES:
            body = b"".join(filler[k % len(filler)] for k in range(size))
            if len(body) <= _MAX_LOOP_BYTES:
                yield FrontEndCode(Aspect.SIZE, name, size, TimedCode(body, size, loop=True, copies=1))


_MAX_LOOP_BYTES = 24 * 1024  # less than an instruction cache of 32 KiB holds


def _length_codes() -> Iterator[FrontEndCode]:
    for length in range(1, _MAX_NOP_BYTES + 1):
        nop = bytes.fromhex(_NOPS[min(length, len(_NOPS)) - 1])
        nop = _PREFIX * (length - len(nop)) + nop
        yield FrontEndCode(Aspect.LOOP_LENGTH, "", length, TimedCode(nop, 1, loop=True))
        yield FrontEndCode(Aspect.STRAIGHT_LENGTH, "", length, TimedCode(nop, 1, copies=_STRAIGHT_NOPS))
    for name, filler in _PORTLESS.items():
        code = TimedCode(b"".join(filler), len(filler), copies=_STRAIGHT_NOPS // len(filler))
        yield FrontEndCode(Aspect.STRAIGHT, name, len(filler[0]), code)


_STRAIGHT_NOPS = 1600  # in straight code
_MIX_LENGTHS, _MEAN_BYTES = range(3, 9), (2, 6)
"""NOPs in a mix, and their mean lengths. Golden Cove decodes 16 bytes per cycle where 32 bytes have more than
eight instructions, else 32: code of 3.75 bytes per instruction is slower than NOPs of any one length up to
seven."""


def _mix_codes() -> Iterator[FrontEndCode]:
    """Straight code of as many NOPs as short blocks have instructions.

    Their number is even and uneven, since alignment matters.
    """
    shortest, longest = _MEAN_BYTES
    for count in _MIX_LENGTHS:
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
    """The lengths with one shorter and one longer one in each group of three."""
    changed = len(lengths) // 3 * 3
    return [length + by * (0, -1, 1)[k % 3] * (k < changed) for k, length in enumerate(lengths)]


def _branch_codes() -> Iterator[FrontEndCode]:
    for between, copies in _JUMP_DISTANCES.items():
        jump = bytes([0xEB, between]) + b"\xcc" * between  # jmp; int3, which nothing reaches
        yield FrontEndCode(Aspect.JUMP, "", between, TimedCode(jump, 1, loop=True, copies=copies))
    smallest = TimedCode(_SHORT_NOP, 1, loop=True, copies=1)
    yield FrontEndCode(Aspect.JUMP, "smallest loop", len(_SHORT_NOP), smallest)
    # jb: the agent's counter leaves the carry flag alone, which is clear
    yield FrontEndCode(Aspect.UNTAKEN, "", 0, TimedCode(b"\x72\x00", 1, loop=True))


def _offset_codes() -> Iterator[FrontEndCode]:
    for offset in _OFFSETS:
        code = TimedCode(_NOP * _LOOP_NOPS, _LOOP_NOPS, loop=True, copies=1, offset=offset)
        yield FrontEndCode(Aspect.OFFSET, "", offset, code)


def _encoding_codes() -> Iterator[FrontEndCode]:
    """Instructions with a displacement or immediate of one byte, and the same with longer ones."""
    far, close = (0x01223344).to_bytes(4, "little"), b"\x01"
    kinds = {
        "lea, displacement": {1: _lea(0x46, close), 4: _lea(0x86, far)},
        "load, displacement": {1: _load(0x46, close), 4: _load(0x86, far)},
        "cmp, immediate": {1: _comparisons(0x83, close), 4: _comparisons(0x81, far)},
        "mov, immediate": {
            4: [bytes([0x48, 0xC7, 0xC0 | number]) + far for number in _DESTINATIONS],
            8: [bytes([0x48, 0xB8 | number]) + far * 2 for number in _DESTINATIONS],
        },
    }
    for name, by_bytes in kinds.items():
        for size, instructions in by_bytes.items():
            for where, loop in (("in a loop", True), ("in straight code", False)):
                code = TimedCode(b"".join(instructions), len(instructions), loop=loop)
                yield FrontEndCode(Aspect.ENCODING, f"{name}, {where}", size, code)


def _lea(mode: int, displacement: bytes) -> list[bytes]:
    return [bytes([0x48, 0x8D, mode | number << 3]) + displacement for number in _DESTINATIONS]  # from rsi


def _load(mode: int, displacement: bytes) -> list[bytes]:
    return [bytes([0x48, 0x8B, mode | number << 3]) + displacement for number in _DESTINATIONS]


def _comparisons(opcode: int, immediate: bytes) -> list[bytes]:
    return [bytes([0x48, opcode, 0xF8 | number]) + immediate for number in _DESTINATIONS]


_CONDITIONS = {"o": 0x70, "b": 0x72, "e": 0x74, "be": 0x76, "s": 0x78, "p": 0x7A, "l": 0x7C, "le": 0x7E}
"""The opposites, which are the other half of each pair of opcodes, depend on the same flags."""

_BETWEEN = bytes.fromhex("4589c8")  # mov r8d, r9d
_FUSION_NOPS = 12
"""NOPs of four bytes: denser instructions exceed µop caches, which would be another limit."""


def _fusion_codes() -> Iterator[FrontEndCode]:
    """Comparisons and branches that the core may fuse, adjacent and apart.

    Registers are chosen such that no branch is taken: all flags stay clear.
    """
    for name, compared in _TABLES["compared"].items():
        for condition, opcode in _CONDITIONS.items():
            if condition == compared.get("holds"):
                continue
            first, branch = bytes.fromhex(compared["code"]), bytes([opcode, 0])
            for adjacent, code in ((1, first + branch + _BETWEEN), (0, first + _BETWEEN + branch)):
                timed = TimedCode(
                    code + _NOP * _FUSION_NOPS,
                    3 + _FUSION_NOPS,
                    loop=True,
                    registers=_compared_registers(compared),
                )
                yield FrontEndCode(Aspect.FUSION, f"{name} + j{condition}", adjacent, timed)


def _compared_registers(compared: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    rax = compared.get("rax", 0) + (START if compared.get("is_address") else 0)
    return ("rax", rax), ("rbx", compared.get("rbx", 0))


_COPY = bytes.fromhex("4989c0")  # mov r8, rax
_OTHER_COPY = bytes.fromhex("4589d1")  # mov r9d, r10d


def _move_codes() -> Iterator[FrontEndCode]:
    """Moves and operations on the copy that the core may fuse, adjacent and apart."""
    for name, operation in _TABLES["on_copy"].items():
        update = bytes.fromhex(operation)
        for adjacent, code in ((1, _COPY + update + _OTHER_COPY), (0, _COPY + _OTHER_COPY + update)):
            timed = TimedCode(code + _NOP * _FUSION_NOPS, 3 + _FUSION_NOPS, loop=True)
            yield FrontEndCode(Aspect.MOVE, f"mov reg, reg + {name}", adjacent, timed)


def _short_loop_codes() -> Iterator[FrontEndCode]:
    for name, filler in _PORTLESS.items():
        for size in SHORT_LOOPS:
            body = b"".join(filler[k % len(filler)] for k in range(size))
            yield FrontEndCode(Aspect.SHORT_LOOP, name, size, TimedCode(body, size, loop=True, copies=1))


_ADDED = (1, 2, 5, 7, 8, 9, 10, 11)  # numbers of registers that no comparison uses
_ADDITIONS = b"".join(bytes([0x48 | number >> 3, 0x83, 0xC0 | number & 7, 1]) for number in _ADDED)
"""add rcx, 1; …: more than a core has slots, so that its ports limit them."""


def _branch_port_codes() -> Iterator[FrontEndCode]:
    count = len(_ADDED)
    yield FrontEndCode(Aspect.BRANCH_PORT, "", 0, TimedCode(_ADDITIONS, count, loop=True))
    for name, compared in _TABLES["compared"].items():
        first, registers = bytes.fromhex(compared["code"]), _compared_registers(compared)
        for value, code in ((1, first), (2, first + bytes([_CONDITIONS["e"], 0]))):
            timed = TimedCode(_ADDITIONS + code, count + value, loop=True, registers=registers)
            yield FrontEndCode(Aspect.BRANCH_PORT, name, value, timed)


_INDEXED_MOVES = 3 * len(_MOVES)
_ADDRESSED: Mapping[AddressUse, tuple[str, str]] = {
    # with [rsi], and with [rsi + rdi]; what is stored is what was there
    AddressUse.LOAD: ("4c8b26", "4c8b243e"),  # mov r12, …
    AddressUse.STORE: ("488936", "4889343e"),  # mov …, rsi
    AddressUse.OPERATION: ("4c0326", "4c03243e"),  # add r12, …
    AddressUse.UPDATE: ("480936", "4809343e"),  # or …, rsi
    AddressUse.VECTOR_LOAD: ("f30f7e06", "f30f7e043e"),  # movq xmm0, …
    AddressUse.VECTOR_STORE: ("66480f6ec60f1306", "66480f6ec60f13043e"),  # movq xmm0, rsi; movlps …, xmm0
    AddressUse.VECTOR_OPERATION: ("660f1606", "660f16043e"),  # movhpd xmm0, …
}


def _indexed_codes() -> Iterator[FrontEndCode]:
    for use, addressed in _ADDRESSED.items():
        for is_indexed, digits in enumerate(addressed):
            code = bytes.fromhex("".join(_MOVES) * 3 + digits)
            count = _INDEXED_MOVES + 1 + (use is AddressUse.VECTOR_STORE)
            timed = TimedCode(code, count, loop=True, registers=(("rdi", 0),))
            yield FrontEndCode(Aspect.INDEXED, use, is_indexed, timed)


_RESULTS = (0, 1, 2, 3)  # numbers of registers


def _order_codes() -> Iterator[FrontEndCode]:
    products = [bytes([0x6B, 0xC6 | number << 3, 7]) for number in _RESULTS]  # imul eax, esi, 7
    loads = [bytes([0x48, 0x8B, 0x46 | number << 3, 8]) for number in _RESULTS]  # mov rax, [rsi + 8]
    of_products = [bytes([0x44, 0x6B, 0xC0 | number * 9, 7]) for number in _RESULTS]  # imul r8d, eax, 7
    of_loads = [bytes([0x4C, 0x8B, 0x40 | number * 9, 8]) for number in _RESULTS]  # mov r8, [rax + 8]
    yield from order_codes("multiplication", products, of_products)
    yield from order_codes("load", loads, of_loads)


def fetched_instructions(code: bytes) -> list[FetchedInstruction]:
    """The instructions of machine code as a front end sees them."""
    return [_fetched_instruction(code[insn.ip : insn.next_ip]) for insn in Decoder(64, code)]


@lru_cache(maxsize=4096)  # the codes of a front end repeat a few hundred instructions thousands of times
def _fetched_instruction(code: bytes) -> FetchedInstruction:
    insn = Decoder(64, code).decode()
    mnemonic = MNEMONICS[insn.mnemonic]
    places = range(insn.op_count)
    registers = tuple(insn.op_register(at) if insn.op_kind(at) == OpKind.REGISTER else None for at in places)
    behind_opcode = insn.len - 4 if mnemonic in {"mov", "cmp"} else 0
    number_bytes = max(insn.memory_displ_size, behind_opcode)
    return FetchedInstruction(mnemonic, step_of(insn, b"").flow, number_bytes, registers)
