"""What the reader of assembly makes of listings, our own printing and compilers' output, and how quickly.

`apart-…`: how much longer pages wait for their reading process, 95 % of the time, than for the reader itself.
`cold-1000`: a thousand different instructions in a fresh process. `printer`, `printer-att`: BHive's blocks
as we print them. `compilers`, `compilers-same-code`: a corpus of C and C++ files at several levels of
optimisation. `LIBRARY-DISASSEMBLER`: instructions of a library as a disassembler lists them without their
bytes; `schemes-DISASSEMBLER`: an instance of every scheme. `kinds`, `decorated`, `lost`: listings of every
kind, drawn, decorated and damaged (`_reader_kinds`). What differs is listed, with its reason, in
`benchmarks/out/`.
"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import Result
from benchmarks._published_data import block_rows, published
from benchmarks._reader_cold import milliseconds
from benchmarks._reader_corpus import LEVELS, compiled, files
from benchmarks._reader_differences import Comparison, compared
from benchmarks._reader_kinds import LINES, LISTINGS_PER_KIND, decorated_lines, kinds, lost_lines
from benchmarks._reader_libraries import (
    DISASSEMBLERS,
    SEED,
    STRETCH,
    Disassembler,
    libraries,
    listed,
    stretches,
)
from benchmarks._reader_same_code import differing

if TYPE_CHECKING:
    from inference.isa.code.block import BlockInstruction

INSTRUCTIONS = 100_000
"""Of each listing; `PMWEB_READER_INSTRUCTIONS` is another number."""

QUICK = 50
"""Times fewer of each, to see whether it works."""

MIN_SHARE = 99.9  # % of the instructions that are to be read as the same code
DIFFERENT, COLD_MS, PROCESSES = 1000, 100.0, 9
MAX_PIECES = 100_000
READINGS, APART_MS = 200, 20.0
SHORT, LISTED = 20, 2000
OUT = Path(__file__).parent / "out"
_PARAGRAPH = 100  # instructions
_SHOWN = 10  # examples that a result names


def run(quick: bool) -> Iterator[Result]:
    """All cases, those of a few seconds first; `PMWEB_READER` names a few of them by their beginnings."""
    chosen = tuple(os.environ.get("PMWEB_READER", "").split()) or ("",)
    less = QUICK if quick else 1
    codes = _bhive()[::less]
    cases: dict[str, Callable[[], Iterator[Result]]] = {
        "apart": lambda: _apart(codes, 20 if quick else READINGS),
        "cold-1000": lambda: _cold(3 if quick else PROCESSES),
        "printer": lambda: _printer(codes),
        "compilers": lambda: _compilers(quick),
        "kinds": lambda: kinds(2 if quick else LISTINGS_PER_KIND),
        "decorated": lambda: decorated_lines(LINES // less),
        "lost": lambda: lost_lines(LINES // less),
    }
    for case, measured in cases.items():
        if case.startswith(chosen):
            yield from measured()
    wanted = int(os.environ.get("PMWEB_READER_INSTRUCTIONS", INSTRUCTIONS)) // less
    for by in DISASSEMBLERS:
        if f"schemes-{by.name}".startswith(chosen):
            yield _schemes(by, less)
    for library, path in libraries().items():
        for by in DISASSEMBLERS:
            if f"{library}-{by.name}".startswith(chosen):
                yield _listing(library, path, by, wanted)


def _schemes(by: Disassembler, less: int) -> Result:
    """An instance of each scheme, one after the other in an object file."""
    from inference.isa.blocks import object_file
    from inference.isa.x86 import schemes
    from inference.isa.x86.att import example_code

    codes = [example_code(scheme.text) for scheme in schemes()[::less]]
    with tempfile.NamedTemporaryFile(suffix=".o") as file:
        file.write(object_file(b"".join(code for code in codes if code), "work"))
        file.flush()
        found = compared(listed(Path(file.name), by, []))
    return _share(f"schemes-{by.name}", found, {"schemes": len(codes)})


def _listing(library: str, path: Path, by: Disassembler, wanted: int) -> Result:
    found, parts = Comparison(), 0
    for stretch in stretches(path, by, wanted):
        found.add(compared(stretch))
        parts += 1
    sample = f"{parts} stretches of {STRETCH} bytes from functions drawn with seed {SEED}"
    return _share(f"{library}-{by.name}", found, {"sample": sample})


def _share(case: str, found: Comparison, about: Mapping[str, Any]) -> Result:
    """Share of a listing's instructions that are read as the same code, jumps of another length included."""
    more = {
        **about,
        "instructions": found.total,
        "jumps_of_another_length": found.jumps,
        "reasons": found.reasons(),
        "listed_in": _listed(case, found.rest),
    }
    share = 100 * (found.same + found.jumps) / max(1, found.total)
    return Result(case, round(share, 4), "%", MIN_SHARE, more)


