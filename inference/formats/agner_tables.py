"""Agner Fog's instruction tables as CSV, one sheet each: throughputs as experiments, latencies, and ports.

    MOVSX MOVZX,"r,r",1,1,p0156,1,0.25,      instructions, operands, µops, …, latency, reciprocal throughput

A row stands for several instructions, and a class of operands for several widths: each scheme has the row's
numbers. What a row stands for is only taken where such a scheme exists; see docs/formats.md.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product

from inference.formats.document import Document
from inference.formats.measured_rows import (
    PARTS,
    MeasuredRow,
    latencies_of,
    pairs_of_sources,
    throughputs_of,
)
from inference.formats.printed_instructions import scheme_named
from inference.formats.problems import excerpt
from inference.formats.source import Signature, Source
from inference.formats.uops_info_digest import mapping_document
from inference.formats.yaml_documents import facts_of_part
from inference.isa.scheme import TIMED_BY_VALUES, Scheme
from inference.isa.targets import X86, target_of

_HEADER = re.compile(r'^"?Instructions?"?(?P<separator>[,;\t])"?Operands"?(?P=separator)', re.MULTILINE)
SIGNATURE = Signature(patterns=(_HEADER, re.compile("Reciprocal\\s{1,3}through")), within=1 << 16)
PORTS = "ports"
_ALL_PARTS = (*PARTS, PORTS)
_PORTS_TITLE = re.compile(r".{0,3}ops each port|execution pipes?")
_COUNT_TITLE = re.compile(r".{0,3}ops unfused domain|ops")
_PORTS = re.compile(r"(\d{0,2})p(\d{1,10})", re.IGNORECASE)
_RANGE = re.compile(r"(\d{1,4}(?:\.\d{1,3})?)(?: ?[-–] ?(\d{1,4}(?:\.\d{1,3})?))?")
_OPTIONAL = re.compile(r"\((\w{1,6})\)")
_WIDTHS = re.compile(r"(r|m)((?:8|16|32|64|128|256|512)(?:/(?:8|16|32|64|128|256|512))*)")
_CLASSES: Mapping[str, Sequence[str]] = {
    "i": ("imm8", "imm32"),
    "m": ("m128", "m256", "m512", "m64", "m32", "m16", "m8"),
    "x": ("xmm",),
    "y": ("ymm",),
    "z": ("zmm",),
    "mm": ("mm",),
    "k": ("k",),
    "cl": ("cl",),
    "1": ("0x1",),
}
"""{class of operands: operands of schemes}, besides `r` and `v`, any general-purpose or vector register."""

_GENERAL, _PLAIN, _VECTORS = ("8", "16", "32", "64"), ("32", "64"), ("xmm", "ymm")
"""Bits of general-purpose registers; those that a plain `r` stands for: others have rows of their own."""

_CONDITIONS = ("e", "ne", "s", "ns", "o", "no", "l", "ge")
"""Conditions that `cc` stands for here; those of two flags can take longer."""

MAX_OPERANDS = 5
MAX_NAMES = 40  # instructions of one row


def read_agner_throughput(source: Source) -> Document:
    return throughputs_of(source, _rows(source), _facts(source), _ALL_PARTS)


def read_agner_latency(source: Source) -> Document:
    return latencies_of(source, _rows(source), _facts(source), _ALL_PARTS)


def reads_ports(source: Source) -> bool:
    """Whether the requested part is the ports of the µops."""
    return source.part == PORTS


def read_agner_ports(source: Source) -> Document:
    """The ports of each row's µops, where they are as many as the row counts."""
    facts = {**_facts(source), **facts_of_part(source, _ALL_PARTS)}
    usages: dict[str, tuple[int, str]] = {}
    dropped: dict[str, str] = {}
    ambiguous: set[str] = set()
    for line, cells, columns in _lines(source):
        titles = [next(filter(title.fullmatch, columns), "") for title in (_PORTS_TITLE, _COUNT_TITLE)]
        usage, fault = _usage(*(_cell(cells, columns, title) for title in titles))
        for scheme in dict.fromkeys(_schemes(*cells[:2])):
            label = f"{scheme.text}: {cells[0][:80]} {cells[1][:40]} (line {line})"
            if fault or scheme.category in TIMED_BY_VALUES:
                dropped[label] = fault or "the table has no port for its divider"
            elif usages.setdefault(scheme.text, (line, usage))[1] != usage:
                ambiguous.add(scheme.text)
    for text in ambiguous:
        line, _ = usages.pop(text)
        dropped[f"{text} (line {line})"] = "rows of it differ in their ports"
    core = facts.get("arch", "") or "a core"
    document = mapping_document(usages, source.at(column=core), dropped, facts, {})
    return replace(document, facts={**document.facts, "name": f"{core}, ports"})


