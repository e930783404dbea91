"""Tables of insn_bench_aarch64 (Markdown or tab-separated): throughputs as experiments, and latencies.

    | add (reg) | 1.00 | 6.01 |        instruction, latency in cycles, instructions per cycle

The tool names forms, not operands; see docs/formats.md for what is understood. A form that fits several
schemes, or a special case (unaligned, an idiom, a sequence), is left out with its reason.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from inference.formats.document import Document, PairEntry
from inference.formats.measured_rows import MeasuredRow, latencies_of, pairs_of_sources, throughputs_of
from inference.formats.source import Signature, Source
from inference.isa.scheme import TIMED_BY_VALUES, Operand, Scheme
from inference.isa.targets import AARCH64, target_of

MAX_LENGTH = 200  # characters of a row
_HEADER = re.compile(r"^(?:\| )?instruction(?: \| |\t)latency(?: \| |\t)throughput(?: \|)?\r?$", re.MULTILINE)
SIGNATURE = Signature(patterns=(_HEADER,), within=1 << 16)
_ROW = re.compile(
    r"\|? ?(?P<name>[^|\t]{1,120}?) ?[|\t] ?(?P<latency>\d+\.\d+|-|n/a) ?[|\t] ?(?P<ipc>\d+\.\d+|-|n/a) ?\|?"
)
_NAME = re.compile(r"(?P<mnemonic>[a-z]\w*)(?:\.(?P<element>[bhsdq]))?(?: / \w+)?(?: \((?P<form>[^()]*)\))?")
_BITS = {"b": 8, "h": 16, "s": 32, "d": 64, "q": 128}
_LANES = {"b": "16B", "h": "8H", "s": "4S", "d": "2D"}
_HALF = {"b": "8B", "h": "4H", "s": "2S", "d": "1D"}
_SHIFT = re.compile(r"(?:<<|>>)\d{1,2}")
_PLAIN = re.compile(rf"|imm|reg|zero|vec|scl|[xw]|ofs = \d+|1st elem|2nd elem|eq|lt|x -> x|{_SHIFT.pattern}")
"""Parts of a form that need nothing but what `_fits` looks at."""

_ADDRESSES = {"pre": ",pre]", "post": ",post]", "literal": ",pc]", "<<3": ",base+index*"}
_WIDE = re.compile("[su](?:add|sub)w2?")
"""Instructions that are named by the elements of their result; others by those of their last source."""

_NARROW = ("ldrsb", "ldrsh", "ldursb", "ldursh")
"""Loads that the tool does into 32 bits, though there is a form of 64."""


_OTHER_CODE = frozenset({"pmull2.d", "bic.h (imm; <<8)", "bic.s (imm; <<8)", "uxtb", "uxth"})
"""Names for which the tool measures another instruction, or a second one."""


class _UnknownFormError(Exception):
    """A name stands for no scheme, or for several; the message says why."""


def read_insn_bench_throughput(source: Source) -> Document:
    return throughputs_of(source, _rows(source.text), {"isa": AARCH64, "units": ["ipc"]})


def read_insn_bench_latency(source: Source) -> Document:
    return latencies_of(source, _rows(source.text), {"isa": AARCH64})


def _rows(text: str) -> Iterator[MeasuredRow]:
    for line, printed in enumerate(text.splitlines(), start=1):
        match = _ROW.fullmatch(printed.strip()) if len(printed) < MAX_LENGTH else None
        if match is None:
            continue
        name, latency, ipc = match.group("name", "latency", "ipc")
        try:
            scheme = _scheme_named(name)
        except _UnknownFormError as error:
            is_sequence = "->" in name or "//" in name
            yield MeasuredRow(line, name, None, None, (), str(error), str(error), is_sequence)
        else:
            cycles = 1 / float(ipc) if ipc[0].isdecimal() and float(ipc) else None
            pairs = _pairs(scheme, float(latency)) if latency[0].isdecimal() else ()
            yield MeasuredRow(line, name, scheme, cycles, pairs)


def _pairs(scheme: Scheme, cycles: float) -> tuple[PairEntry, ...]:
    """The latencies that the tool's chains show: from an address, or from sources in one register."""
    explicit = _explicit(scheme)
    written = [operand for operand in explicit if "W" in operand.access]
    flags = any(operand.kind == "flags" and "W" in operand.access for operand in scheme.operands)
    chains = target_of(AARCH64).chains
    if chains is None or flags or len(written) != 1 or scheme.category in TIMED_BY_VALUES:
        return ()
    sources = [link.source for link in chains.links_of(scheme.text) if link.destination == "1"]
    if scheme.memory:
        plain = explicit[0].name.startswith("GPR") and _fits_address(explicit[-1].name, ())
        return pairs_of_sources([name for name in sources if plain and "address" in name], cycles, cycles)
    return pairs_of_sources([name for name in sources if name.isdecimal()], cycles, cycles)