def _listed(case: str, rest: Mapping[str, Counter[str]]) -> str:
    """Write what differs into a file: by reason, the most frequent first; its name."""
    OUT.mkdir(exist_ok=True)
    path = OUT / f"reader-{case}.txt"
    with path.open("w") as file:
        for reason, texts in sorted(rest.items(), key=lambda entry: -entry[1].total()):
            file.write(f"{texts.total()} × {reason}\n")
            file.writelines(f"    {times} × {written}\n" for written, times in texts.most_common())
    return f"out/{path.name}"


def _bhive() -> list[bytes]:
    """The machine code of all different blocks of the published sets. Raises `MissingDataError`."""
    names = sorted(path.name for path in published("blocks").glob("*.csv"))
    return list(
        dict.fromkeys(bytes.fromhex(row[0]) for name in names for row in block_rows(f"blocks/{name}"))
    )


def _printer(codes: list[bytes]) -> Iterator[Result]:
    """Share of blocks that are the same again after they were printed and read, in both syntaxes."""
    from inference.isa.blocks import BlockError, att_of_bytes, block_of_bytes

    def att(code: bytes) -> str:
        return "\n".join(att_of_bytes(code))

    printers = {"printer": lambda code: block_of_bytes(code).text, "printer-att": att}
    for case, printed in printers.items():
        same, none = 0, 0
        rest: dict[Any, Any] = {}
        for code in codes:
            try:
                text = printed(code)
            except BlockError:
                none += 1
                continue
            reason, shown = _read_again(text, code)
            same += not reason
            if reason:
                rest.setdefault(reason, Counter())[f"{code.hex()}  |  {shown}"] += 1
        reasons = {reason: texts.total() for reason, texts in rest.items()}
        more = {"blocks": len(codes), "no_block": none, "reasons": reasons, "listed_in": _listed(case, rest)}
        yield Result(case, round(100 * same / (len(codes) - none), 4), "%", 100.0, more)


def _read_again(text: str, code: bytes) -> tuple[str, str]:
    """(reason, what is other) of a printed block that is not read to the same bytes; empty where it is."""
    from inference.isa.blocks import BlockError, block_of_bytes, read

    try:
        pieces = read(text, MAX_PIECES).pieces
    except BlockError as error:
        return "refused", str(error)[:300]
    got = b"".join(piece.block.code for piece in pieces)
    if got == code and len(pieces) == 1:
        return "", ""
    if got == code:
        return f"{len(pieces)} pieces", ""
    instructions = [instruction for piece in pieces for instruction in piece.block.instructions]
    pairs = zip(block_of_bytes(code).instructions, instructions, strict=False)
    first = next(((a, b) for a, b in pairs if a.code != b.code), None)
    if first is None:
        return "other bytes", got.hex()
    return "other bytes", f"{first[0].text}: {first[0].code.hex()} is read as {first[1].code.hex()}"


