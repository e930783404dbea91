"""Dumps of InstLatX64 (text): inverse throughputs as experiments, and latencies; see docs/formats.md.

    Inst   72 X86   : ADD r32, r32        L:   0.22ns=   1.0c  T:   0.06ns=   0.26c

All generations since 2007 have such rows: with or without `Inst`, with one to three decimals, and, where the
frequency changed meanwhile, with corrected cycles in parentheses. Rows of two instructions that wait for each
other bound the latencies of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from inference.formats.document import Document, PairEntry
from inference.formats.file_numbers import WIDEST
from inference.formats.measured_rows import MeasuredRow, latencies_of, throughputs_of
from inference.formats.printed_instructions import (
    InstructionReader,
    PrintedInstruction,
    SeveralInstructionsError,
    UnmatchedInstructionError,
)
from inference.formats.printed_sequences import read_sequence, round_trip_pairs
from inference.formats.source import Signature, Source
from inference.isa.microarchitecture import TOOL_NAMES
from inference.isa.scheme import TIMED_BY_VALUES
from inference.isa.targets import X86, target_of

_ROW = re.compile(
    r"^(?:Inst +)? {0,5}\d{1,5} +[\w.+/]{1,24} {0,24}:[^\n:]{1,90} L: {0,8}[\[\d-]", re.MULTILINE
)
SIGNATURE = Signature(patterns=(_ROW,))
_CYCLES = re.compile(r"= {0,8}(-?\d+\.\d+)c")
_CORRECTED = {letter: re.compile(rf"GHz {letter}: {{0,8}}(\d+\.\d+)") for letter in "LT"}
_CPU = re.compile(
    r'^(?:CPUID CPU Name {1,8}:(.{1,100})|CPU#\d{1,4} .{0,60}?Type: "(.{1,100})")', re.MULTILINE
)
_VENDOR = re.compile(r"(?:CPUID Manufacturer {0,8}: |Vendor: )(GenuineIntel|AuthenticAMD)")
_REVISION = re.compile(r"CPUID Revision {0,8}: ([0-9A-Fa-f]{8})h")
_FAMILY = re.compile(r"Family: {0,2}([0-9a-f]{1,3}) Model: {0,2}([0-9a-f]{1,2}) ")
_WIDE = re.compile(r"\br64\b")
"""Occurs in every dump of a 64-bit program."""

_IDIOM = re.compile(
    r"sub|sbb|xor|cmp|xchg|v?(?:p?xor[dq]?|xorp[sd]|p?andn[dq]?|andnp[sd]|psub\w{1,3}|pcmp(?:eq|gt)[bwdq])|k\w+"
)
"""Mnemonics that some cores execute without reading their sources, where these are one register."""

_WIDEST_PART = 16
"""Bits of a register that are written without the others, of which the old value is needed."""

_NEAR = 0.98
"""Share of its latency from which a throughput may be that of copies that wait for each other."""


def read_instlat_throughput(source: Source) -> Document:
    """Read the inverse throughput of each instruction that does not wait for its own copies."""
    return throughputs_of(source, _rows(source.text), _facts(source))


def read_instlat_latency(source: Source) -> Document:
    """Read latencies between registers, and from addresses to registers."""
    return latencies_of(source, _rows(source.text), _facts(source))


def _facts(source: Source) -> dict[str, Any]:
    """The processor's name, and its documented core, by its signature of CPUID or by family and model."""
    facts: dict[str, Any] = {"isa": X86}
    if cpu := _CPU.search(source.text):
        facts["arch"] = " ".join((cpu[1] or cpu[2]).split())
        if not _WIDE.search(source.text):
            facts["arch"] += ", 32-bit program"
    vendor, revision = _VENDOR.search(source.text), _REVISION.search(source.text)
    family_and_model = _FAMILY.search(source.text)
    if revision is not None:
        signature = int(revision[1], 16)
        family, model = (
            signature >> 8 & 0xF | signature >> 16 & 0xFF0,
            signature >> 4 & 0xF | signature >> 12 & 0xF0,
        )
    elif family_and_model is not None:
        family, model = (int(digits, 16) for digits in family_and_model.groups())
    else:
        return facts
    numbers = {"vendor": vendor and vendor[1], "family": (family & 0xF) + (family >> 4), "model": model}
    core = target_of(X86).schemes.core_of(numbers)
    return facts | ({"core": core.name} if core is not None and core.name in TOOL_NAMES else {})


