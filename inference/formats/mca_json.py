"""Reports of `llvm-mca --json` as blocks, each with the cycles that llvm-mca predicts; see docs/formats.md.

A code region is a block, and its name the block's origin. The prediction is `TotalCycles / Iterations`: what
the simulated core took, which is more than `BlockRThroughput`, a bound.
"""

from __future__ import annotations

import re
from typing import Any

from inference.formats.block_entries import BlockEntries, BlockEntry
from inference.formats.problems import Problems, excerpt
from inference.formats.source import Source, read_source
from inference.isa.targets import DEFAULT, targets

TITLE = "predictions of llvm-mca (JSON)"
BEGINNING = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*+\{\s*+"(?:CodeRegions|SimulationParameters|TargetInfo)"')
REGIONS = "CodeRegions"


def read_mca_json(content: bytes, file_name: str, problems: Problems) -> BlockEntries:
    """Read a report; problems are noted."""
    source = read_source(content, file_name, problems)
    if source is None or not source.is_json:
        return BlockEntries(TITLE)
    regions, info = source.data.get(REGIONS), source.data.get("TargetInfo")
    cpu = info.get("CPUName") if isinstance(info, dict) else None
    if not isinstance(regions, list) or not regions:
        source.at(REGIONS).add("there is no code region", "the output of `llvm-mca --json` is expected")
    if not isinstance(cpu, str) or not cpu.isprintable() or not cpu.strip():
        right = "a report with its TargetInfo is expected: its CPU names the column"
        source.at("TargetInfo, CPUName").add(f"{excerpt(cpu)} is no CPU", right)
    if problems:
        return BlockEntries(TITLE)
    entries = tuple(
        _entry(region, number, f"llvm-mca, {str(cpu).strip()}", source)
        for number, region in enumerate(regions, start=1)
    )
    return BlockEntries(TITLE, entries, _isa_of(source.data.get("SimulationParameters")))


def _isa_of(parameters: object) -> str:
    """The instruction set of `-march`; `DEFAULT` for reports without it."""
    arch = parameters.get("-march") if isinstance(parameters, dict) else None
    if not arch:
        return DEFAULT
    triple = str(arch).replace("-", "_")  # releases of LLVM spell x86_64 in both ways
    names = (target.name for target in targets() if target.tools and target.tools.triple == triple)
    return next(names, str(arch))


def _entry(region: object, number: int, column: str, source: Source) -> BlockEntry:
    fields: dict[str, Any] = region if isinstance(region, dict) else {}
    lines, summary, name = (fields.get(key) for key in ("Instructions", "SummaryView", "Name"))
    origin = " ".join(name.split()) if isinstance(name, str) else ""
    place = source.at(f"{REGIONS}, Instructions", number)
    if not isinstance(lines, list) or not lines or not all(isinstance(line, str) for line in lines):
        place.add("the instructions are not listed", "a list of texts is expected")
        return BlockEntry(number, "")
    cycles = _cycles(summary, len(lines))
    if cycles is None:
        right = "TotalCycles, Iterations and Instructions as llvm-mca prints them are expected"
        place.at(f"{REGIONS}, SummaryView").add("its cycles cannot be read", right)
        return BlockEntry(number, "")
    return BlockEntry(number, "\n".join(line.partition("#")[0] for line in lines), {column: cycles}, origin)


def _cycles(summary: object, instructions: int) -> float | None:
    """Cycles per iteration; None where the numbers are missing or belong to another block."""
    match summary:
        case {"TotalCycles": int(total), "Iterations": int(iterations), "Instructions": int(executed)}:
            if 0 < iterations < 1 << 40 and 0 <= total < 1 << 60 and executed == instructions * iterations:
                return total / iterations
    return None
