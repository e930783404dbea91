"""Predictors that decode machine code and answer a cycle per instruction, beside what is planted in them."""

from __future__ import annotations

from functools import cache

from iced_x86 import Decoder, InstructionInfoFactory, MemorySizeExt, Mnemonic, OpAccess, OpKind, RegisterExt

from inference.isa.x86.scheme_set import schemes
from inference.predictors.protocol import Answer, Failure

NAMES = frozenset(
    [
        "add",
        "xor",
        "test",
        "bsf",
        "bsr",
        "lea",
        "imul",
        "popcnt",
        "mov",
        "movzx",
        "vmovups",
        "vmovdqa",
        "vmovq",
    ]
)
_READS = (OpAccess.READ, OpAccess.READ_WRITE, OpAccess.COND_READ, OpAccess.READ_COND_WRITE)
_WRITES = (OpAccess.WRITE, OpAccess.READ_WRITE, OpAccess.COND_WRITE, OpAccess.READ_COND_WRITE)
_INFO = InstructionInfoFactory()


_SHIFTS = (Mnemonic.SHL, Mnemonic.SAR, Mnemonic.ROR)
FLAG_NAMES = frozenset("add adc bsf cmovs cmovbe imul lea mov ror sar setb setnp sete shl".split())  # noqa: SIM905


def few_schemes(names=NAMES):
    """The texts of a few dozen schemes, quick to search."""
    return [one.text for one in schemes() if one.mnemonic in names and one.encoding != "EVEX"]


class Decoding:
    """A predictor that decodes: a cycle per instruction, and what is planted."""

    def __init__(self, planted=lambda instructions: 0.0, name="planted"):
        self.name = name
        self.identity = {"kind": "planted", "name": name}
        self._planted = planted
        self.asked = 0
        self.closed = False

    def predict(self, blocks):
        self.asked += len(blocks)
        return [self._answer(list(Decoder(64, code))) for code in blocks]

    def _answer(self, instructions):
        extra = self._planted(instructions)
        if isinstance(extra, Failure):
            return Answer(failure=extra)
        return Answer(cycles=len(instructions) + float(extra))

    def close(self):
        self.closed = True


@cache
def addresses(instruction, wanted):
    """Memory that an instruction accesses in one of the ways: base register and displacement."""
    return {(m.base, m.displacement) for m in _INFO.info(instruction).used_memory() if m.access in wanted}


def forwarded_store(instructions):
    """Twenty cycles where what one instruction stores another one loads, sooner or later in the loop."""
    stored = [addresses(one, _WRITES) for one in instructions]
    loaded = [addresses(one, _READS) for one in instructions]
    places = range(len(instructions))
    return 20 * any(stored[i] & loaded[j] for i in places for j in places if i != j)


def widened_store(instructions):
    """Twenty cycles where an instruction loads what another has stored at most half of."""
    bits = [8 * MemorySizeExt.size(one.memory_size) for one in instructions]
    stored = [addresses(one, _WRITES) for one in instructions]
    loaded = [addresses(one, _READS) for one in instructions]
    places = range(len(instructions))
    pairs = [(i, j) for i in places for j in places if i != j and stored[i] & loaded[j]]
    return 20 * any(bits[i] <= 64 and bits[j] >= 128 for i, j in pairs)


def flags_after_a_shift_by_0(instructions):
    """Thirty cycles where one shifts by 0 and another reads a flag."""
    by_0 = [
        one.mnemonic in _SHIFTS and one.op1_kind == OpKind.IMMEDIATE8 and not one.immediate8
        for one in instructions
    ]
    reads = [bool(one.rflags_read) for one in instructions]
    places = range(len(instructions))
    return 30 * any(by_0[i] and reads[j] for i in places for j in places if i != j)


def loads_in_chains(instructions):
    """Four cycles where one loads and reads a flag of another, which reads a register of the first."""
    read, written = [], []
    for one in instructions:
        used = _INFO.info(one).used_registers()
        names = [
            (RegisterExt.full_register(u.register), u.access, RegisterExt.size(u.register)) for u in used
        ]
        kept = {name for name, access, size in names if access == OpAccess.COND_WRITE or size < 4}
        read.append(kept | {name for name, access, _ in names if access in _READS})
        written.append({name for name, access, _ in names if access in _WRITES})
    places = range(len(instructions))
    return 4 * any(
        addresses(instructions[i], _READS)
        and instructions[i].rflags_read & instructions[j].rflags_modified
        and written[i] & read[j]
        for i in places
        for j in places
        if i != j
    )


def slow_scan(instructions):
    """Ten cycles for each bit scan."""
    return sum(10 for one in instructions if one.mnemonic in (Mnemonic.BSF, Mnemonic.BSR))


def crashing_pair(instructions):
    """A crash where `imul` and `popcnt` come together."""
    here = {one.mnemonic for one in instructions}
    return Failure.CRASH if {Mnemonic.IMUL, Mnemonic.POPCNT} <= here else 0.0