def _usage(ports: str, count: str) -> tuple[str, str]:
    """`2*p01+1*p23` of `2p01 p23`, or why there is none.

    Spaces separate µops here and alternatives elsewhere, so the sets must be as many as the row's µops.
    """
    sets = [_PORTS.fullmatch(word) for word in ports.replace("+", " ").split()]
    if not ports or not all(sets):
        return "", f"its ports are {excerpt(ports) if ports else 'not stated'}"
    counted = [(int(match[1] or 1), match[2]) for match in sets if match is not None]
    if str(sum(number for number, _ in counted)) != count:
        return "", f"its ports are {excerpt(ports)} of {excerpt(count) if count else 'unknown'} µops"
    return "+".join(f"{number}*p{digits}" for number, digits in counted), ""


def _facts(source: Source) -> dict[str, str]:
    """The core is the first cell of a sheet that begins with a title."""
    title = source.text.lstrip().splitlines()[0].strip(' ,;\t"')
    return {"isa": X86} if title.startswith("Instruction") else {"isa": X86, "arch": title[:100]}


def _rows(source: Source) -> Iterator[MeasuredRow]:
    for line, cells, columns in _lines(source):
        numbers = [_cell(cells, columns, title) for title in ("latency", "reciprocal throughput")]
        if any(numbers):  # others are headings
            yield from _rows_of(line, cells[0], cells[1], *numbers)


def _lines(source: Source) -> Iterator[tuple[int, list[str], Mapping[str, int]]]:
    """(line, cells, {title: column}) of the rows of the tables; each begins with a line of titles."""
    header = _HEADER.search(source.text)
    separator = header["separator"] if header else ","
    columns: dict[str, int] = {}
    reader = csv.reader(source.text.splitlines(keepends=True), delimiter=separator)
    try:
        for raw in reader:
            cells = [" ".join(cell.split()) for cell in raw]
            if [cell.lower().rstrip("s") for cell in cells[:2]] == ["instruction", "operand"]:
                columns = {title.lower(): place for place, title in enumerate(cells)}
            elif columns and len(cells) > 2 and cells[0]:
                yield reader.line_num, cells, columns
    except csv.Error as error:
        source.at(row=reader.line_num).add(f"the table cannot be read: {error}", "a CSV file is expected")


def _cell(cells: Sequence[str], columns: Mapping[str, int], title: str) -> str:
    place = columns.get(title, len(cells))
    return cells[place].replace(",", ".") if place < len(cells) else ""


def _rows_of(line: int, names: str, operands: str, latency: str, throughput: str) -> Iterator[MeasuredRow]:
    """A row per scheme that a line of the table stands for."""
    schemes = dict.fromkeys(_schemes(names, operands))
    label = f"{names[:80]} {operands[:40]} (line {line})"
    if not schemes:
        why = "no scheme for these instructions and operands"
        yield MeasuredRow(line, label, None, None, (), why, why)
    cycles, delay = _RANGE.fullmatch(throughput), _RANGE.fullmatch(latency)
    for scheme in schemes:
        sources = _sources(scheme)
        pairs = pairs_of_sources(sources, float(delay[1]), float(delay[2] or delay[1])) if delay else ()
        single = float(cycles[1]) if cycles and not cycles[2] and float(cycles[1]) else None
        why = f"its reciprocal throughput is {throughput or 'not stated'}"
        yield MeasuredRow(line, f"{scheme.text}: {label}", scheme, single, pairs, "" if single else why)