def _rows(text: str) -> Iterator[MeasuredRow]:
    reader = InstructionReader(X86)
    for line, printed in enumerate(text.splitlines(), start=1):
        head, latency_mark, times = printed.partition(" L:")
        place, colon, words = head.partition(":")
        number_and_tag = place.removeprefix("Inst").split()
        if not (latency_mark and colon and len(number_and_tag) == 2 and number_and_tag[0].isdecimal()):
            continue
        written = " ".join(words.split())
        label = f"{written[:100]} (row {number_and_tag[0]})"
        try:
            instruction = reader.read(written)
        except SeveralInstructionsError as error:
            row = MeasuredRow(line, label, None, None, (), str(error), str(error))
            yield _of_sequence(row, read_sequence(reader, written), times)
        except UnmatchedInstructionError as error:
            yield MeasuredRow(line, label, None, None, (), str(error), str(error))
        else:
            yield _measured(MeasuredRow(line, label, instruction.scheme), instruction, times)


def _of_sequence(row: MeasuredRow, instructions: Sequence[PrintedInstruction], times: str) -> MeasuredRow:
    """A row of several instructions with the latencies that a chain of two of them bounds.

    No throughput is taken: how many such chains a dump runs side by side is not told, so that its number may
    be that of the chains.
    """
    latency = _cycles(times.partition(" T:")[0], times, "L")
    if not instructions:
        return row
    pairs: list[tuple[PairEntry, ...]] = [() for _ in instructions]
    if len(instructions) == 2 and latency is not None and latency > 0:
        first, second = instructions
        pairs = [round_trip_pairs(X86, first, second, latency), round_trip_pairs(X86, second, first, latency)]
    partners = zip((instruction.scheme for instruction in instructions), pairs, strict=True)
    return replace(row, scheme=instructions[0].scheme, pairs=pairs[0], partners=tuple(partners)[1:])


def _measured(row: MeasuredRow, instruction: PrintedInstruction, times: str) -> MeasuredRow:
    """A row with its numbers, or with the reasons why they are none of its scheme."""
    delay, _, throughput = times.partition(" T:")
    latency, cycles = _cycles(delay, times, "L"), _cycles(throughput, times, "T")
    no_cycles = _no_throughput(instruction, latency, cycles)
    if latency is None or latency < 0:
        no_latency = f"its latency is {delay.strip()[:40] or 'missing'}"
    elif instruction.has_single_source and instruction.is_move:
        no_latency = "it moves a register to itself"
    else:
        no_latency = _unusual(instruction)
    return replace(
        row,
        cycles=None if no_cycles else cycles,
        pairs=() if no_latency or latency is None else instruction.chained_pairs(X86, latency),
        why_no_cycles=no_cycles,
        why_no_latency=no_latency,
    )


def _no_throughput(instruction: PrintedInstruction, latency: float | None, cycles: float | None) -> str:
    """Why a row shows no inverse throughput of its scheme, "" where it does."""
    if cycles is None or cycles * WIDEST < 1:
        return "its throughput is no number" if cycles is None else f"{cycles:g} cycles: no core is as quick"
    return _unusual(instruction) or _waiting(instruction, latency, cycles)


def _waiting(instruction: PrintedInstruction, latency: float | None, cycles: float) -> str:
    """Why copies that rewrite a general-purpose register may wait for each other, "" where they do not.

    The dumps use few of these registers: a subtraction of two of them takes a cycle on a Zen 4, which does
    four per cycle.
    """
    operands = instruction.scheme.operands
    if not operands or not operands[0].name.startswith("GPR") or operands[0].access not in ("W", "RW"):
        return ""
    if operands[0].access == "W" and operands[0].width > _WIDEST_PART:
        return ""
    if "_" in instruction.operands[0]:
        return "its copies share two registers, and may wait for each other"
    is_chain = latency is not None and cycles >= _NEAR * latency
    return "it takes as long as its latency: its copies may wait for each other" if is_chain else ""


def _unusual(instruction: PrintedInstruction) -> str:
    """Why the row is a special case of its scheme, "" where it is none."""
    if instruction.has_single_source and _IDIOM.fullmatch(instruction.scheme.mnemonic):
        return "all its sources are one register, so that some cores do not execute it"
    if instruction.displacement % 8:
        return "its accesses to memory are not aligned"
    if instruction.values and instruction.scheme.category not in TIMED_BY_VALUES:
        return f"it was measured with {instruction.values}"
    return ""


def _cycles(written: str, times: str, letter: str) -> float | None:
    """The cycles of a row, corrected for the frequency where the dump does so; None for none."""
    match = _CYCLES.search(written)
    corrected = _CORRECTED[letter].search(times)
    number = corrected or match
    return None if match is None or number is None else float(number[1])
