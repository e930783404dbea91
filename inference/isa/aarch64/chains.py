"""The registers and connectors of AArch64's chains; see `inference.isa.words.chains`.

Connectors are sign extensions between general-purpose registers, AND and negation (of the floating-point
units) between vector registers, since moves may be eliminated. x0, which may be an index, starts with zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from inference.agent.protocol import Frame
from inference.isa import llvm_mc
from inference.isa.aarch64 import assembling, by_text, instruction_set, link_ends
from inference.isa.aarch64.assembling import CPU, FEATURES, TRIPLE
from inference.isa.chains import ChainLink, NoChainError
from inference.isa.document import OperandForm
from inference.isa.scheme import Scheme
from inference.isa.words.chains import ChainSet, ConnectorStep, Steps, move_link
from inference.isa.words.link_ends import FLAGS, EndValues, OperandEnd

_SCRATCH, _CONSTANT, LOAD_BASE, STORE_BASE = 16, 17, 19, 23
"""Numbers of registers with a fixed use in all chains."""

_CONSTANTS = {"general": (14, 15), "vector": (30, 31)}
"""Registers for zero and for a value; no operand uses them."""

EXTEND = ChainLink("sxtw GPR[64]:W, GPR[32]:R", "2", "1")
EOR_FIRST, EOR_SECOND = (ChainLink("eor GPR[64]:W, GPR[64]:R, GPR[64]:R", name, "1") for name in "23")
AND = ChainLink("and VEC[16B]:W, VEC[16B]:R, VEC[16B]:R", "2", "1")
_NEGATE = ChainLink("fneg VEC[2D]:W, VEC[2D]:R", "2", "1")
_AND_GENERAL = ChainLink("and GPR[64]:W, GPR[64]:R, GPR[64]:R", "2", "1")
_ORR_GENERAL = ChainLink("orr GPR[64]:W, GPR[64]:R, GPR[64]:R", "2", "1")
_ORR = ChainLink("orr VEC[16B]:W, VEC[16B]:R, VEC[16B]:R", "2", "1")
_RESTORING = {
    # bank: an AND with zero and an OR with the value, and their links
    "general": ("and x{{0}}, x{{1}}, x{0}", "orr x{{0}}, x{{1}}, x{1}", [_AND_GENERAL, _ORR_GENERAL]),
    "vector": ("and v{{0}}.16b, v{{1}}.16b, v{0}.16b", "orr v{{0}}.16b, v{{1}}.16b, v{1}.16b", [AND, _ORR]),
}
FROM_VECTOR = ChainLink("fmov GPR[64]:W, FPR[64]:R", "2", "1")
_TO_VECTOR = ChainLink("fmov FPR[64]:W, GPR[64]:R", "2", "1")
_FROM_FLAGS = ChainLink("cset GPR[64]:W, COND", FLAGS, "1")
_TO_FLAGS = ChainLink("cmp GPR[64]:R, IMM[12]:R", "1", FLAGS)
_MOVES = {
    # bank and bits: suffix of the mnemonic, its register, and what its text calls it
    **{("general", bits): (suffix, "w", "GPR[32]") for bits, suffix in ((8, "b"), (16, "h"), (32, ""))},
    ("general", 64): ("", "x", "GPR[64]"),
    **{("vector", 8 << k): ("", letter, f"FPR[{8 << k}]") for k, letter in enumerate("bhsdq")},
}


def frame() -> Frame:
    default = assembling.frame()
    return replace(default, registers={**default.registers, "x0": 0})


class AArch64Chains(ChainSet):
    general = range(14)
    others = {"vector": range(30)}
    scratch = _SCRATCH
    bases = LOAD_BASE, STORE_BASE
    connectors = {
        "general": (ConnectorStep("sxtw x{0}, w{1}", EXTEND),),
        "vector": (
            ConnectorStep("and v{0}.16b, v{1}.16b, v{1}.16b", AND),
            ConnectorStep("fneg v{0}.2d, v{1}.2d", _NEGATE),
        ),
    }
    exclusive_or, from_second, from_first = "eor x{0}, x{0}, x{1}", EOR_SECOND, EOR_FIRST

    def schemes(self) -> Mapping[str, Scheme]:
        return by_text()

    def forms(self) -> Mapping[str, OperandForm]:
        return instruction_set().forms

    def obstacle(self, text: str) -> str:
        return assembling.obstacle(text)

    def values_of(self, scheme: Scheme) -> tuple[EndValues, ...]:
        return link_ends.values_of(scheme)

    def encode(self, lines: set[str]) -> Mapping[str, bytes | str]:
        ordered = sorted(lines)
        if not ordered:
            return {}
        done = llvm_mc.assemble(ordered, TRIPLE, CPU, FEATURES)
        refused: dict[str, bytes | str] = {ordered[number]: why for number, why in done.refused.items()}
        if refused:
            ordered = [line for line in ordered if line not in refused]
            done = llvm_mc.assemble(ordered, TRIPLE, CPU, FEATURES)
        if len(done.code) != 4 * len(ordered):
            raise llvm_mc.AssemblerError(
                f"llvm-mc made {len(done.code)} bytes of {len(ordered)} instructions"
            )
        return refused | {line: done.code[4 * k : 4 * k + 4] for k, line in enumerate(ordered)}

    def with_value(self, end: OperandEnd, number: int, value: int) -> Iterator[str]:
        return link_ends.with_value(end.bank, number, value, _SCRATCH)

    def initialized(self, end: OperandEnd, number: int) -> Iterator[str]:
        if end.bank == FLAGS:
            yield f"cmp x{_CONSTANT}, #0"
        elif end.bank == "general":
            yield f"mov x{number}, #16"
        elif end.bank == "vector":
            yield f"movi v{number}.2d, #0"

    def restoring(self, end: OperandEnd, value: int) -> tuple[list[str], list[str], list[ChainLink]]:
        zero, full = _CONSTANTS[end.bank]
        constants = [*self.with_value(end, zero, 0), *self.with_value(end, full, value)]
        *lines, links = _RESTORING[end.bank]
        return constants, [str(line).format(zero, full) for line in lines], [*links]

    def moved(self, bank: str, number: int, bits: int, place: tuple[int, int], *, stores: bool) -> Steps:
        if (bank, bits) not in _MOVES:
            raise NoChainError(f"no instruction moves {bits} bits between that memory and registers")
        suffix, letter, name = _MOVES[bank, bits]
        mnemonic = f"{'str' if stores else 'ldr'}{suffix}"
        line = f"{mnemonic} {letter}{number}, [x{place[0]}, #{place[1]}]"
        return [line], [move_link(mnemonic, name, bits, stores=stores)]

    def to_scratch(self, end: OperandEnd, number: int) -> Steps:
        if end.bank == "vector":
            return [f"fmov x{_SCRATCH}, d{number}"], [FROM_VECTOR]
        if end.bank == FLAGS:
            return [f"cset x{_SCRATCH}, lo"], [_FROM_FLAGS]
        return [f"sxtw x{_SCRATCH}, w{number}"], [EXTEND]

    def from_scratch(self, end: OperandEnd, number: int) -> Steps:
        if end.bank == "vector":
            return [f"fmov d{number}, x{_SCRATCH}"], [_TO_VECTOR]
        if end.bank == FLAGS:
            return [f"cmp x{_SCRATCH}, #1365"], [_TO_FLAGS]
        return [f"sxtw x{number}, w{_SCRATCH}"], [EXTEND]


CHAINS = AArch64Chains()
links_of, chains_of_pairs = CHAINS.links_of, CHAINS.chains_of_pairs


def connectors() -> tuple[ChainLink, ...]:
    """The links that close chains within a class: their own latencies are measured first."""
    restoring = (_AND_GENERAL, _ORR_GENERAL, _ORR)
    return (EXTEND, EOR_FIRST, EOR_SECOND, AND, _NEGATE, *restoring)