def _compilers(quick: bool) -> Iterator[Result]:
    """Compilers' outputs that are read, and the share of their instructions with the assembler's code."""
    from inference.isa.blocks import BlockError, read
    from inference.isa.x86.assembly.reading import read_program

    paths = files()[:: 9 if quick else 1]
    texts = total = 0
    pieces: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    other: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="pmweb-corpus-") as work:
        for program in compiled(paths, list(LEVELS), Path(work)):
            texts += 1
            try:
                reading = read(program.text, MAX_PIECES)
                counted, differs = differing(program, read_program(program.text).instructions)
            except BlockError as error:
                refused[f"{program.name}: {error}"] += 1
                continue
            pieces.update(piece.block.kind for piece in reading.pieces)
            total += counted
            other.update(differs)
    sizes = {"files": len(paths), "compilers": 2, "levels": list(LEVELS), "syntaxes": 2}
    listed = {"listed_in": _listed("compilers", {"refused": refused, "other code": other})}
    more = {**sizes, "pieces": dict(pieces), "refused": list(refused)[:_SHOWN], **listed}
    yield Result("compilers", texts - len(refused), "texts", texts, more)
    if total:
        share = 100 * (1 - other.total() / total)
        more = {"instructions": total, "other": other.total(), "examples": list(other)[:_SHOWN], **listed}
        yield Result("compilers-same-code", round(share, 4), "%", 100.0, more)


def _cold(processes: int) -> Iterator[Result]:
    """Milliseconds until a fresh process has read 1,000 different instructions."""
    from inference.isa.blocks import BlockError, block_of_bytes

    lines: dict[str, None] = {}
    for code in _bhive():
        try:
            block = block_of_bytes(code)
        except BlockError:
            continue
        lines.update(
            dict.fromkeys(instruction.text for instruction in block.instructions if not instruction.obstacle)
        )
    drawn = random.Random(SEED).sample(sorted(lines), DIFFERENT)
    paragraphs = ["\n".join(drawn[at : at + _PARAGRAPH]) for at in range(0, DIFFERENT, _PARAGRAPH)]
    with tempfile.NamedTemporaryFile("w", suffix=".s") as file:
        file.write("\n\n".join(paragraphs))
        file.flush()
        times = milliseconds(Path(file.name), processes)
    more = {"different_instructions": DIFFERENT, "processes": processes, "all": sorted(times), "seed": SEED}
    yield Result("cold-1000", statistics.median(times), "ms", COLD_MS, more)


def _apart(codes: list[bytes], times: int) -> Iterator[Result]:
    """The additional time of the process that reads for pages: 20 instructions, and 2,000 listed ones."""
    from inference.isa import blocks
    from inference.web import code_reading

    instructions: list[BlockInstruction] = []
    listing: list[str] = []
    address = 0x401000
    for number, code in enumerate(random.Random(SEED).sample(codes, LISTED)):
        listing.append(f"{address:016x} <function{number}>:")
        for step in _instructions(code)[: LISTED - len(instructions)]:
            listing.append(f"{address:8x}:\t{step.code.hex(' ')}\t{step.text}")
            instructions.append(step)
            address += len(step.code)
        if len(instructions) == LISTED:
            break
    texts = {SHORT: "\n".join(step.text for step in instructions[:SHORT]), LISTED: "\n".join(listing)}
    for size, text in texts.items():
        pairs = []
        for _ in range(times):
            began = time.perf_counter()
            blocks.read(text, MAX_PIECES)
            between = time.perf_counter()
            code_reading.read(text, MAX_PIECES)
            pairs.append((1000 * (between - began), 1000 * (time.perf_counter() - between)))
        more = sorted(apart - itself for itself, apart in pairs)
        itself, apart = (round(statistics.median(column), 2) for column in zip(*pairs, strict=True))
        shown = {
            "median": round(statistics.median(more), 2),
            "itself": itself,
            "apart": apart,
            "readings": times,
        }
        yield Result(f"apart-{size}", round(more[int(0.95 * times)], 2), "ms", APART_MS, shown)


def _instructions(code: bytes) -> Sequence[BlockInstruction]:
    """The instructions of a block that can be measured; none of others."""
    from inference.isa.blocks import BlockError, block_of_bytes

    try:
        block = block_of_bytes(code)
    except BlockError:
        return ()
    return () if block.obstacle() else block.instructions