def _sources(scheme: Scheme) -> list[str]:
    """The registers that the first operand waits for; none of instructions that use memory."""
    chains = target_of(X86).chains
    links = [] if chains is None or scheme.memory else chains.links_of(scheme.text)
    return [link.source for link in links if link.destination == "1" and link.source.isdecimal()]


def _schemes(names: str, operands: str) -> Iterator[Scheme]:
    choices = list(dict.fromkeys(_operand_choices(operands)))
    for mnemonic in _mnemonics(names)[:MAX_NAMES]:
        for choice in choices:
            vector = choice and choice[0].endswith("mm")
            spellings = [(mnemonic, choice)]
            if vector and not mnemonic.startswith("v"):  # "with or without V name prefix behave the same"
                spellings += [(f"v{mnemonic}", choice), (f"v{mnemonic}", (choice[0], *choice))]
            named = (scheme_named(X86, *spelling) for spelling in spellings)
            yield from (scheme for scheme in named if scheme is not None)


def _operand_choices(cell: str) -> Iterator[tuple[str, ...]]:
    """The operands that a cell stands for: `r32/64,r32/64`, `x,x / v,v,v`, `r,r/i`, `r,m`.

    In one choice, all registers of a class have one width, and memory has that of general-purpose registers.
    """
    for alternative in cell.split(" / "):
        parts = [part.strip() for part in alternative.lower().split(",") if part.strip(" -")]
        has_general = any(part.startswith("r") for part in parts)
        for general, vector in product(_GENERAL, _VECTORS):
            yield from product(*(_names(part, general, vector, has_general) for part in parts[:MAX_OPERANDS]))


def _names(part: str, general: str, vector: str, has_general: bool) -> Iterator[str]:
    """What a class of operands is in a choice; nothing for an unknown one, and for one of other widths."""
    if widths := _WIDTHS.fullmatch(part):
        listed = widths[2].split("/")
        yield from (f"{widths[1]}{width}" for width in listed if len(listed) == 1 or width == general)
        return
    for kind in part.split("/"):
        if kind in ("v", "xy"):
            yield vector
        elif kind == "r" or (kind == "m" and has_general):
            yield from [f"{kind}{general}"] if general in _PLAIN else []
        else:
            yield from _CLASSES.get(kind, ())


@cache
def _known() -> frozenset[str]:
    return frozenset(scheme.mnemonic for scheme in target_of(X86).schemes.schemes())


def _mnemonics(names: str) -> list[str]:
    """The instructions of a cell: `ADD SUB`, `MULSS/D`, `(V)PADDB/W/D/Q`, `CMOVcc`."""
    distinct: dict[str, None] = {}
    for word in re.split(r"[\s,]+", names.replace("/ ", "/")):
        optional = _OPTIONAL.search(word)
        spellings = (
            [word] if optional is None else [_OPTIONAL.sub("", word, 1), _OPTIONAL.sub(r"\1", word, 1)]
        )
        for spelling in spellings:
            distinct |= dict.fromkeys(_alternatives(spelling))
    return [name for name in distinct if name in _known()]


def _alternatives(word: str) -> Iterator[str]:
    """`MULSS/D` as mulss and mulsd; `SETcc` as one per condition."""
    first, *endings = word.split("/")
    if first.endswith("cc"):
        yield from (first[:-2].lower() + condition for condition in _CONDITIONS)
    yield first.lower()
    for ending in endings:
        yield ending.lower()
        yield (first[: -len(ending)] + ending).lower()
