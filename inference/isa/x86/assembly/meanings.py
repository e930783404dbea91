"""Possible meanings of a written instruction: mnemonics with the operands that assemblers imply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from iced_x86 import Register

from inference.isa.x86.assembly.mnemonics import (
    MnemonicReading,
    att_readings,
    exchange_reversed,
    pops_without_operands,
    readings,
)
from inference.isa.x86.assembly.operands import (
    ImmediateOperand,
    MemoryOperand,
    Operand,
    RegisterOperand,
    WrittenInstruction,
)
from inference.isa.x86.iced_types import RegisterValue

_WITH_XMM0 = frozenset({"blendvps", "blendvpd", "pblendvb", "sha256rnds2"})
_WITH_REGISTERS = frozenset(
    {"monitor", "mwait", "monitorx", "mwaitx", "clzero", "invlpga", "vmload", "vmsave", "vmrun", "skinit"}
)
_WITH_HALVES = frozenset({"umonitor", "tpause", "umwait"})
"""Instructions whose listings contain implied registers; here all but the first."""

_SELECTOR_READERS = frozenset({"lldt", "ltr", "verr", "verw", "lmsw", "lar", "lsl"})
"""Instructions that read 16 bits of a register, without an operand-size prefix in assemblers."""

_FIRST_REGISTERS = (Register.AX, Register.EAX, Register.RAX)
_WORDS = (Register.AX, Register.R15W)
_ACCUMULATORS = tuple(RegisterOperand(register) for register in (Register.AX, Register.EAX, Register.RAX))
_TOP, _BELOW = RegisterOperand(Register.ST0), RegisterOperand(Register.ST1)


class MnemonicMeaning(NamedTuple):
    """A mnemonic in iced's tables with further facts of its name, and operands in Intel's order."""

    reading: MnemonicReading
    operands: tuple[Operand, ...]


def meanings(written: WrittenInstruction) -> Iterator[MnemonicMeaning]:
    """Possible meanings, the plainest first."""
    names = (att_readings if written.is_att else readings)(written.mnemonic)
    if not names and not written.operands:  # listings have names of AT&T's in Intel's syntax here and there
        names = att_readings(written.mnemonic)
    for reading in names:
        for meaning in _with_operands(reading, written.operands):
            yield _with_implied(meaning, is_att=written.is_att)


def _with_operands(reading: MnemonicReading, operands: tuple[Operand, ...]) -> Iterator[MnemonicMeaning]:
    """The written operands, and variants with implied operands added or removed."""
    name = reading.mnemonic
    if name.startswith("f"):
        yield from _on_the_stack(reading, operands)
        return
    if name in ("xchg", "test") and len(operands) == 2:
        yield MnemonicMeaning(reading, _either_way(name, operands))
        return
    if name in _SELECTOR_READERS and operands:
        yield MnemonicMeaning(reading, _with_wide_selector(operands))
        return
    yield MnemonicMeaning(reading, operands)
    if name == "imul" and len(operands) == 2:
        yield MnemonicMeaning(reading, (operands[0], *operands))
    elif name in _WITH_XMM0 and len(operands) == 3 and operands[2] == RegisterOperand(Register.XMM0):
        yield MnemonicMeaning(reading, operands[:2])
    elif name == "nop":  # with the register that its encoding has, in VTune
        yield MnemonicMeaning(reading, operands[:1])
    elif name in _WITH_REGISTERS:
        yield MnemonicMeaning(reading, ())
    elif name in _WITH_HALVES:
        yield MnemonicMeaning(reading, operands[:1])


def _either_way(name: str, operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """Commutative operands in the order in which LLVM's assembler encodes them."""
    first, second = operands
    if isinstance(first, RegisterOperand) and isinstance(second, MemoryOperand):
        return second, first
    if name == "xchg" and isinstance(first, RegisterOperand) and isinstance(second, RegisterOperand):
        return operands if second in _ACCUMULATORS else (second, first)
    return operands


def _with_wide_selector(operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """A 16-bit selector register replaced by one as wide as the target, or of 32 bits without one."""
    *targets, source = operands
    if not isinstance(source, RegisterOperand) or not _WORDS[0] <= source.register <= _WORDS[1]:
        return operands
    number = source.register - _WORDS[0]
    first = Register.EAX
    for target in targets:
        if isinstance(target, RegisterOperand):
            first = next((base for base in _FIRST_REGISTERS if base <= target.register < base + 16), first)
    return (*targets, RegisterOperand(cast(RegisterValue, first + number)))


def _on_the_stack(reading: MnemonicReading, operands: tuple[Operand, ...]) -> Iterator[MnemonicMeaning]:
    """An x87 instruction: without operands, with one of its two registers, or in AT&T's reversed spelling."""
    if not operands and pops_without_operands(reading.mnemonic):
        yield MnemonicMeaning(reading._replace(mnemonic=f"{reading.mnemonic}p"), (_BELOW, _TOP))
        return
    yield MnemonicMeaning(reading, operands)
    if not operands:
        orders: Sequence[tuple[Operand, ...]] = ((_BELOW,), (_BELOW, _TOP), (_TOP, _BELOW))
    elif len(operands) == 1 and isinstance(operands[0], RegisterOperand):
        orders = ((_TOP, operands[0]), (operands[0], _TOP))
    elif len(operands) == 2 and _TOP in operands:
        orders = ((operands[1] if operands[0] == _TOP else operands[0],),)
    else:
        orders = ()
    yield from (MnemonicMeaning(reading, order) for order in orders)


def _with_implied(meaning: MnemonicMeaning, *, is_att: bool) -> MnemonicMeaning:
    """The meaning with the immediate that the name implies; AT&T's reversed x87 names as Intel's."""
    reading = meaning.reading
    if reading.implied is not None:
        return MnemonicMeaning(reading, (*meaning.operands, ImmediateOperand(reading.implied)))
    if is_att and reading.mnemonic.startswith("f") and _is_into_stack(meaning.operands):
        return meaning._replace(reading=reading._replace(mnemonic=exchange_reversed(reading.mnemonic)))
    return meaning


def _is_into_stack(operands: Sequence[Operand]) -> bool:
    """Whether the target is an x87 register other than the top."""
    registers = [operand.register for operand in operands if isinstance(operand, RegisterOperand)]
    return (
        len(registers) == 2 and registers[1] == Register.ST0 and Register.ST0 < registers[0] <= Register.ST7
    )
