"""Tables of uarch-bench as blocks and their measured cycles; see docs/formats.md.

                                   Benchmark    Cycles     Nanos
                         Dependent add chain      1.00      0.46

A line names a benchmark, not its code, and cycles are of one of its operations. Read are those whose code is
an x86 block, repeated without end: most others walk through memory or call functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import takewhile

from inference.formats.block_entries import BlockEntries, BlockEntry
from inference.formats.problems import Problems

TITLE = "benchmarks of uarch-bench"
COLUMN = "uarch-bench"
_HEADER = re.compile(rb"^ {1,60}Benchmark {1,20}Cycles {1,20}\w", re.MULTILINE)
MIN_NUMBERS = 2
"""Numbers behind the name of a benchmark: cycles, then nanoseconds or counters."""

MAX_LENGTH = 300
_NUMBER = re.compile(r"\d{1,9}\.\d\d")
_ADDS = "; ".join(f"add {register}, ebp" for register in "eax ecx edx esi r8d r9d r10d r11d".split())  # noqa: SIM905
_BLOCKS: Mapping[str, tuple[str, int]] = {
    "Dependent add chain": ("add rax, rax", 1),
    "Oneshot dep add chain": ("add rax, rax", 1),
    "Independent add chain": (_ADDS, 8),
    "Dependent imul 64->128": ("imul rax", 1),
    "Dependent imul 64->64": ("imul rax, rax", 1),
    "Independent imul 64->128": ("xor eax, eax; imul rax", 1),
    "Independent imul 64->64": ("xor eax, eax; imul rax, rax", 1),
    "Dependent push/pop chain": ("push rax; pop rax", 1),
    "Independent push/pop chain": ("push rax; pop rcx", 1),
    "Same location stores": ("mov dword ptr [rsp-8], eax", 1),
    "same location inc [mem]": ("inc dword ptr [rsp-4]", 1),
    "same location add [mem], 1": ("add dword ptr [rsp-4], 1", 1),
    "Simple addressing pointer chase": ("mov rax, qword ptr [rax]", 1),
    "128 consecutive 1-byte nops": ("nop", 1),
    "128 consecutive xor eax, eax": ("xor eax, eax", 1),
    "dest-dependent tzcnt": ("tzcnt eax, ecx", 1),
    "dest-dependent lzcnt": ("lzcnt eax, ecx", 1),
    "dest-dependent popcnt": ("popcnt eax, ecx", 1),
}
"""{benchmark: (the code that it repeats, operations in it)}."""

_ASSEMBLY = re.compile(r"v?paddq [xyz]mm\d{1,2}(?:, [xyz]mm\d{1,2}){1,2}")
"""Benchmarks that are named by their one instruction."""


def is_uarch_bench(beginning: bytes) -> bool:
    """Whether a text has a table of uarch-bench."""
    return bool(_HEADER.search(beginning))


def read_uarch_bench(content: bytes, problems: Problems) -> BlockEntries:
    """Read the benchmarks whose code is a block; problems are noted, and the others counted."""
    text = content.decode("utf-8", "replace")
    entries: list[BlockEntry] = []
    unknown_names: list[str] = []
    for line, printed in enumerate(text.splitlines(), start=1):
        words = printed.split()
        numbers = list(takewhile(_NUMBER.fullmatch, reversed(words)))
        if len(numbers) < MIN_NUMBERS or len(numbers) == len(words) or len(printed) > MAX_LENGTH:
            continue
        name = " ".join(words[: -len(numbers)])
        code, operations = (name, 1) if _ASSEMBLY.fullmatch(name) else _BLOCKS.get(name, ("", 0))
        if code:
            cell = code.replace("; ", "\n")
            entries.append(BlockEntry(line, cell, {COLUMN: float(numbers[-1]) * operations}, name))
        else:
            unknown_names.append(name)
    if not entries:
        blocks = ", ".join(list(_BLOCKS)[:4])
        problems.add(
            f"none of its {len(unknown_names):,} benchmarks is a block", f"known are {blocks} and others"
        )
    listed = ", ".join(unknown_names[:3])
    notes = [f"benchmarks that are no block: {len(unknown_names):,} ({listed}, …)"] if unknown_names else []
    return BlockEntries(TITLE, tuple(entries), notes=notes)