def _explicit(scheme: Scheme) -> list[Operand]:
    return [operand for operand in scheme.operands if not operand.implicit]


@cache
def _schemes() -> Mapping[str, Sequence[Scheme]]:
    by_mnemonic: defaultdict[str, list[Scheme]] = defaultdict(list)
    for scheme in target_of(AARCH64).schemes.schemes():
        by_mnemonic[scheme.mnemonic].append(scheme)
    return by_mnemonic


def _scheme_named(name: str) -> Scheme:
    """The scheme of a form: `add (reg)`, `ldr (imm; pre, ofs = 16)`, `sqxtn.h (scl)`.

    Raises:
        _UnknownFormError: No scheme fits, or several do.
    """
    match = None if name in _OTHER_CODE else _NAME.fullmatch(name)
    if match is None:
        raise _UnknownFormError("a form that is not understood, or several instructions")
    form = [part.strip() for part in re.split("[;,]", match["form"] or "")]
    special = [part for part in form if part not in _ADDRESSES and not _PLAIN.fullmatch(part)]
    if special and form != ["mask imm"]:
        raise _UnknownFormError(f"a special case, or not understood: {special[0]!r}")
    candidates = [
        scheme
        for scheme in _schemes().get(match["mnemonic"], ())
        if _fits(_explicit(scheme), match["element"] or "", form, match["mnemonic"])
    ]
    widest = max((_width(scheme) for scheme in candidates), default=0)
    if match["mnemonic"] in _NARROW or "w" in form:
        widest = min((_width(scheme) for scheme in candidates), default=0)
    widest_schemes = [scheme for scheme in candidates if _width(scheme) == widest]
    if len(widest_schemes) != 1:
        fault = "several schemes fit" if widest_schemes else "no scheme fits"
        raise _UnknownFormError(
            f"{fault}: {', '.join(scheme.text for scheme in widest_schemes[:3])}".rstrip(": ")
        )
    return widest_schemes[0]


def _width(scheme: Scheme) -> int:
    return sum(operand.width for operand in _explicit(scheme) if operand.kind == "register")


def _fits(operands: Sequence[Operand], element: str, form: Sequence[str], mnemonic: str) -> bool:
    """Whether operands are of the kind that a form says; of several widths all fit."""
    names = [operand.name for operand in operands]
    memory = next((name for name in names if name.startswith("MEM[")), "")
    registers = [operand.name for operand in operands if operand.kind == "register"]
    if memory and not _fits_address(memory, form):
        return False
    extras = [name for name in names if name not in (*registers, memory, "COND", "IMM[nzcv]")]
    if not _fits_extras(extras, form, bool(memory)):
        return False
    if not element:
        return all(name.startswith("GPR[") for name in registers)
    if memory or "scl" in form:
        last = f"FPR[{_BITS[element]}]"
        return bool(registers) and registers[-1] == last and all(name.startswith("FPR") for name in registers)
    lanes = [_LANES, _HALF] if _widens(mnemonic, names) else [_LANES]
    shapes = [f"VEC[{names_of_lanes.get(element)}]" for names_of_lanes in lanes]
    named = registers[:1] if _WIDE.fullmatch(mnemonic) else registers[-1:]
    return bool(named) and named[0] in shapes and all(name.startswith("VEC") for name in registers)


def _widens(mnemonic: str, names: Sequence[str]) -> bool:
    """Whether the first operand has wider elements than the last, of which half a register is read."""
    return not mnemonic.endswith("2") and names[0].startswith("VEC") and names[0] != names[-1]


def _fits_address(memory: str, form: Sequence[str]) -> bool:
    shapes = [_ADDRESSES[part] for part in form if part in _ADDRESSES]
    if shapes:
        return shapes[-1] in memory
    if "reg" in form:
        return memory.endswith(",base+index]")
    return "," not in memory or memory.endswith(",near]")


def _fits_extras(extras: Sequence[str], form: Sequence[str], has_memory: bool) -> bool:
    """Whether the operands besides registers and memory are those of a form: an immediate, zero, or none."""
    if has_memory or "reg" in form:
        return not extras
    if "zero" in form:
        return list(extras) in (["0"], ["0.0"])
    if "mask imm" in form:
        return len(extras) == 1 and extras[0].startswith("IMM[mask")
    needs_extra = any(part == "imm" or _SHIFT.fullmatch(part) for part in form)
    return needs_extra <= bool(extras) and all(re.match(r"IMM\[(?!mask)", name) for name in extras)
