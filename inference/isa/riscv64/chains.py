"""The registers and connectors of RISC-V's chains; see `inference.isa.words.chains`.

Connectors are sign extensions between general-purpose registers, and between floating-point registers
exclusive ORs of the sign with that of +0: both keep the value and are no moves, which may be eliminated.
Floating-point numbers of each width have registers of their own, which start with numbers of that width.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from inference.agent.protocol import Frame
from inference.isa.chains import (
    QUICK,
    SLOW,
    ChainLink,
    NoChainError,
    ValueClass,
    float_values,
)
from inference.isa.code.block import BlockError
from inference.isa.document import OperandForm
from inference.isa.riscv64 import assembling, by_text, instruction_set
from inference.isa.riscv64.allocation import BOXED, bank_of
from inference.isa.riscv64.assembling import code_of_line
from inference.isa.scheme import Scheme
from inference.isa.words.chains import ChainSet, ConnectorStep, Steps, move_link
from inference.isa.words.idioms import IdiomMaker
from inference.isa.words.link_ends import EndValues, OperandEnd, is_source
from inference.isa.words.memory_chains import MemoryRegisters

_SCRATCH, _ZERO, _VALUE, _LOAD_BASE, _STORE_BASE = 28, 30, 31, 18, 22
"""Numbers of general-purpose registers with a fixed use in all chains."""

_FLOAT_VALUE, _FLOAT_ZERO, _POSITIVE = 29, 30, 31
"""The same of floating-point registers: a value, zero of its width, and +0 of 64 bits from the start."""

_POOLS = {64: (0, 1, 2, 9, 10, 11, 12, 13, 14), 32: (3, 4, 5, *range(15, 20)), 16: (6, 7, 8, *range(20, 25))}
"""{bits: floating-point registers}."""

_LETTERS = {64: "d", 32: "s", 16: "h"}
_MOVED = {64: "d", 32: "w", 16: "h"}  # in moves between both kinds of registers
_LOADS = {
    **{("general", bits): load for bits, load in ((8, "lbu"), (16, "lhu"), (32, "lw"), (64, "ld"))},
    **{("float", bits): load for bits, load in ((16, "flh"), (32, "flw"), (64, "fld"))},
}
_STORES = {key: load.rstrip("u").replace("l", "s", 1) for key, load in _LOADS.items()}
_DIVIDEND, _DIVISOR = 0x743A9ED744556677, 3
"""With this divisor the quotient has nearly all bits, signed or not."""

EXTEND = ChainLink("addiw GPR[64]:W, GPR[64]:R, IMM[12]:R", "2", "1")
_XOR_FIRST, _XOR_SECOND, _AND, _OR = (
    ChainLink(f"{name} GPR[64]:W, GPR[64]:R, GPR[64]:R", place, "1")
    for name, place in (("xor", "2"), ("xor", "3"), ("and", "2"), ("or", "2"))
)
_SIGN = ChainLink("fsgnjx.d FPR[64]:W, FPR[64]:R, FPR[64]:R", "2", "1")


def _restoring(bits: int) -> ChainLink:
    width = f"FPR[{bits}]"
    return ChainLink(f"fmadd.{_LETTERS[bits]} {width}:W, {width}:R, {width}:R, {width}:R", "2", "1")


def frame() -> Frame:
    """The frame of experiments, with numbers of each width in its registers."""
    default = assembling.frame()
    boxed = {f"f{number}": pattern for bits, pattern in BOXED.items() for number in _POOLS[bits]}
    return replace(default, vectors={**default.vectors, **boxed, f"f{_POSITIVE}": 0})


class RiscvChains(ChainSet):
    general = range(5, 18)
    others = {f"float {bits}": numbers for bits, numbers in _POOLS.items()}
    scratch = _SCRATCH
    bases = _LOAD_BASE, _STORE_BASE
    connectors = {
        "general": (ConnectorStep("addiw x{0}, x{1}, 0", EXTEND),),
        "float": (ConnectorStep(f"fsgnjx.d f{{0}}, f{{1}}, f{_POSITIVE}", _SIGN),),
    }
    exclusive_or, from_second, from_first = "xor x{0}, x{0}, x{1}", _XOR_SECOND, _XOR_FIRST

    def schemes(self) -> Mapping[str, Scheme]:
        return by_text()

    def forms(self) -> Mapping[str, OperandForm]:
        return instruction_set().forms

    def pool_of(self, form: OperandForm) -> str:
        return bank_of(form)

    def obstacle(self, text: str) -> str:
        return assembling.obstacle(text)

    def values_of(self, scheme: Scheme) -> tuple[EndValues, ...]:
        name = scheme.mnemonic.partition(".")[0]
        if name.rstrip("w").rstrip("u") in {"div", "rem"}:
            return tuple(self._integer_division(scheme))
        return tuple(self._floating_point_values(scheme)) if name in {"fdiv", "fsqrt"} else ()

    def _integer_division(self, scheme: Scheme) -> Iterator[EndValues]:
        dividend, divisor = (end.name for end in self.ends_of(scheme) if is_source(end))
        large = _DIVIDEND >> (32 if scheme.mnemonic.endswith("w") else 0)
        for name, first, second in ((QUICK, 0, 1), (SLOW, large, _DIVISOR)):
            description = f"{first:#x} / {second}" if first else f"{first} / {second}"
            yield EndValues(ValueClass(name, description), {dividend: first, divisor: second})

    def _floating_point_values(self, scheme: Scheme) -> Iterator[EndValues]:
        read = [end for end in self.ends_of(scheme) if is_source(end)]
        for values in float_values(read[0].operand.width):
            if len(read) == 1:
                yield EndValues(values.root, {read[0].name: values.dividend})
            else:
                both = {read[0].name: values.dividend, read[1].name: values.divisor}
                yield EndValues(values.quotient, both)

    def encode(self, lines: set[str]) -> Mapping[str, bytes | str]:
        codes: dict[str, bytes | str] = {}
        for line in lines:
            try:
                codes[line] = code_of_line(line)
            except BlockError as error:
                codes[line] = str(error)
        return codes

    def with_value(self, end: OperandEnd, number: int, value: int) -> Iterator[str]:
        if end.bank != "float":
            yield f"li x{number}, {_signed(value)}"
            return
        bits = end.operand.width
        yield f"li x{_SCRATCH}, {_signed(value)}"
        yield f"fmv.{_MOVED[bits]}.x f{number}, x{_SCRATCH}"

    def initialized(self, end: OperandEnd, number: int) -> Iterator[str]:
        """Nothing: only memory is read and written."""
        yield from ()

    def restoring(self, end: OperandEnd, value: int) -> tuple[list[str], list[str], list[ChainLink]]:
        if end.bank == "general":
            constants = [*self.with_value(end, _ZERO, 0), *self.with_value(end, _VALUE, value)]
            return constants, [f"and x{{0}}, x{{1}}, x{_ZERO}", f"or x{{0}}, x{{1}}, x{_VALUE}"], [_AND, _OR]
        bits = end.operand.width
        constants = [*self.with_value(end, _FLOAT_ZERO, 0), *self.with_value(end, _FLOAT_VALUE, value)]
        line = f"fmadd.{_LETTERS[bits]} f{{0}}, f{{1}}, f{_FLOAT_ZERO}, f{_FLOAT_VALUE}"
        return constants, [line], [_restoring(bits)]

    def moved(self, bank: str, number: int, bits: int, place: tuple[int, int], *, stores: bool) -> Steps:
        mnemonic = (_STORES if stores else _LOADS).get((bank, bits))
        if mnemonic is None:
            raise NoChainError(f"no instruction moves {bits} bits between that memory and registers")
        letter, name = ("x", "GPR[64]") if bank == "general" else ("f", f"FPR[{bits}]")
        line = f"{mnemonic} {letter}{number}, {place[1]}(x{place[0]})"
        return [line], [move_link(mnemonic, name, bits, stores=stores)]

    def to_scratch(self, end: OperandEnd, number: int) -> Steps:
        if end.bank != "float":
            return [f"addiw x{_SCRATCH}, x{number}, 0"], [EXTEND]
        step = from_float(end.operand.width)
        return [step.line.format(_SCRATCH, number)], [step.link]

    def from_scratch(self, end: OperandEnd, number: int) -> Steps:
        if end.bank != "float":
            return [f"addiw x{number}, x{_SCRATCH}, 0"], [EXTEND]
        bits = end.operand.width
        mnemonic = f"fmv.{_MOVED[bits]}.x"
        link = ChainLink(f"{mnemonic} FPR[{bits}]:W, GPR[64]:R", "2", "1")
        return [f"{mnemonic} f{number}, x{_SCRATCH}"], [link]


def from_float(bits: int) -> ConnectorStep:
    """The move from a floating-point register to a general-purpose one."""
    mnemonic = f"fmv.x.{_MOVED[bits]}"
    return ConnectorStep(
        f"{mnemonic} x{{0}}, f{{1}}", ChainLink(f"{mnemonic} GPR[64]:W, FPR[{bits}]:R", "2", "1")
    )


def _signed(value: int) -> int:
    """64 bits as a signed number, as `li` takes it."""
    return value - (1 << 64) if value >> 63 else value


def code_of(lines: Sequence[str]) -> bytes:
    """Machine code of lines. Raises `NoChainError` for a line that has none."""
    try:
        return b"".join(map(code_of_line, lines))
    except BlockError as error:
        raise NoChainError(str(error)) from None


CHAINS = RiscvChains()


def connectors() -> tuple[ChainLink, ...]:
    """The links that close chains within a class: their own latencies are measured first."""
    return (EXTEND, _XOR_FIRST, _XOR_SECOND, _SIGN, _AND, _OR, *map(_restoring, _POOLS))


IDIOMS = IdiomMaker(
    CHAINS,
    {"general": (9, 10, 11, 12), **{f"float {bits}": numbers[-4:] for bits, numbers in _POOLS.items()}},
    code_of,
    [f"add x{number}, x{number}, x13" for number in range(5, 13)],
)


_STORED = 5
_TO_GENERAL = {
    bits: ConnectorStep(from_float(bits).line.format(_STORED, 0), from_float(bits).link) for bits in (64, 32)
}
links_of, chains_of_pairs = CHAINS.links_of, CHAINS.chains_of_pairs
idioms_of, reference_additions = IDIOMS.idioms_of, IDIOMS.reference_additions
memory_chains = MemoryRegisters(
    CHAINS,
    code_of,
    {"general": _STORED, "float": 0},
    range(_STORED, 9),
    "float",
    (64, 32),
    ((64, 64, 0), (32, 32, 0), (64, 32, 0), (64, 32, 4), (32, 64, 0)),
    _TO_GENERAL,
).chains


def mixer() -> None:
    """None: latencies beside other instructions are not measured."""
